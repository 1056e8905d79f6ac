"""Which services were watched by cAdvisor, and which by nobody but the Docker engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contract.results import RunFolder
from evaluator.evidence import Evidence
from tests.unit.evaluator.synthetic import make_run


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of twelve slots, of which the first and the last are not measured."""
    return RunFolder(make_run(tmp_path)[0])


def stood_in(run: RunFolder, *lines: tuple[str, float, str | None]) -> list[str]:
    """Of services that were seen so far into the measured window, by those witnesses."""
    axis = Evidence.read(run).axis
    assert axis.span_ms is not None
    start_ms, end_ms = axis.span_ms
    rows: list[dict[str, Any]] = []
    for service, share, source in lines:
        at_ms = round(start_ms + share * (end_ms - start_ms))
        rows.append({"service": service, "at_ms": at_ms, "cpu_cores": 0.5, "memory_bytes": 1})
        rows[-1] |= {"net_in_bytes": None, "net_out_bytes": None}
        if source is not None:
            rows[-1]["source"] = source
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (run.evidence / "resources.jsonl").write_text(text)
    return Evidence.read(run).stood_in()


def test_who_was_seen_by_the_docker_engine_alone_was_stood_in_for(run: RunFolder) -> None:
    found = stood_in(run, ("spark", 0.2, "docker"), ("spark", 0.6, "docker"), ("a", 0.5, "docker"))
    assert found == ["a", "spark"]


@pytest.mark.parametrize("source", ["cadvisor", "psutil", None])
def test_who_was_seen_by_others_alone_was_not(source: str | None, run: RunFolder) -> None:
    assert stood_in(run, ("spark", 0.2, source), ("spark", 0.6, source)) == []
    # who was seen by others for a while, was
    assert stood_in(run, ("spark", 0.2, source), ("spark", 0.6, "docker")) == ["spark"]
    assert stood_in(run, ("spark", 0.2, "docker"), ("a", 0.6, source)) == ["spark"]


def test_only_the_measured_window_counts(run: RunFolder) -> None:
    outside = [("spark", -0.1, "cadvisor"), ("spark", 1.1, "cadvisor")]
    assert stood_in(run, *outside, ("spark", 0.5, "docker")) == ["spark"]
    assert stood_in(run, ("spark", -0.1, "docker"), ("spark", 1.1, "docker")) == []


def test_a_run_of_plain_processes_has_none(run: RunFolder) -> None:
    assert Evidence.read(run).of_service() and Evidence.read(run).stood_in() == []


class Watched:
    """A run in containers, a minute of which is measured."""

    def __init__(self, run: RunFolder, *services: str) -> None:
        self.run = run
        told = json.loads(run.conditions.read_text())
        told["slot_ms"] = 60_000 / (told["window"]["last_slot"] - told["window"]["first_slot"] + 1)
        told["monitoring_source"] = {"services": list(services)}
        run.conditions.write_text(json.dumps(told))

    def unseen(self, **looks_s: list[float]) -> list[str]:
        """Who was seen at those seconds of the window."""
        span = Evidence.read(self.run).axis.span_ms
        assert span is not None and round(span[1] - span[0]) == 60_000
        rows = [
            {"service": service, "at_ms": round(span[0] + 1000 * second)}
            for service, seconds in looks_s.items()
            for second in seconds
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (self.run.evidence / "resources.jsonl").write_text(text)
        return Evidence.read(self.run).unseen()


def test_who_was_looked_at_by_nobody_was_unseen(run: RunFolder) -> None:
    watched = Watched(run, "spark", "broker-1")
    often = [float(second) for second in range(60)]
    assert watched.unseen(spark=often, **{"broker-1": often}) == []
    assert watched.unseen(spark=often) == ["broker-1"]
    assert watched.unseen() == ["spark", "broker-1"]
    assert watched.unseen(spark=[-1, 61], **{"broker-1": often}) == ["spark"]


@pytest.mark.parametrize(
    ("looks_s", "unseen"),
    [
        ([29, 31], False),
        ([31], True),
        ([29], True),
        ([10, 41], True),
        ([10, 40], False),
        ([40, 10], False),
        ([0, 10, 20, 29], True),
    ],
)
def test_who_was_not_looked_at_for_half_a_minute_was_unseen(
    looks_s: list[float], unseen: bool, run: RunFolder
) -> None:
    found = Watched(run, "spark").unseen(spark=looks_s)
    assert found == ["spark"] * unseen


def test_of_plain_processes_and_of_what_was_not_measured_nobody_was_unseen(run: RunFolder) -> None:
    assert Evidence.read(run).unseen() == []
    Watched(run, "spark")
    told = json.loads(run.conditions.read_text())
    run.conditions.write_text(json.dumps({**told, "window": None}))
    assert Evidence.read(run).unseen() == []
