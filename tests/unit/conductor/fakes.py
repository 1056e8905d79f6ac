"""What the conductor's tests put in the place of clocks, clusters, processes and programs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conductor.embedded import EmbeddedRuntime
from conductor.engine_choice import EngineChoice
from conductor.processes import Child
from conductor.runtime import Running
from conductor.topics import Cluster
from contract.engine import EngineOrder
from contract.errors import ServiceFailed
from contract.results import write_json

ROOT = Path(__file__).resolve().parents[3]
ENGINES = ROOT / "images" / "engines"
WAIT_S_MAX = 30.0
#: above what Linux gives a process
NO_PID = 2**22 + 7
#: what is said where no Docker engine answers
NO_DOCKER = "no Docker engine answers (here is none)"


class Clock:
    """Stands for the module `time`: who sleeps moves it on."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._later: list[tuple[float, Callable[[], None]]] = []

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Have something happen so long from now."""
        self._later.append((self.now_s + seconds, action))

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return 1_700_000_000.0 + self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        due = [each for each in self._later if each[0] <= self.now_s]
        self._later = [each for each in self._later if each[0] > self.now_s]
        for _, action in due:
            action()


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not condition():
        assert time.monotonic() < deadline_s, "waited too long"
        time.sleep(0.005)


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def program(path: Path, script: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def output_of(second: int) -> bytes:
    """An output's value of that second of event time."""
    return f'{{"timestamp":"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}Z"}}'.encode()


class FakeChild(Child):
    """A child without a process: it ends when it is told to, or when it is asked to stop."""

    def __init__(
        self,
        name: str,
        tail: Sequence[str] = (),
        stops: Callable[[], None] | None = None,
        code: int | None = 0,
    ) -> None:
        self.name = name
        self.ended: int | None = None
        #: how it had ended when it was taken away
        self.taken_away: list[int | None] = []
        self._lines, self._stops = list(tail), stops
        #: None: it does not heed
        self.code_at_stop = code

    @property
    def pid(self) -> int:
        return NO_PID

    def exit_code(self) -> int | None:
        return self.ended

    def log_tail(self, lines: int = 12) -> list[str]:
        return self._lines[-lines:]

    def kill(self) -> None:
        self.taken_away.append(self.ended)
        self.ended = -9 if self.ended is None else self.ended

    def ask_to_stop(self) -> None:
        if self.ended is None:
            self.ended = self.code_at_stop
            if self._stops:
                self._stops()

    def stop(self, _grace_s: float) -> int | None:
        self.ask_to_stop()
        code = self.ended
        self.kill()
        return code


class FakeCluster(Cluster):
    """Topics that fill as the clock goes: one input a second and kind, outputs some slots late."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.event_start_s = 1_767_596_400
        self.fed_from_s: float | None = None
        self.fed_until_s: float | None = None
        #: how many slots the outputs are behind the inputs; None: there are no outputs
        self.lag_slots: int | None = 0
        self.failure: str | None = None
        self.created: list[tuple[Any, ...]] = []
        self.looks = 0

    def feed(self) -> None:
        self.fed_from_s = self._clock.now_s

    def stop_feeding(self) -> None:
        """The slot that has begun is the last, and is fed whole."""
        assert self.fed_from_s is not None
        self.fed_until_s = self.fed_from_s + math.ceil(self._clock.now_s - self.fed_from_s)

    def slots(self) -> int:
        """How many whole slots have been fed."""
        if self.fed_from_s is None:
            return 0
        until_s = self._clock.now_s if self.fed_until_s is None else self.fed_until_s
        return int(until_s - self.fed_from_s)

    def outputs(self) -> int:
        return 0 if self.lag_slots is None else max(0, self.slots() - self.lag_slots)

    def create(
        self, topics: Sequence[str], partitions: int, replication: int, brokers: int, clock: int
    ) -> None:
        self.created.append((list(topics), partitions, replication, brokers, clock))

    def leaders(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        self.looks += 1
        return [{"topic": topic, "leader": 1, "look": self.looks} for topic in topics]

    def timestamp_types(self, topics: Sequence[str]) -> dict[str, str]:
        return dict.fromkeys(topics, "LogAppendTime")

    def ends(self, topics: Sequence[str], _partitions: int) -> dict[str, int]:
        if self.failure:
            raise ServiceFailed(self.failure)
        return {t: self.outputs() if t.endswith(".out") else self.slots() for t in topics}

    def tail(self, _topic: str, partitions: int) -> list[bytes]:
        last = self.outputs() - 1
        return [output_of(self.event_start_s + last)] * partitions if last >= 0 else []


class FakeRuntime(EmbeddedRuntime):
    """A runtime whose services are fakes; the publisher feeds the fake cluster."""

    def __init__(self, scratch: Path, clock: Clock, cluster: FakeCluster) -> None:
        self.scratch, self._clock, self._cluster = scratch, clock, cluster
        self.engine = FakeChild(
            "spark", ["one", "the last words"], lambda: self.started.append("engine stopped")
        )
        self.publisher = FakeChild("publisher", stops=self._publisher_stops)
        self.run_children: list[Running] = []
        #: services of the engine besides the first
        self.aides: list[FakeChild] = []
        self.order: EngineOrder | None = None
        self.publisher_env: dict[str, str] = {}
        self.ended_runs = 0
        self.starts_publisher = True
        self.started: list[str] = []
        self.before_engine: Callable[[], None] = lambda: None

    @property
    def bootstrap_servers(self) -> str:
        return "127.0.0.1:1"

    @property
    def brokers(self) -> list[Running]:
        return []

    def start_engine(self, _engine: EngineChoice, order: EngineOrder, _log: Path) -> Running:
        self.before_engine()
        self.order = order
        self.started.append("engine")
        self.run_children += [self.engine, *self.aides]
        return self.engine

    def start_publisher(self, env: Mapping[str, str], _log: Path) -> Running:
        self.publisher_env = dict(env)
        self.started.append("publisher")
        self.run_children.append(self.publisher)
        if self.starts_publisher:
            self._begin_when_told()
        return self.publisher

    def _begin_when_told(self) -> None:
        env = self.publisher_env
        if "GO_FILE" in env and not Path(env["GO_FILE"]).exists():
            self._clock.at(0.1, self._begin_when_told)
            return
        self._cluster.feed()
        facts = {
            "first_due_ms": self._clock.time() * 1000,
            "event_start_s": self._cluster.event_start_s,
            "slot_ms": 1000,
        }
        write_json(Path(env["EVIDENCE_DIR"]) / "publisher-started.json", facts)

    def _publisher_stops(self) -> None:
        self._cluster.stop_feeding()
        sent = {"last_slot": self._cluster.slots() - 1}
        write_json(Path(self.publisher_env["EVIDENCE_DIR"]) / "publisher.json", sent)

    def end_run(self) -> None:
        self.ended_runs += 1
        self.run_children = []
