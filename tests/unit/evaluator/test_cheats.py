"""Each broken engine and each broken condition is caught by the doubt it deserves, by no other.

The family is told in docs/cheats.md; what is told there is what is tested here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from contract.doubts import SEVERITIES
from contract.results import RunFolder, read_json, write_json
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop
from evaluator.tally import AT_FAULT_MAX
from tests.unit.evaluator.synthetic import Input, make_run
from tests.unit.evaluator.synthetic_cheats import CHANGES, clock_back
from tests.unit.evaluator.test_forgeries import FORGERIES, differing

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "cheats.md"
#: plans of honest runs, each of which is valid
JOIN: dict[str, Any] = {}
MANY: dict[str, Any] = {"locations": 20}
TUMBLING: dict[str, Any] = {"stage": "tumbling"}
SLIDING: dict[str, Any] = {"stage": "sliding"}
WINDOWED: dict[str, Any] = {"stage": "tumbling", "dialect": "windowed", "disorder_ms_max": 200.0}
WINDOWED_SLIDING: dict[str, Any] = {**WINDOWED, "stage": "sliding"}
WRONG, EARLY, NOT_KEPT = "outputs-wrong", "output-before-input", "window-not-kept"
LATE, UNSUSTAINED, CLOCK = "publisher-late", "not-sustained", "clock-stepped"
LEADER, APPEND_TIME = "leader-moved", "not-log-append-time"


@dataclass(frozen=True, slots=True)
class Cheat:
    """What happens to an honest run, and what must come of it."""

    name: str
    #: the honest run's plan
    plan: dict[str, Any]
    #: what `make_run` is asked for besides
    asked: dict[str, Any]
    #: the one doubt that it deserves
    doubt: str
    #: outputs by verdict, of those that it changes
    counts: dict[str, int] = field(default_factory=dict)
    #: whether verify demands the doubt where it was taken out of run.json
    verify_too: bool = True


def _lost(inputs: list[Input]) -> list[Input]:
    gone = next(x for x in inputs if x[0].slot == 12)
    return [x for x in inputs if x is not gone]


def _disordered(inputs: list[Input]) -> list[Input]:
    last = [x for x in inputs if x[0].slot == 12][-1]
    late = replace(last[0], timestamp_ms=last[0].timestamp_ms + 450)
    return [(late, *x[1:]) if x is last else x for x in inputs]


def _looks(leader: int = 1, epoch: int = 0) -> list[dict[str, Any]]:
    place = {"topic": "r1.flow", "partition": 0, "replicas": [1], "isr": [1]}
    return [{**place, "leader": leader, "epoch": epoch}]


def _leaders(before: Any, after: Any) -> dict[str, Any]:
    return {"conditions": {"leaders": {"before": before, "after": after}}}


def _types(**looks: str) -> dict[str, Any]:
    types = {when: {"r1.flow": kind} for when, kind in looks.items()}
    return {"conditions": {"timestamp_types": types}}


def _died(outputs: list[Any]) -> list[Any]:
    return outputs[:100]


DEATH: dict[str, Any] = {
    "window": None,
    "deaths": [{"service": "engine", "exit_code": 1, "log_tail": ["boom"]}],
    "leaders": {"before": [], "after": None},
    "drained": None,
}
EAGER_AFTER_ALL = {
    "dialect": "eager",
    "conditions": {"dialect": "windowed", "disorder_ms_max": 200.0},
}

CHEATS = (
    Cheat("drop", MANY, {"cheat": "drop"}, WRONG, {"missing": 2, "correct": 1438}),
    Cheat("double", JOIN, {"cheat": "double"}, WRONG, {"duplicate": 1, "correct": 288}),
    Cheat("late-double", JOIN, {"cheat": "late_double"}, WRONG, {"duplicate": 1, "correct": 288}),
    Cheat("tail-double", JOIN, {"cheat": "tail_double"}, WRONG, {"duplicate": 1, "correct": 288}),
    Cheat(
        "wrong-lane",
        JOIN,
        {"cheat": "wrong_lane"},
        WRONG,
        {"missing": 1, "duplicate": 1, "correct": 287},
    ),
    Cheat(
        "exchanged-lanes", JOIN, {"cheat": "exchanged_lanes"}, WRONG, {"wrong": 2, "correct": 286}
    ),
    Cheat("wrong-sum", TUMBLING, {"cheat": "wrong_sum"}, WRONG, {"wrong": 1, "correct": 143}),
    Cheat("stale-look-back", SLIDING, {"cheat": "stale_look_back"}, WRONG),
    Cheat("previous-slot", SLIDING, {"cheat": "previous_slot"}, WRONG),
    Cheat("constant", JOIN, {"cheat": "constant"}, WRONG),
    Cheat("truncated", JOIN, {"cheat": "truncated"}, WRONG, {"missing": 120, "correct": 168}),
    Cheat("forged", JOIN, {"cheat": "forged"}, WRONG, {"unexpected": 1, "correct": 288}),
    Cheat("junk", JOIN, {"cheat": "junk"}, WRONG, {"unexpected": 1, "correct": 288}),
    Cheat("late-fault", JOIN, {"cheat": "late_fault"}, WRONG, {"wrong": 1, "correct": 288}),
    Cheat("early", JOIN, {"cheat": "early"}, EARLY),
    Cheat("foretold", JOIN, {"cheat": "foretold"}, EARLY),
    Cheat("early-window", WINDOWED, EAGER_AFTER_ALL, NOT_KEPT),
    Cheat("early-sliding", WINDOWED_SLIDING, EAGER_AFTER_ALL, NOT_KEPT),
    Cheat("own-watch", WINDOWED, {"cheat": "by_its_own_watch"}, NOT_KEPT),
    Cheat("held-until-the-end", JOIN, {"cheat": "until_the_end"}, UNSUSTAINED),
    Cheat("held-long-after", JOIN, {"cheat": "until_long_after"}, UNSUSTAINED),
    Cheat("growing", JOIN, {"delay_ms": lambda slot: 8.0 * slot}, UNSUSTAINED),
    Cheat(
        "catching-up", JOIN, {"delay_ms": lambda slot: max(0.0, 1700 - 60.0 * slot)}, UNSUSTAINED
    ),
    Cheat(
        "undrained",
        JOIN,
        {"conditions": {"drained": False, "drain_says": "3 slots behind"}},
        UNSUSTAINED,
    ),
    Cheat("engine-dies", JOIN, {"conditions": DEATH, "cheat": _died}, "engine-died"),
    Cheat("publisher-behind", JOIN, {"late_ms": 200.0}, LATE),
    Cheat("unappended", JOIN, {"appending": _lost}, LATE),
    Cheat(
        "disordered", WINDOWED, {"appending": _disordered}, "publisher-disordered", verify_too=False
    ),
    Cheat("clock-steps", JOIN, {"conditions": {"clock_step_ms": -300.0}}, CLOCK),
    Cheat(
        "clock-falls-back",
        # with few records a partition is silent for longer than the clock falls back
        MANY,
        {"cheat": clock_back, "inputs_also": clock_back},
        CLOCK,
        verify_too=False,
    ),
    Cheat("leader-moves", JOIN, _leaders(_looks(), _looks(leader=2, epoch=1)), LEADER),
    Cheat("leader-returns", JOIN, _leaders(_looks(), _looks(epoch=2)), LEADER),
    Cheat("other-leader", JOIN, _leaders(_looks(leader=2), _looks(leader=2)), LEADER),
    Cheat("leader-unseen", JOIN, _leaders(_looks(), None), LEADER),
    Cheat(
        "create-time-declared",
        JOIN,
        _types(before="CreateTime", after="CreateTime"),
        APPEND_TIME,
    ),
    Cheat(
        "create-time-later", JOIN, _types(before="LogAppendTime", after="CreateTime"), APPEND_TIME
    ),
    Cheat("create-time-collected", JOIN, {"timestamp_type": 0}, APPEND_TIME, verify_too=False),
)
#: caught by a warning: its figures are true, but those outside stalls are not the engine's
WARNED = "held-in-bursts"


def evaluated(root: Path, **asked: Any) -> tuple[RunFolder, dict[str, Any]]:
    run_dir, store = make_run(root, **asked)
    evaluate_run(Hadoop(), run_dir, store, "c", collecting=False)
    run = RunFolder(run_dir)
    return run, read_json(run.run_json)


def grave(told: dict[str, Any]) -> set[str]:
    return {doubt["id"] for doubt in told["doubts"] if doubt["severity"] == "invalid"}


@pytest.mark.parametrize(
    "plan", [JOIN, MANY, TUMBLING, SLIDING, WINDOWED, WINDOWED_SLIDING], ids=str
)
def test_the_honest_run_is_valid(tmp_path: Path, plan: dict[str, Any]) -> None:
    run, told = evaluated(tmp_path, **plan)
    assert told["valid"] and grave(told) == set()
    counts = told["outputs"]
    assert (
        counts["expected"] == counts["correct"] > 0
        and sum(counts.values()) == 2 * counts["correct"]
    )
    assert differing(run) == {}


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_a_cheat_is_caught_by_the_doubt_it_deserves(tmp_path: Path, cheat: Cheat) -> None:
    run, told = evaluated(tmp_path, **(cheat.plan | cheat.asked))
    assert grave(told) == {cheat.doubt} and told["valid"] is False
    assert all(doubt["says"].endswith(".") for doubt in told["doubts"])
    faults = {k: told["outputs"][k] for k in ("missing", "duplicate", "wrong", "unexpected")}
    if cheat.counts:
        expected = dict.fromkeys(faults, 0) | cheat.counts
        assert {k: told["outputs"][k] for k in expected} == expected
    assert any(faults.values()) == (cheat.doubt == WRONG)
    assert len(told["at_fault"]) == min(AT_FAULT_MAX, sum(n or 0 for n in faults.values()))
    assert {fault["verdict"] for fault in told["at_fault"]} <= {k for k, n in faults.items() if n}
    # verify agrees with what was found, and demands the doubt where someone took it out
    assert differing(run) == {}
    kept = [doubt for doubt in told["doubts"] if doubt["id"] != cheat.doubt]
    write_json(run.run_json, {**told, "doubts": kept, "valid": True})
    demanded = {f"{run.path.name} doubt {cheat.doubt}"} if cheat.verify_too else set()
    assert set(differing(run)) == demanded


def test_the_family_holds_every_way_to_change_the_outputs() -> None:
    assert {cheat.asked.get("cheat") for cheat in CHEATS} >= set(CHANGES)
    assert all(SEVERITIES[cheat.doubt] == "invalid" for cheat in CHEATS)


def test_answers_held_back_and_released_in_bursts_are_warned_of(tmp_path: Path) -> None:
    """For two of each five seconds nothing comes: outside stalls all looks wonderful."""
    run, told = evaluated(tmp_path, stall_every_s=5, stall_ms=2000.0, checkpoint_s=5, **MANY)
    assert grave(told) == set() and told["valid"]
    assert "mostly-stalled" in {doubt["id"] for doubt in told["doubts"]}
    latency_ms = told["latency_ms"]
    assert latency_ms["last_outside_stalls"]["p99"] < 20
    assert latency_ms["last"]["p75"] > 500 and latency_ms["last"]["p95"] > 1500
    assert differing(run) == {}
    kept = [doubt for doubt in told["doubts"] if doubt["id"] != "mostly-stalled"]
    write_json(run.run_json, {**told, "doubts": kept})
    assert set(differing(run)) == {f"{run.path.name} doubt mostly-stalled"}


@pytest.mark.parametrize(("late_ms", "warned"), [(3.0, False), (30.0, True)])
def test_lateness_that_due_is_partly_made_of_is_warned_of(
    tmp_path: Path, late_ms: float, warned: bool
) -> None:
    run, told = evaluated(tmp_path, late_ms=late_ms, **MANY)
    assert told["valid"]
    assert ("late-publisher" in {doubt["id"] for doubt in told["doubts"]}) == warned
    assert differing(run) == {}
    kept = [doubt for doubt in told["doubts"] if doubt["id"] != "late-publisher"]
    write_json(run.run_json, {**told, "doubts": kept})
    assert set(differing(run)) == ({f"{run.path.name} doubt late-publisher"} if warned else set())


def test_what_is_held_back_for_most_of_the_time_is_no_stall_and_told_whole(tmp_path: Path) -> None:
    """Where the median itself is that of holding back nothing is set apart."""
    _, told = evaluated(tmp_path, stall_every_s=5, stall_ms=4000.0, checkpoint_s=5, **MANY)
    latency_ms = told["latency_ms"]
    assert latency_ms["last_outside_stalls"]["p50"] > 500 and latency_ms["last"]["p50"] > 500


def test_the_document_names_the_family_and_no_other() -> None:
    """A row a cheat: its name, what it does, what catches it, whether it is tested here."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    names = [row[0].partition("`")[2].partition("`")[0] for row in rows]
    told = {name: re.findall(r"`([^`]+)`", row[2]) for name, row in zip(names, rows, strict=True)}
    caught = {cheat.name: [cheat.doubt] for cheat in CHEATS} | {WARNED: ["mostly-stalled"]}
    assert told == caught | {forgery.name: [forgery.check] for forgery in FORGERIES}
    assert len(told) == len(rows)
    graves = {name: row[3] for name, row in zip(names, rows, strict=True) if name in caught}
    assert graves == {name: SEVERITIES[doubt] for name, (doubt,) in caught.items()}
    # what only the topics tell is marked
    marked = {name for name, row in zip(names, rows, strict=True) if row[0].endswith("†")}
    assert marked == {cheat.name for cheat in CHEATS if not cheat.verify_too}
