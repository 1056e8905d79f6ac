"""Check that a campaign's runs are those its question plans: all, in order, one after another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from contract.errors import TollgateError
from contract.order import Planned, order_of
from contract.results import CampaignFolder, RunFolder, read_json
from contract.settings import RunSettings
from contract.variant import Variant
from evaluator.verify_parts import Check

Told = Mapping[str, Any]
#: how much later than it was asked to a publisher may stop
LATE_S_MAX = 5.0
#: how a run may be listed that left a run.json, by whether that says valid
_ENDED = {True: ("valid",), False: ("invalid", "failed")}


def check_plan(folder: CampaignFolder, campaign: Told, runs: Mapping[str, Told]) -> Iterator[Check]:
    """The list of runs, each run's part in it, and that no two were made at one time."""
    plan = order_of(
        campaign["stages"],
        [Variant.of(told) for told in campaign["variants"]],
        int(campaign["repeat"]),
        int(campaign["settings"]["seed"]),
    )
    listed = campaign["runs"]
    planned = [
        {"path": p.path, "stage": p.stage, **p.variant.to_json(), "repetition": p.repetition}
        for p in plan
    ]
    yield Check("campaign.json runs, as planned: how many", len(listed), len(planned))
    for entry, due in zip(listed, planned, strict=False):
        told = {key: entry.get(key) for key in due}
        yield Check(f"campaign.json runs, as planned: {due['path']}", told, due)
    command = campaign.get("command") or []
    yield Check("campaign.json verb, as commanded", command[1:2], [campaign.get("verb")])
    before_ms = 0.0
    for each, entry in zip(plan, listed, strict=False):
        name = each.path.removeprefix("runs/")
        run = runs.get(name)
        if run:
            yield from _part(each, entry, campaign, run)
            evidence = _conditions(RunFolder(folder.path / each.path))
            yield from _window(name, run, evidence)
            began_ms = float(evidence.get("first_due_ms") or before_ms)
            says = f"began at {began_ms:.0f}, the one before ended at {before_ms:.0f}"
            later = began_ms >= before_ms
            yield Check(f"{name} made after the others", "later", says, agrees=later)
            before_ms = max(before_ms, _end_ms(began_ms, evidence))


def _part(planned: Planned, entry: Told, campaign: Told, run: Told) -> Iterator[Check]:
    """The run is the one that the plan means, made with the campaign's settings."""
    name = planned.path.removeprefix("runs/")
    attempts = 1 + sum(planned.path in t.get("runs", ()) for t in campaign["interruptions"])
    wanted = planned.run_id(str(campaign["campaign_id"]), attempts)
    yield Check(f"{name} run_id", run.get("run_id"), wanted)
    yield Check(f"{name} stage, as planned", run.get("stage"), planned.stage)
    yield Check(f"{name} variant, as planned", Variant.of(run).to_json(), planned.variant.to_json())
    ended = entry.get("ended")
    fine = ended in _ENDED[run.get("valid") is True]
    yield Check(f"{name} ended", ended, f"valid is {run.get('valid')}", agrees=fine)
    common = dict(campaign["settings"])
    own = {**run["settings"], "workload": run.get("workload"), "runtime": run.get("runtime")}
    engine = own.pop("engine")
    for key in sorted(common.keys() | own.keys()):
        yield Check(f"{name} setting {key}", own.get(key), common.get(key))
    variant = next(v for v in campaign["variants"] if Variant.of(v) == planned.variant)
    yield Check(f"{name} engine's settings", engine, variant["settings"])
    yield Check(f"{name} engine_version", run.get("engine_version"), variant["engine_version"])


def _conditions(run: RunFolder) -> dict[str, Any]:
    found = read_json(run.conditions) if run.conditions.is_file() else {}
    return found if isinstance(found, dict) else {}


def _window(name: str, run: Told, evidence: Told) -> Iterator[Check]:
    """What is measured follows from the settings, not from what was seen in it."""
    window, ready = evidence.get("window"), evidence.get("ready")
    if not window:
        return
    try:
        settings = RunSettings.from_json(dict(run))
    except TollgateError as error:
        yield Check(f"{name} settings", "possible", str(error))
        return
    length = window["last_slot"] - window["first_slot"] + 1
    yield Check(f"{name} window, slots", length, settings.duration_slots)
    began = window["first_slot"] - settings.warmup_slots - 1
    yield Check(f"{name} window, ready in slot", began, ready["slot"] if ready else None)
    if run.get("valid") is not True:
        return  # whatever ended it may have ended the publisher sooner
    fed = (evidence.get("last_slot") or 0) - window["last_slot"]
    # asked to stop amid a slot the publisher ends it; on a busy machine it may hear that later
    late = math.ceil(LATE_S_MAX / settings.slot_s)
    says = f"{fed} slots were fed after the window"
    fine = settings.cooldown_slots <= fed <= settings.cooldown_slots + late
    yield Check(f"{name} cool-down, slots", settings.cooldown_slots, says, agrees=fine)


def _end_ms(began_ms: float, evidence: Told) -> float:
    slots = (evidence.get("last_slot") or -1) + 1
    return began_ms + slots * float(evidence.get("slot_ms") or 0.0)
