"""Note what the Docker engine itself counts of each container: it stands in for cAdvisor."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from conductor.appliance.docker_engine import DockerEngine

#: nobody is asked more often: each answer costs the engine, and for some versions takes a second
ROUND_S_MIN = 10.0
FILE = "engine-statistics.jsonl"


class StandIn:
    """A thread that asks for one container after the other until it is stopped."""

    def __init__(
        self, engine: DockerEngine, evidence: Path, containers: Callable[[], Mapping[str, Any]]
    ) -> None:
        self._engine, self._containers = engine, containers
        self._path = evidence / FILE
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="statistics", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """The look that is under way is the last."""
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        last: dict[str, tuple[int, dict[str, int]]] = {}
        with self._path.open("w", encoding="utf-8") as sink:
            while not self._stop.is_set():
                start = time.monotonic()
                for name, container in self._containers().items():
                    if self._stop.is_set():
                        return
                    self._look(sink, name, container, last)
                self._stop.wait(max(0.0, start + ROUND_S_MIN - time.monotonic()))

    def _look(
        self, sink: TextIO, name: str, container: Any, last: dict[str, tuple[int, dict[str, int]]]
    ) -> None:
        told = self._engine.statistics(container)
        now_ms = time.time_ns() // 1_000_000
        row = row_of(told) if told is not None else None
        if row is None:
            return
        before = last.get(container.id)
        last[container.id] = (now_ms, row)
        if before is None or now_ms <= before[0]:
            return
        since = {key: max(0, row[key] - before[1][key]) for key in row}
        line = {
            "at_ms": now_ms,
            "service": name,
            "cpu_cores": round(since["cpu_ns"] / 1e6 / (now_ms - before[0]), 4),
            "memory_bytes": row["memory_bytes"],
            "net_in_bytes": since["net_in_bytes"],
            "net_out_bytes": since["net_out_bytes"],
        }
        sink.write(json.dumps(line) + "\n")
        sink.flush()


def row_of(told: Mapping[str, Any]) -> dict[str, int] | None:
    """CPU so far, memory and network of one answer; None of a container that has ended."""
    try:
        used_ns = int(told["cpu_stats"]["cpu_usage"]["total_usage"])
        memory = told["memory_stats"]
        held = int(memory["usage"])
    except (KeyError, TypeError):
        return None
    details = memory.get("stats") or {}
    # what the kernel can take back at once is not counted, as `docker stats` does
    idle = int(details.get("total_inactive_file", details.get("inactive_file", 0)))
    networks = (told.get("networks") or {}).values()
    return {
        "cpu_ns": used_ns,
        "memory_bytes": max(0, held - idle),
        "net_in_bytes": sum(int(each["rx_bytes"]) for each in networks),
        "net_out_bytes": sum(int(each["tx_bytes"]) for each in networks),
    }
