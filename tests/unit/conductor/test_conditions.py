"""The testimony: every key is always there; what was not seen is null and not zero."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.conditions import Seen, conditions_of
from contract.engine import EngineSpec, Topics
from contract.results import TOLD
from contract.settings import RunSettings
from tests.unit.conductor.fakes import ENGINES

SPARK = EngineSpec.read(ENGINES / "spark" / "engine.toml")
FACTS: dict[str, Any] = {
    "run_id": "r1",
    "last_slot": None,
    "engine_services": [],
    "limits": None,
    "images": None,
}


def told_of(seen: Seen, mode: str | None = None, dialect: str | None = None) -> dict[str, Any]:
    execution = SPARK.choose(mode, dialect)
    settings = RunSettings(
        mode=execution.mode,
        dialect=execution.dialect,
        checkpoint_s=7,
        temporal_scale=120,
        engine_settings={"watermark_ms": 250},
    )
    topics = Topics.of("r1", ("flow", "speed"))
    return conditions_of(FACTS, settings, SPARK, execution, topics, seen)


def test_a_run_that_never_started_has_the_same_keys_as_one_that_ended() -> None:
    started = Seen(first_due_ms=5.0, event_start_s=9, slot_ms=500.0)
    none, some = told_of(Seen()), told_of(started)
    assert set(none) == set(some) >= set(TOLD)
    assert (none["first_due_ms"], none["event_start_s"], none["slot_ms"]) == (None, None, 500.0)
    assert (some["first_due_ms"], some["event_start_s"], some["slot_ms"]) == (5.0, 9, 500.0)
    assert none["leaders"] == {"before": [], "after": None}
    assert json.loads(json.dumps(none, allow_nan=False)) == none


def test_every_phase_is_there_and_one_that_did_not_happen_took_no_time() -> None:
    seen = Seen(phases_s={"start": 1.23456, "drain": 2.0})
    assert told_of(seen)["phases_s"] == {
        "set_up": 0.0,
        "start": 1.235,
        "warm_up": 0.0,
        "measure": 0.0,
        "drain": 2.0,
    }


@pytest.mark.parametrize(
    ("mode", "dialect", "disorder_ms", "checkpoint_s"),
    [
        ("real-time", "eager", 10_000, 7),
        ("micro-batch", "windowed", 250, None),
        ("micro-batch", "eager", 10_000, None),
    ],
)
def test_disorder_and_checkpoints_are_those_of_the_execution(
    mode: str, dialect: str, disorder_ms: int, checkpoint_s: float | None
) -> None:
    told = told_of(Seen(), mode, dialect)
    assert (told["disorder_ms_max"], told["checkpoint_s"]) == (disorder_ms, checkpoint_s)


def test_the_engines_settings_are_all_told_as_the_run_had_them() -> None:
    engine = told_of(Seen())["settings"]["engine"]
    assert set(engine) == set(SPARK.settings)
    assert (engine["watermark_ms"], engine["checkpoint_s"], engine["linger_ms"]) == (250, 7, 1)
