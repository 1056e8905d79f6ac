"""What the Docker engine counts of a container, in either shape of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.statistics import FILE, StandIn, row_of
from contract.results import read_jsonl
from tests.unit.conductor.appliance.fakes import FakeContainer
from tests.unit.conductor.fakes import until

NETWORKS = {
    "eth0": {"rx_bytes": 1000, "tx_bytes": 300, "rx_packets": 4},
    "eth1": {"rx_bytes": 24, "tx_bytes": 7, "rx_packets": 1},
}
#: as an engine on cgroup v1 answers
V1: dict[str, Any] = {
    "cpu_stats": {
        "cpu_usage": {"total_usage": 5_000_000_000, "percpu_usage": [3, 2]},
        "system_cpu_usage": 9,
        "online_cpus": 2,
    },
    "memory_stats": {
        "usage": 900_000_000,
        "max_usage": 950_000_000,
        "stats": {"cache": 300_000_000, "total_inactive_file": 200_000_000, "inactive_file": 7},
        "limit": 2_000_000_000,
    },
    "networks": NETWORKS,
}
#: as one on cgroup v2 does
V2: dict[str, Any] = {
    "cpu_stats": {"cpu_usage": {"total_usage": 5_000_000_000}, "online_cpus": 2},
    "memory_stats": {
        "usage": 900_000_000,
        "stats": {"anon": 600_000_000, "file": 300_000_000, "inactive_file": 200_000_000},
        "limit": 2_000_000_000,
    },
    "networks": NETWORKS,
}
#: of one that has ended
ENDED: dict[str, Any] = {
    "cpu_stats": {"cpu_usage": {"total_usage": 0}, "throttling_data": {}},
    "memory_stats": {},
}


@pytest.mark.parametrize("told", [V1, V2], ids=["cgroup-v1", "cgroup-v2"])
def test_both_shapes_come_to_the_same_row(told: dict[str, Any]) -> None:
    assert row_of(told) == {
        "cpu_ns": 5_000_000_000,
        "memory_bytes": 700_000_000,
        "net_in_bytes": 1024,
        "net_out_bytes": 307,
    }


@pytest.mark.parametrize(
    "told", [ENDED, {}, {"cpu_stats": None}, {"cpu_stats": {}, "memory_stats": None}]
)
def test_a_container_that_has_ended_has_no_row(told: dict[str, Any]) -> None:
    assert row_of(told) is None


def test_one_without_a_network_has_sent_nothing() -> None:
    for told in ({**V2, "networks": {}}, {**V2, "networks": None}):
        row = row_of(told)
        assert row is not None and (row["net_in_bytes"], row["net_out_bytes"]) == (0, 0)
    row = row_of({name: value for name, value in V2.items() if name != "networks"})
    assert row is not None and row["net_in_bytes"] == 0


def test_memory_is_never_below_nothing() -> None:
    told = {**V2, "memory_stats": {"usage": 5, "stats": {"inactive_file": 9}}}
    row = row_of(told)
    assert row is not None and row["memory_bytes"] == 0
    row = row_of({**V2, "memory_stats": {"usage": 5}})
    assert row is not None and row["memory_bytes"] == 5


class Counting(DockerEngine):
    """An engine whose answers are scripted, container by container; the last one repeats."""

    def __init__(self, answers: Mapping[str, list[dict[str, Any] | None]]) -> None:
        self._answers = {name: list(told) for name, told in answers.items()}
        self.asked = 0

    def statistics(self, container: Any) -> dict[str, Any] | None:
        self.asked += 1
        told = self._answers[container.id]
        return told.pop(0) if len(told) > 1 else told[0]


def used(cpu_ns: int, received: int = 0, memory: int = 100) -> dict[str, Any]:
    return {
        "cpu_stats": {"cpu_usage": {"total_usage": cpu_ns}},
        "memory_stats": {"usage": memory},
        "networks": {"eth0": {"rx_bytes": received, "tx_bytes": 2 * received}},
    }


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds without a pause."""
    monkeypatch.setattr("conductor.appliance.statistics.ROUND_S_MIN", 0.002)


def noted(folder: Path, **answers: list[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """What is in the file after some rounds."""
    containers = {name: FakeContainer(name) for name in answers}
    engine = Counting({containers[name].id: told for name, told in answers.items()})
    stand_in = StandIn(engine, folder, lambda: containers)
    until(lambda: engine.asked >= 8 * len(answers))
    stand_in.stop()
    return read_jsonl(folder / FILE)


def test_a_line_is_what_was_used_since_the_look_before(tmp_path: Path) -> None:
    lines = noted(tmp_path, spark=[used(0), used(10**9, received=50, memory=7), used(10**9, 50)])
    assert lines[0]["service"] == "spark"
    assert lines[0]["cpu_cores"] > 0
    assert (lines[0]["net_in_bytes"], lines[0]["net_out_bytes"]) == (50, 100)
    assert lines[0]["memory_bytes"] == 7, "memory is what is held, and no difference"
    assert {line["cpu_cores"] for line in lines[1:]} == {0.0}
    assert [line["at_ms"] for line in lines] == sorted(line["at_ms"] for line in lines)


def test_a_counter_that_began_anew_is_no_negative_use(tmp_path: Path) -> None:
    lines = noted(tmp_path, spark=[used(10**9, 90), used(5, 1), used(5, 1)])
    assert all(line["cpu_cores"] >= 0 and line["net_in_bytes"] >= 0 for line in lines)


def test_one_that_does_not_answer_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    lines = noted(tmp_path, gone=[None], ended=[ENDED], spark=[used(0)])
    assert {line["service"] for line in lines} == {"spark"}


def test_once_stopped_nobody_is_asked_any_more(tmp_path: Path) -> None:
    container = FakeContainer("spark")
    engine = Counting({container.id: [used(0)]})
    stand_in = StandIn(engine, tmp_path, lambda: {"spark": container})
    until(lambda: engine.asked > 2)
    stand_in.stop()
    asked = engine.asked
    stand_in.stop()
    assert engine.asked == asked
    assert not stand_in._thread.is_alive()
