"""Sample CPU and memory of every service and of the machine once a second; judge nothing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import psutil

PERIOD_S = 1.0


class ProcessTree:
    """CPU and memory of a process and all it started, the ended ones included."""

    def __init__(self, pid: int) -> None:
        self._root = pid
        self._seen: dict[int, tuple[float, float]] = {}

    def cpu_s(self) -> float:
        """CPU seconds used so far."""
        for process in self._alive():
            try:
                times = process.cpu_times()
                self._seen[process.pid] = (process.create_time(), times.user + times.system)
            except psutil.Error:
                continue
        return sum(used for _, used in self._seen.values())

    def memory_bytes(self) -> int:
        """Resident memory now."""
        total = 0
        for process in self._alive():
            try:
                total += process.memory_info().rss
            except psutil.Error:
                continue
        return total

    def _alive(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self._root)
            return [root, *root.children(recursive=True)]
        except psutil.Error:
            return []


def cores_of(
    groups: list[list[ProcessTree]], over_s: float, sleep: Callable[[float], None]
) -> list[float]:
    """How many cores each group of process trees uses, over a short while."""

    def used_s() -> list[float]:
        return [sum(tree.cpu_s() for tree in trees) for trees in groups]

    before, start = used_s(), time.monotonic()
    sleep(over_s)
    after, span_s = used_s(), time.monotonic() - start
    return [(z - a) / span_s for a, z in zip(before, after, strict=True)]


class Monitor:
    """A thread that writes what services used, and machine.jsonl, until it is stopped."""

    def __init__(
        self,
        evidence: Path,
        disk: Path,
        services: Callable[[], dict[str, int]],
        file: str = "resources.jsonl",
    ) -> None:
        self._evidence, self._disk, self._services = evidence, disk, services
        self._file = file
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        #: a service may be started anew, under its old name
        self._trees: dict[tuple[str, int], ProcessTree] = {}
        self._last: dict[tuple[str, int], float] = {}
        self.clock_step_ms = 0.0
        self.samples = 0

    def start(self) -> None:
        self._evidence.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(10)

    def _run(self) -> None:
        with (
            (self._evidence / self._file).open("w") as resources,
            (self._evidence / "machine.jsonl").open("w") as machine,
        ):
            start = time.monotonic()
            offset_ms = _wall_less_monotonic_ms()
            previous = psutil.cpu_times()
            previous_at = start
            self._sample_services(resources, 1.0, write=False)
            tick = 1
            while not self._stop.wait(max(0.0, start + tick * PERIOD_S - time.monotonic())):
                tick = max(tick + 1, int((time.monotonic() - start) / PERIOD_S) + 1)
                now = time.monotonic()
                span_s = now - previous_at
                offset_now_ms = _wall_less_monotonic_ms()
                self.clock_step_ms = max(self.clock_step_ms, abs(offset_now_ms - offset_ms))
                offset_ms = offset_now_ms
                times = psutil.cpu_times()
                ours = self._sample_services(resources, span_s, write=True)
                _write(machine, self._machine(previous, times, span_s, ours))
                previous, previous_at = times, now
                self.samples += 1

    def _sample_services(self, sink: TextIO, span_s: float, *, write: bool) -> float:
        ours = 0.0
        for name, pid in self._services().items():
            one = (name, pid)
            tree = self._trees.setdefault(one, ProcessTree(pid))
            used = tree.cpu_s()
            cores = max(0.0, used - self._last.get(one, used)) / span_s
            self._last[one] = used
            ours += cores
            if write:
                row = {"at_ms": _now_ms(), "service": name, "cpu_cores": round(cores, 4)}
                row |= {"memory_bytes": tree.memory_bytes()}
                network = {"net_in_bytes": None, "net_out_bytes": None}
                _write(sink, row | network | {"source": "psutil"})
        return ours

    def _machine(self, before: Any, now: Any, span_s: float, ours: float) -> dict[str, Any]:
        def cores(*names: str) -> float:
            spent = sum(getattr(now, n, 0.0) - getattr(before, n, 0.0) for n in names)
            return round(spent / span_s, 4)

        return {
            "at_ms": _now_ms(),
            "cores": psutil.cpu_count() or 1,
            "busy_cores": cores("user", "nice", "system", "irq", "softirq"),
            "steal_cores": cores("steal"),
            "iowait_cores": cores("iowait"),
            "ours_cores": round(ours, 4),
            "swap_out_bytes": psutil.swap_memory().sout,
            "disk_free_bytes": psutil.disk_usage(str(self._disk)).free,
            "memory_available_bytes": psutil.virtual_memory().available,
        }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _wall_less_monotonic_ms() -> float:
    return (time.time_ns() - time.monotonic_ns()) / 1e6


def _write(sink: TextIO, row: dict[str, Any]) -> None:
    sink.write(json.dumps(row) + "\n")
    sink.flush()
