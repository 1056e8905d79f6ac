"""A small campaign with its topics, judged by the evaluator as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contract.results import SCHEMA, read_json, write_json
from contract.sources import own_sources_sha256
from evaluator.campaign import finish_campaign
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop
from evaluator.report import write_report
from tests.unit.evaluator.campaigns import seal
from tests.unit.evaluator.synthetic import make_campaign_conditions, make_run

VARIANT = {"engine": "synthetic", "mode": "real-time", "dialect": "eager"}
PINS = {
    "tollgate": "0.1.0",
    "sources_sha256": own_sources_sha256(),
    "git_commit": "ab" * 20,
    "git_dirty": False,
    "requirements_lock_sha256": "ab" * 32,
    "artifacts_lock_sha256": "cd" * 32,
    "packages": {"numpy": "2.4.6"},
}


def make_judged_campaign(root: Path, **asked: Any) -> Path:
    """Parse and join, once each, in `root/c`; the topics in `root/store/c`."""
    folders = []
    for number, stage in enumerate(("parse", "join"), 1):
        plan = {"slots": 24, "locations": 6, **asked}
        folder, store = make_run(root, stage=stage, number=number, **plan)
        evaluate_run(Hadoop(), folder, store, "c", collecting=False)
        folders.append(folder)
    campaign = make_campaign_conditions(root, folders)
    told = read_json(campaign / "conditions.json")
    told |= {"schema": SCHEMA, "verb": "bench", "pins": PINS}
    settings = read_json(folders[0] / "run.json")["settings"]
    own = {key: value for key, value in settings.items() if key != "engine"}
    told["settings"] = {**own, "workload": "traffic", "runtime": "embedded"}
    told["variants"] = [{**VARIANT, "engine_version": "0", "settings": {}}]
    told["runs"] = [{**run, **VARIANT} for run in told["runs"]]
    write_json(campaign / "conditions.json", told)
    finish_campaign(campaign)
    return campaign


def retold(folder: Path, **changes: Any) -> Path:
    """The campaign with other words in it, as if the conductor had written them."""
    for name in ("conditions.json", "campaign.json"):
        write_json(folder / name, read_json(folder / name) | changes)
    campaign = read_json(folder / "campaign.json")
    seal(folder, {key: value for key, value in campaign.items() if key != "files"})
    write_report(folder)
    return folder
