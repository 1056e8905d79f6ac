"""Write down what a campaign was asked to do, and what each of its runs is told; starts nothing."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from conductor.appliance.presence import HDFS
from conductor.asked import Asked
from conductor.engine_choice import Contender
from conductor.home import Home
from conductor.java import Java
from conductor.machine import machine_facts, pins
from conductor.run_plan import RunPlan
from contract.order import Planned
from contract.results import BESIDE, SCHEMA, RunFolder


def conditions_asked(
    asked: Asked, home: Home, java: Java | None, command: list[str], order: Sequence[Planned]
) -> dict[str, Any]:
    """The conditions of a campaign of which no run has been made."""
    started = datetime.now(UTC)
    if asked.verb == "bench":
        name = "all" if asked.all_stages else asked.stages[-1]
    else:
        name = "quick" if asked.preliminary else asked.verb
    return {
        "schema": SCHEMA,
        "campaign_id": f"{started:%Y%m%d-%H%M%S}-{name}-{secrets.token_hex(2)}",
        "verb": asked.verb,
        "question": asked.question,
        "command": command,
        "started_at": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "ended_at": None,
        "settings": _common_settings(asked),
        "variants": [_variant(asked, contender) for contender in asked.contenders],
        "stages": list(asked.stages),
        "asked_all": asked.all_stages,
        "repeat": asked.repeat,
        "preliminary": asked.preliminary,
        "runs": [_entry(planned) for planned in order],
        "interruptions": [],
        "machine": machine_facts(java),
        "pins": pins(home, java),
        "store": BESIDE if asked.store == home.store else asked.store,
        # where it can be read once the cluster has gone
        "store_kept": BESIDE if asked.store == HDFS else None,
        "complete": False,
        "says": None,
    }


def _common_settings(asked: Asked) -> dict[str, Any]:
    settings = asked.settings
    # what each variant has of its own stands with it
    told = {k: v for k, v in settings.to_json().items() if k != "engine"}
    return {"workload": settings.workload, "runtime": settings.runtime, **told}


def _variant(asked: Asked, contender: Contender) -> dict[str, Any]:
    return {
        **contender.variant.to_json(),
        "engine_version": contender.engine.spec.version,
        "settings": asked.engine_settings(contender),
    }


def _entry(planned: Planned) -> dict[str, Any]:
    return {
        "path": planned.path,
        "stage": planned.stage,
        **planned.variant.to_json(),
        "repetition": planned.repetition,
        "ended": None,
    }


def run_plan(
    asked: Asked, planned: Planned, folder: RunFolder, campaign_id: str, attempt: int
) -> RunPlan:
    """What the run is told."""
    contender = asked.contender(planned.variant)
    return RunPlan(
        run_id=planned.run_id(campaign_id, attempt),
        folder=folder,
        settings=asked.for_run(planned.stage, contender),
        engine=contender.engine,
        execution=contender.execution,
    )
