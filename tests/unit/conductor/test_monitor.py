"""CPU and memory of whole process trees, of those that have ended too; sampled until stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.monitor import Monitor, ProcessTree, cores_of
from contract.results import read_jsonl
from tests.unit.conductor.fakes import NO_PID, Clock, until

#: burns as much CPU as it is told to, line by line, and says when it is done
BURNER = """
import subprocess, sys, time
for line in sys.stdin:
    cpu_s, where = line.split()
    burn = f"import time\\nwhile time.process_time() < {cpu_s}: pass"
    if where == "in-a-grandchild":
        again = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
        subprocess.run([sys.executable, "-c", again])
    else:
        end = time.process_time() + float(cpu_s)
        while time.process_time() < end: pass
    print("done", flush=True)
"""


class Burner:
    """A real process that uses CPU when it is told to."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BURNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tree = ProcessTree(self.process.pid)

    def begin(self, cpu_s: float, where: str = "itself") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{cpu_s} {where}\n")
        self.process.stdin.flush()

    def done(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "done\n"

    def burn(self, cpu_s: float) -> None:
        self.begin(cpu_s)
        self.done()


@pytest.fixture
def burner() -> Iterator[Burner]:
    """It is ended with the test."""
    made = Burner()
    yield made
    made.process.kill()
    made.process.communicate()


def test_cpu_is_what_the_process_has_used(burner: Burner) -> None:
    burner.burn(0.0)
    before = burner.tree.cpu_s()
    burner.burn(0.3)
    # the kernel counts in hundredths, for user and system apart
    assert burner.tree.cpu_s() - before >= 0.25


def test_what_a_grandchild_used_is_counted_and_stays_when_it_has_ended(burner: Burner) -> None:
    burner.burn(0.0)
    seen = [burner.tree.cpu_s()]

    def counted() -> bool:
        seen.append(burner.tree.cpu_s())
        return seen[-1] - seen[0] > 0.15

    burner.begin(0.6, "in-a-grandchild")
    until(counted)
    burner.done()
    seen.append(burner.tree.cpu_s())
    assert seen == sorted(seen)


def test_a_tree_whose_root_has_gone_keeps_its_cpu_and_has_no_memory(burner: Burner) -> None:
    burner.burn(0.2)
    used = burner.tree.cpu_s()
    assert burner.tree.memory_bytes() > 1_000_000
    burner.process.kill()
    burner.process.wait()
    assert burner.tree.cpu_s() == used > 0
    assert burner.tree.memory_bytes() == 0


def test_a_process_that_never_was_uses_nothing() -> None:
    tree = ProcessTree(NO_PID)
    assert (tree.cpu_s(), tree.memory_bytes()) == (0.0, 0)


class Scripted(ProcessTree):
    """A tree that has used so much CPU at each look."""

    def __init__(self, *used_s: float) -> None:
        self._used_s = list(used_s)

    def cpu_s(self) -> float:
        return self._used_s.pop(0)


def test_cores_are_cpu_over_time_of_each_group_by_itself(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.monitor.time", clock)
    groups: list[list[ProcessTree]] = [
        [Scripted(10.0, 11.0), Scripted(0.0, 2.0)],
        [],
        [Scripted(5.0, 5.0)],
        [ProcessTree(NO_PID)],
    ]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        # a busy machine wakes nobody in time
        clock.sleep(seconds + 0.5)

    assert cores_of(groups, 1.5, sleep) == [1.5, 0.0, 0.0, 0.0]
    assert slept == [1.5], "it is to sleep as long as it is told to, once"


class Sampled:
    """A monitor that has sampled this process a few times."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("conductor.monitor.PERIOD_S", 0.01)
        self.services = {"me": os.getpid()}
        self.evidence = folder / "evidence"
        self.monitor = Monitor(self.evidence, folder, lambda: dict(self.services))

    def until_samples(self, count: int) -> None:
        until(lambda: self.monitor.samples >= count)


@pytest.fixture
def sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sampled]:
    """Its thread is stopped with the test."""
    made = Sampled(tmp_path, monkeypatch)
    yield made
    made.monitor.stop()


def test_every_period_has_a_line_for_each_service_and_one_for_the_machine(
    sampled: Sampled,
) -> None:
    sampled.monitor.start()
    sampled.until_samples(2)
    sampled.services["other"] = NO_PID
    now = sampled.monitor.samples
    sampled.until_samples(now + 3)
    sampled.monitor.stop()
    resources = read_jsonl(sampled.evidence / "resources.jsonl")
    machine = read_jsonl(sampled.evidence / "machine.jsonl")
    assert len(machine) == sampled.monitor.samples
    mine = [row for row in resources if row["service"] == "me"]
    assert len(mine) == len(machine)
    assert {row["service"] for row in resources} == {"me", "other"}
    assert all(row["memory_bytes"] > 1_000_000 and row["cpu_cores"] >= 0 for row in mine)
    assert {row["source"] for row in resources} == {"psutil"}
    assert [row["at_ms"] for row in machine] == sorted(row["at_ms"] for row in machine)
    for row in machine:
        assert row["cores"] == os.cpu_count()
        assert row["disk_free_bytes"] > 0 and row["memory_available_bytes"] > 0


def test_a_service_that_was_started_anew_is_followed(sampled: Sampled) -> None:
    sampled.services["me"] = NO_PID
    sampled.monitor.start()
    sampled.until_samples(2)
    sampled.services["me"] = os.getpid()
    sampled.until_samples(sampled.monitor.samples + 2)
    sampled.monitor.stop()
    memory = [row["memory_bytes"] for row in read_jsonl(sampled.evidence / "resources.jsonl")]
    assert memory[0] == 0 and memory[-1] > 1_000_000


def test_where_others_watch_services_what_is_seen_from_here_is_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.monitor.PERIOD_S", 0.01)
    evidence = tmp_path / "evidence"
    monitor = Monitor(evidence, tmp_path, lambda: {"me": os.getpid()}, "processes.jsonl")
    monitor.start()
    until(lambda: monitor.samples >= 1)
    monitor.stop()
    assert {path.name for path in evidence.iterdir()} == {"processes.jsonl", "machine.jsonl"}


def test_nothing_is_written_after_it_was_stopped(sampled: Sampled) -> None:
    sampled.monitor.start()
    sampled.until_samples(1)
    sampled.monitor.stop()
    samples = sampled.monitor.samples
    assert len(read_jsonl(sampled.evidence / "machine.jsonl")) == samples
    sampled.monitor.stop()


def test_one_that_was_never_started_can_be_stopped(sampled: Sampled) -> None:
    sampled.monitor.stop()
    assert sampled.monitor.samples == 0


def test_a_step_of_the_clock_is_seen(sampled: Sampled, monkeypatch: pytest.MonkeyPatch) -> None:
    offset_ms = 0.0
    monkeypatch.setattr("conductor.monitor._wall_less_monotonic_ms", lambda: offset_ms)
    sampled.monitor.start()
    sampled.until_samples(2)
    assert sampled.monitor.clock_step_ms == 0.0
    offset_ms = -700.0
    until(lambda: sampled.monitor.clock_step_ms != 0.0)
    sampled.until_samples(sampled.monitor.samples + 2)
    assert sampled.monitor.clock_step_ms == 700.0, "the largest step is the one that is kept"
