"""What the conductor saw of a run: the evidence that the evaluator judges by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psutil

from contract.engine import EngineSpec, Execution, Topics, engine_settings_for
from contract.results import SCHEMA
from contract.settings import RunSettings


@dataclass(slots=True)
class Seen:
    """Filled while the run goes on."""

    first_due_ms: float = 0.0
    event_start_s: int = 0
    slot_ms: float = 0.0
    ready: dict[str, int] | None = None
    window: dict[str, int] | None = None
    leaders_before: list[dict[str, Any]] = field(default_factory=list)
    leaders_after: list[dict[str, Any]] | None = None
    types_before: dict[str, str] = field(default_factory=dict)
    types_after: dict[str, str] | None = None
    clock_step_ms: float = 0.0
    monitoring: bool = False
    deaths: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False
    never_ready: str | None = None
    drained: bool = False
    drain_says: str | None = None
    engine_stop: str | None = None
    progress: list[dict[str, int]] = field(default_factory=list)
    phases_s: dict[str, float] = field(default_factory=dict)


def conditions_of(
    facts: dict[str, Any],
    settings: RunSettings,
    spec: EngineSpec,
    execution: Execution,
    topics: Topics,
    seen: Seen,
) -> dict[str, Any]:
    """The value of evidence/conditions.json."""
    asked = settings.to_json()
    asked["engine"] = engine_settings_for(spec, settings)
    disorder = execution.disorder_setting
    started = seen.slot_ms > 0
    return {
        "schema": SCHEMA,
        **facts,
        "workload": settings.workload,
        "stage": settings.stage,
        "engine": settings.engine,
        "engine_version": spec.version,
        "delivery": spec.delivery,
        "mode": settings.mode,
        "dialect": settings.dialect,
        "runtime": settings.runtime,
        "settings": asked,
        "topics": {"inputs": dict(topics.inputs), "output": topics.output},
        "disorder_ms_max": asked["engine"][disorder] if disorder else None,
        "checkpoint_s": settings.checkpoint_s if execution.commits == "interval" else None,
        "first_due_ms": seen.first_due_ms if started else None,
        "event_start_s": seen.event_start_s if started else None,
        "slot_ms": seen.slot_ms if started else settings.slot_s * 1000,
        "ready": seen.ready,
        "window": seen.window,
        "leaders": {"before": seen.leaders_before, "after": seen.leaders_after},
        "timestamp_types": {"before": seen.types_before, "after": seen.types_after},
        "clock_step_ms": seen.clock_step_ms,
        "deaths": seen.deaths,
        "interrupted": seen.interrupted,
        "never_ready": seen.never_ready,
        "drained": seen.drained,
        "drain_says": seen.drain_says,
        "engine_stop": seen.engine_stop,
        "cores": psutil.cpu_count() or 1,
        "monitoring": seen.monitoring,
        "fault_injected": False,
        "phases_s": {
            phase: round(seen.phases_s.get(phase, 0.0), 3)
            for phase in ("set_up", "start", "warm_up", "measure", "drain")
        },
    }
