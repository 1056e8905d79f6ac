"""Settings: whole slots, bounds, nothing half-valid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import UsageError
from contract.settings import RunSettings


def test_defaults_are_whole() -> None:
    settings = RunSettings()
    assert settings.slot_s == 1.0
    assert settings.records_per_slot == 2000
    assert settings.duration_slots == 35
    assert settings.replication == 3


@given(
    rate=st.integers(2, 100_000),
    scale=st.floats(1, 600, allow_nan=False),
    duration=st.floats(1, 1000, allow_nan=False),
)
def test_what_is_accepted_is_whole(rate: int, scale: float, duration: float) -> None:
    try:
        settings = RunSettings(
            stage="join", rate=rate, temporal_scale=scale, duration_s=duration, warmup_s=7
        )
    except UsageError:
        return
    assert settings.records_per_slot >= 2
    assert settings.records_per_slot % 2 == 0
    assert settings.duration_slots >= 1
    assert settings.duration_slots * settings.slot_s <= duration + 1e-6
    assert settings.warmup_slots * settings.slot_s >= 7 - 1e-6


def test_round_trip() -> None:
    settings = RunSettings(stage="sliding", rate=500, engine_settings={"linger_ms": 3})
    run = {"settings": settings.to_json()}
    for name in ("workload", "stage", "engine", "mode", "dialect", "runtime"):
        run[name] = getattr(settings, name)
    assert RunSettings.from_json(run) == settings


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"rate": 0}, "RATE=0 cannot be"),
        ({"rate": 10**400}, f"RATE=1{'0' * 19} cannot be; give 2 to"),
        ({"seed": -(10**400)}, f"SEED=-1{'0' * 18} cannot be; give 0 to"),
        ({"duration_s": float("nan")}, "DURATION=nan cannot be"),
        ({"brokers": 10}, "BROKERS=10 cannot be; give 1 to 9"),
        ({"stage": "sliding", "duration_s": 10}, "give at least 11"),
        ({"stage": "jion"}, "did you mean join?"),
        ({"arrival": "adjacnt"}, "did you mean adjacent?"),
        ({"rate": 2, "temporal_scale": 6000.0}, "less than one lane"),
    ],
)
def test_refusals_say_what_to_write(given_: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        RunSettings(**given_)  # type: ignore[arg-type]


def test_aliases_name_stages() -> None:
    for alias, stage in {"window": "sliding", "2": "join", "baseline": "ingest"}.items():
        assert RunSettings(stage=alias).stage == stage
