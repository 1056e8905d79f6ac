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
def test_who_was_seen_by_others_too_was_not(source: str | None, run: RunFolder) -> None:
    assert stood_in(run, ("spark", 0.2, source), ("spark", 0.6, "docker")) == []


def test_only_the_measured_window_counts(run: RunFolder) -> None:
    outside = [("spark", -0.1, "cadvisor"), ("spark", 1.1, "cadvisor")]
    assert stood_in(run, *outside, ("spark", 0.5, "docker")) == ["spark"]
    assert stood_in(run, ("spark", -0.1, "docker"), ("spark", 1.1, "docker")) == []


def test_a_run_of_plain_processes_has_none(run: RunFolder) -> None:
    assert Evidence.read(run).of_service() and Evidence.read(run).stood_in() == []
