"""Sum up a campaign: figures, prices, effects and claims from its runs, hashes of its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contract.doubts import RUNS_MIN, Doubt
from contract.results import CampaignFolder, read_json, sha256_of, write_json
from contract.variant import Variant, name_among
from evaluator.claims import claims
from evaluator.comparisons import effects, figures, prices
from evaluator.contest import contests, is_contest
from evaluator.estimates import Samples, samples_of


def finish_campaign(campaign_dir: Path) -> tuple[bool, Path]:
    """Write campaign.json, then the report; gives whether all is valid, and the report."""
    from evaluator.report import write_report

    valid = bool(write_campaign(campaign_dir)["valid"])
    return valid, write_report(campaign_dir)


def write_campaign(campaign_dir: Path) -> dict[str, Any]:
    """Write campaign.json from the conductor's conditions and the runs."""
    folder = CampaignFolder(campaign_dir)
    told = read_json(folder.conditions)
    value = {**told, **judged(told, samples_of(folder, told)), "files": _hashes(folder)}
    write_json(folder.campaign_json, value)
    return value


def judged(told: dict[str, Any], samples: Samples) -> dict[str, Any]:
    """What follows from the runs: the same from the same files, whoever asks."""
    return {
        "valid": is_valid(told, samples),
        "figures": figures(samples),
        "prices": prices(samples),
        "effects": effects(samples),
        "contests": contests(samples, told) if is_contest(told) else [],
        "claims": claims(samples, told["settings"]["workload"]) if tests_claims(told) else [],
        "doubts": [doubt.to_json() for doubt in _doubts(told, samples)],
    }


def is_valid(told: dict[str, Any], samples: Samples) -> bool:
    """Whether all that was planned was run, and nothing of it is to be doubted."""
    whole = len(samples.runs) == len(told["runs"]) and bool(told["complete"])
    return whole and bool(samples.runs) and all(run.valid for run in samples.runs)


def tests_claims(told: dict[str, Any]) -> bool:
    """Only a reproduction is planned so that claims can be tested."""
    return bool(told["verb"] == "reproduce")


def _doubts(told: dict[str, Any], samples: Samples) -> list[Doubt]:
    """A price that nobody asked for (ALONE=1) is lacking to nobody."""
    if len(told["stages"]) < 2 and not is_contest(told):
        return []
    planned = [Variant.of(variant) for variant in told["variants"]]
    few = [
        f"{f'{stage} {name_among(variant, planned)}'.rstrip()} ({count})"
        for variant in samples.variants
        for stage in samples.stages(variant)
        if (count := len(samples.valid(variant, stage))) < RUNS_MIN
    ]
    if not few:
        return []
    every = len(few) == sum(len(samples.stages(variant)) for variant in samples.variants)
    which = "each stage" if every and len(few) > 2 else ", ".join(few)
    what = "comparison" if is_contest(told) else "price"
    says = (
        f"Fewer than {RUNS_MIN} valid runs of {which}: no {what} that they are part of has a "
        f"verdict."
    )
    return [Doubt("few-runs", says)]


def _hashes(folder: CampaignFolder) -> dict[str, str]:
    """Of everything but campaign.json and the report, and but unfinished drafts."""
    left_out = {folder.campaign_json, folder.report}
    files = sorted(p for p in folder.path.rglob("*") if p.is_file() and not p.is_symlink())
    return {
        str(p.relative_to(folder.path)): sha256_of(p)
        for p in files
        if p not in left_out and not p.name.startswith(".")
    }
