"""Sum up a campaign: figures and prices from its runs, hashes of its files, campaign.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from contract.doubts import RUNS_MIN, Doubt
from contract.results import (
    ATTRIBUTIONS,
    CampaignFolder,
    RunFolder,
    read_json,
    sha256_of,
    write_json,
)
from contract.workload import load_workload
from evaluator.evidence import FloatArray, IntArray
from evaluator.latency import INPUT_OF
from evaluator.prices import Estimate, Histogram, estimate, price

_SEED = 20180701
_BATCH_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of the campaign that left a run.json."""

    folder: RunFolder
    workload: str
    stage: str
    valid: bool
    #: attribution → median
    p50_ms: dict[str, float | None]


def finish_campaign(campaign_dir: Path) -> tuple[bool, Path]:
    """Write campaign.json, then the report; gives whether all is valid, and the report."""
    from evaluator.report import write_report

    valid = bool(write_campaign(campaign_dir)["valid"])
    return valid, write_report(campaign_dir)


def write_campaign(campaign_dir: Path) -> dict[str, Any]:
    """Write campaign.json from the conductor's conditions and the runs."""
    folder = CampaignFolder(campaign_dir)
    told = read_json(folder.conditions)
    runs = ended_runs(folder)
    rng = np.random.default_rng(_SEED)
    estimates = _estimates(runs, rng)
    whole = len(runs) == len(told["runs"]) and bool(told["complete"])
    value = {
        **told,
        "valid": whole and bool(runs) and all(run.valid for run in runs),
        "figures": _figures(runs, estimates),
        "prices": _prices(runs, estimates),
        "doubts": [doubt.to_json() for doubt in _doubts(runs)],
        "files": _hashes(folder),
    }
    write_json(folder.campaign_json, value)
    return value


def ended_runs(folder: CampaignFolder) -> list[EndedRun]:
    """The runs that left a run.json, in their order."""
    found = []
    for run in folder.runs():
        if run.run_json.exists():
            told = read_json(run.run_json)
            p50_ms = {name: told["latency_ms"][name]["p50"] for name in ATTRIBUTIONS}
            valid = bool(told["valid"])
            found.append(EndedRun(run, told["workload"], told["stage"], valid, p50_ms))
    return found


def _counting(runs: list[EndedRun], stage: str) -> list[EndedRun]:
    """The runs that a stage's figure is taken from: the valid ones where there are any."""
    of_stage = [run for run in runs if run.stage == stage]
    return [run for run in of_stage if run.valid] or of_stage


def _estimates(runs: list[EndedRun], rng: np.random.Generator) -> dict[tuple[str, str], Estimate]:
    found = {}
    for stage in dict.fromkeys(run.stage for run in runs):
        for attribution in ATTRIBUTIONS:
            histograms, medians_ms = [], []
            for run in _counting(runs, stage):
                histogram = Histogram.of(_latencies(run.folder, attribution))
                p50_ms = run.p50_ms[attribution]
                if histogram is not None and p50_ms is not None:
                    histograms.append(histogram)
                    medians_ms.append(p50_ms)
            if histograms:
                found[stage, attribution] = estimate(histograms, medians_ms, rng)
    return found


def _latencies(run: RunFolder, attribution: str) -> Iterator[tuple[IntArray, FloatArray]]:
    columns = ["slot", "output_ms", INPUT_OF[attribution]]
    if not run.latency.exists():
        return
    for batch in pq.ParquetFile(run.latency).iter_batches(_BATCH_ROWS, columns=columns):
        since_ms = batch[columns[2]].cast("float64").to_numpy(zero_copy_only=False)
        yield batch["slot"].to_numpy().astype(np.int64), batch["output_ms"].to_numpy() - since_ms


def _figures(
    runs: list[EndedRun], estimates: dict[tuple[str, str], Estimate]
) -> list[dict[str, Any]]:
    return [
        {
            "stage": stage,
            "runs": sum(run.stage == stage for run in runs),
            "valid_runs": sum(run.stage == stage and run.valid for run in runs),
            "attribution": attribution,
            "p50_ms": found.p50_ms,
            "low_ms": found.low_ms,
            "high_ms": found.high_ms,
            "method": found.method,
        }
        for (stage, attribution), found in estimates.items()
    ]


def _prices(
    runs: list[EndedRun], estimates: dict[tuple[str, str], Estimate]
) -> list[dict[str, Any]]:
    """Of each stage whose predecessor was run too, both with valid runs."""
    valid = {run.stage for run in runs if run.valid}
    workloads = {run.stage: load_workload(run.workload) for run in runs}
    found = []
    for (stage, attribution), own in estimates.items():
        predecessor = workloads[stage].stage(stage).predecessor
        before = estimates.get((predecessor or "", attribution))
        if before is None or not {stage, predecessor} <= valid:
            continue
        told = price(own, before)
        found.append(
            {
                "stage": stage,
                "predecessor": predecessor,
                "attribution": attribution,
                "price_ms": told.price_ms,
                "low_ms": told.low_ms,
                "high_ms": told.high_ms,
                "method": told.method,
                "verdict": told.verdict,
            }
        )
    return found


def _doubts(runs: list[EndedRun]) -> list[Doubt]:
    counts = {run.stage: 0 for run in runs}
    for run in runs:
        counts[run.stage] += run.valid
    few = [f"{stage} ({count})" for stage, count in counts.items() if count < RUNS_MIN]
    if not few:
        return []
    says = (
        f"Fewer than {RUNS_MIN} valid runs of {', '.join(few)}: "
        "no price that they are part of has a verdict."
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
