"""In which order a run's files are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contract.errors import ServiceFailed
from contract.results import RunFolder, read_json
from evaluator import evaluate
from evaluator.findings import Findings
from evaluator.hadoop import Hadoop
from evaluator.latency import write_latency
from tests.unit.evaluator.synthetic import make_run


class Kept:
    """Stands for the store: sees what is there when it is copied."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        #: to which store, and what was said of the run by then
        self.copied: list[tuple[str, dict[str, Any]]] = []
        self.trouble: Exception | None = None

    def copy_to(self, kept: str) -> None:
        self.copied.append((kept, read_json(self.run.run_json)))
        if self.trouble is not None:
            raise self.trouble

    def evaluate(self) -> None:
        # nobody asks it for anything: the findings are given
        evaluate.evaluate_run(
            Hadoop(), self.run.path, "file:/x", "c", collecting=False, kept="file:/mine"
        )


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A run without outputs, whose topics are to be kept elsewhere, too."""
    made = Kept(RunFolder(make_run(tmp_path)[0]))

    def look(*_: object) -> Findings:
        return Findings.none(write_latency([], made.run.latency, []))

    monkeypatch.setattr(evaluate, "Store", lambda *_: made)
    monkeypatch.setattr(evaluate, "look", look)
    return made


def test_a_run_is_told_of_before_its_topics_are_copied(kept: Kept) -> None:
    kept.evaluate()
    assert [store for store, _ in kept.copied] == ["file:/mine"]
    assert kept.copied[0][1] == read_json(kept.run.run_json)


def test_what_was_found_is_not_lost_with_a_copy_that_fails(kept: Kept) -> None:
    kept.trouble = ServiceFailed("the disk is full")
    with pytest.raises(ServiceFailed, match="the disk is full"):
        kept.evaluate()
    assert read_json(kept.run.run_json)["run_id"] == "c-1-join"


def test_of_topics_that_were_not_collected_nothing_is_copied(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(*_: object) -> Findings:
        raise ServiceFailed("they are not there")

    monkeypatch.setattr(evaluate, "look", look)
    kept.evaluate()
    assert kept.copied == []
    assert kept.run.run_json.exists()
