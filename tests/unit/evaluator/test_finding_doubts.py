"""Each doubt arises from its fault, and from no run without fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contract.doubts import SEVERITIES
from evaluator.doubts import find_doubts, is_valid
from evaluator.facts import Facts

LEADER = {"topic": "t", "partition": 0, "leader": 1, "epoch": 0}
GOOD = Facts(
    leaders_before=[LEADER],
    leaders_after=[LEADER],
    clock_broker=1,
    declared_types={"t": "LogAppendTime"},
    collected_types=(1,),
    clock_step_ms=0.3,
    append_back_ms=2,
    last_ms_min=0.0,
    scheduled=100_000,
    appended=100_000,
    late_ms_p99=0.4,
    disorder_ms=150,
    disorder_ms_max=200,
    came=100_000,
    put_out=99_990,
    slot_medians_ms=[6.0, 6.5, 6.0, 6.2, 5.9, 6.1, 6.0],
    last_ms_p50=6.0,
    due_ms_p50=25.0,
    samples=100_000,
    window_s=35,
    checkpoint_s=10,
    busy_share=0.5,
    steal_share=0.0,
    foreign_share=0.01,
    disk_free_bytes=50 * 2**30,
)
DEATH = {"service": "engine", "exit_code": 1}
BROKER = {"service": "broker-2", "exit_code": -9}


def test_a_good_run_has_no_doubt() -> None:
    assert find_doubts(GOOD) == []


CASES: list[tuple[str, dict[str, Any]]] = [
    ("leader-moved", {"leaders_after": [{**LEADER, "leader": 2}]}),
    ("leader-moved", {"leaders_after": [{**LEADER, "epoch": 1}]}),
    ("leader-moved", {"leaders_after": None}),
    ("leader-moved", {"clock_broker": 3}),
    ("not-log-append-time", {"declared_types": {"t": "CreateTime"}}),
    ("not-log-append-time", {"collected_types": (0, 1)}),
    ("clock-stepped", {"clock_step_ms": -51.0}),
    ("clock-stepped", {"append_back_ms": 51}),
    ("output-before-input", {"last_ms_min": -1.0}),
    ("publisher-late", {"appended": 99_899}),
    ("publisher-late", {"late_ms_p99": 50.1, "due_ms_p50": 1000.0}),
    ("publisher-late", {"scheduled": None}),
    ("publisher-late", {"deaths": [{"service": "publisher-0", "exit_code": 1}]}),
    ("publisher-disordered", {"disorder_ms": 201}),
    ("outputs-wrong", {"missing": 1}),
    ("outputs-wrong", {"duplicate": 1}),
    ("outputs-wrong", {"wrong": 1}),
    ("outputs-wrong", {"unexpected": 1}),
    ("outputs-wrong", {"duplicate": 1, "delivery": "at-least-once"}),
    ("outputs-wrong", {"duplicate": 1, "fault_injected": True}),
    ("window-not-kept", {"hasty": 3, "hasty_ms_max": 41.0}),
    ("window-not-kept", {"hasty": 1}),
    ("not-sustained", {"slot_medians_ms": [10.0, 20, 30, 40, 50], "last_ms_p50": 30.0}),
    ("not-sustained", {"slot_medians_ms": [1700.0, 1600, 900, 500, 200, 140], "last_ms_p50": 545}),
    ("not-sustained", {"put_out": 49_999}),
    ("not-sustained", {"drained": False, "drain_says": "5 slots behind"}),
    ("not-sustained", {"never_ready": "its newest slot is 3", "measured": False}),
    ("not-sustained", {"measured": False}),
    ("engine-died", {"deaths": [DEATH]}),
    ("broker-died", {"deaths": [BROKER], "leaders_after": None}),
    ("broker-died", {"not_collected": "no broker answers"}),
    ("interrupted", {"interrupted": True}),
    ("interrupted", {"interrupted": True, "not_collected": "no broker answers"}),
    ("host-saturated", {"busy_share": 0.91}),
    ("noisy-host", {"steal_share": 0.06}),
    ("noisy-host", {"foreign_share": 0.06}),
    ("late-publisher", {"late_ms_p99": 5.1}),
    ("late-publisher", {"late_ms_p99": 6.1, "due_ms_p50": 60.0}),
    ("few-checkpoints", {"window_s": 29}),
    ("few-samples", {"samples": 9_999}),
    ("mostly-stalled", {"stalled": 25_001}),
    ("warming", {"slot_medians_ms": [12.0, 9, 9, 6, 6, 6, 6, 6, 6]}),
    ("warming", {"slot_medians_ms": [250.0, 250, 250, 6, 6, 6, 6, 6, 6], "last_ms_p50": 9.0}),
    ("no-monitoring", {"monitoring": False}),
    ("monitoring-stood-in", {"stood_in": ["broker-1", "spark"]}),
    ("swapping", {"swapped_bytes": 4096}),
    ("low-disk", {"disk_free_bytes": 2**30}),
]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_fault_raises_its_doubt_and_no_other(name: str, fault: dict[str, Any]) -> None:
    found = find_doubts(replace(GOOD, **fault))
    assert [doubt.id for doubt in found] == [name]
    assert is_valid(found) == (SEVERITIES[name] == "warning")
    assert found[0].says.endswith(".")


def test_every_doubt_of_a_run_is_provoked() -> None:
    assert {name for name, _ in CASES} == set(SEVERITIES) - {"few-runs"}


@pytest.mark.parametrize(
    "harmless",
    [
        {"duplicate": 3, "delivery": "at-least-once", "fault_injected": True},
        {"disorder_ms": 10_000.0, "disorder_ms_max": None},
        {"appended": 99_900},
        {"slot_medians_ms": [6.0, 6, 6, 900, 6, 6, 6]},
        {"slot_medians_ms": [6.0, 12, 18, 24, 30], "last_ms_p50": 18.0},
        {"slot_medians_ms": [7.0, 7, 7, 5, 5, 5, 5, 5, 5]},
        {"slot_medians_ms": [6.0, 6, 900, 6, 6, 6, 6], "last_ms_p50": 6.0},
        {"samples": 10_000},
        {"late_ms_p99": 5.0, "last_ms_p50": 1.0},
        {"late_ms_p99": 6.0, "due_ms_p50": 60.0},
        {"stalled": 25_000},
        {"put_out": 50_000},
        {"put_out": 0, "came": 0},
        {"samples": 0, "last_ms_p50": None, "last_ms_min": None},
        {"late_ms_p99": 6.0, "due_ms_p50": None},
        {"checkpoint_s": None, "window_s": 1},
    ],
)
def test_what_is_no_fault_raises_none(harmless: dict[str, Any]) -> None:
    assert find_doubts(replace(GOOD, **harmless)) == []


@pytest.mark.parametrize(
    ("death", "says"),
    [
        (DEATH, "engine died: it ended with exit code 1."),
        (
            {**DEATH, "says": "was killed because it ran out of memory"},
            "engine died: it was killed because it ran out of memory.",
        ),
    ],
)
def test_a_death_is_said_as_the_conductor_saw_it(death: dict[str, Any], says: str) -> None:
    (doubt,) = find_doubts(replace(GOOD, deaths=[death]))
    assert doubt.says == says


def test_who_was_stood_in_for_is_named() -> None:
    (doubt,) = find_doubts(replace(GOOD, stood_in=["broker-1", "spark"]))
    assert doubt.id == "monitoring-stood-in"
    assert "did not report all of broker-1, spark:" in doubt.says


def test_of_many_services_a_sentence_names_a_few() -> None:
    names = [f"broker-{n}" for n in range(1, 8)]
    for doubted in (replace(GOOD, stood_in=names), replace(GOOD, unseen=names)):
        (doubt,) = find_doubts(doubted)
        assert " broker-1, broker-2, broker-3, broker-4 and 3 more" in doubt.says


def test_who_was_seen_by_nobody_is_named() -> None:
    (doubt,) = find_doubts(replace(GOOD, unseen=["broker-1", "spark"]))
    assert (doubt.id, doubt.says) == (
        "no-monitoring",
        "Nobody measured what broker-1, spark used.",
    )
    # of whom nobody looked at anything, no single one is named
    (doubt,) = find_doubts(replace(GOOD, unseen=["spark"], monitoring=False))
    assert doubt.says == "Nobody measured what the services used."
