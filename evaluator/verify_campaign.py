"""Check a campaign's medians, prices and verdicts against the figures of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.doubts import RUNS_MIN
from contract.results import ATTRIBUTIONS, SCHEMA, CampaignFolder, read_json
from contract.workload import load_workload
from evaluator.quantities import median_of
from evaluator.verify_parts import Check, compare

Run = dict[str, Any]


def check_campaign(
    folder: CampaignFolder, campaign: dict[str, Any], runs: dict[str, Run]
) -> Iterator[Check]:
    """Medians of stages, prices, and what the campaign says of itself."""
    yield Check("campaign.json schema", campaign.get("schema"), SCHEMA)
    yield from _conditions(folder, campaign)
    of_stage: dict[str, list[Run]] = {}
    for run in runs.values():
        if run:
            of_stage.setdefault(str(run.get("stage")), []).append(run)
    medians: dict[tuple[str, str], float | None] = {}
    for figure in campaign.get("figures") or []:
        yield from _figure(figure, of_stage.get(str(figure.get("stage")), []), medians)
    for price in campaign.get("prices") or []:
        yield from _price(price, medians, of_stage)
    yield from _all_there(campaign, of_stage)
    grave = [d for d in campaign.get("doubts") or [] if d.get("severity") == "invalid"]
    left = [run for run in runs.values() if run]
    whole = len(left) == len(campaign.get("runs") or []) and campaign.get("complete") is True
    all_valid = bool(left) and all(run.get("valid") is True for run in left)
    yield Check("campaign.json valid", campaign.get("valid"), whole and all_valid and not grave)


def _conditions(folder: CampaignFolder, campaign: dict[str, Any]) -> Iterator[Check]:
    """What the conductor wrote down stands unchanged in campaign.json."""
    if not folder.conditions.is_file():
        yield Check("conditions.json", "there", "missing")
        return
    try:
        conditions = dict(read_json(folder.conditions))
    except (ValueError, TypeError) as error:
        yield Check("conditions.json", "readable", str(error).splitlines()[0])
        return
    for key, value in conditions.items():
        same = campaign.get(key) == value
        yield Check(f"campaign.json {key}", "otherwise", "in conditions.json", agrees=same)
    listed = {Path(str(r.get("path"))).name for r in campaign.get("runs") or []}
    unlisted = sorted({r.path.name for r in folder.runs()} - listed)
    yield Check("campaign.json runs, folders not listed", [], unlisted)


def _figure(
    figure: dict[str, Any], runs: list[Run], medians: dict[tuple[str, str], float | None]
) -> Iterator[Check]:
    """A stage's median: of its valid run, or the median of its valid runs' medians."""
    stage, attribution = str(figure.get("stage")), str(figure.get("attribution"))
    where = f"campaign.json figures {stage} {attribution}"
    valid = _valid(runs)
    yield Check(f"{where} runs", figure.get("runs"), len(runs))
    yield Check(f"{where} valid_runs", figure.get("valid_runs"), len(valid))
    told, found = figure.get("p50_ms"), _median(valid or runs, attribution)
    medians[stage, attribution] = told
    yield compare(f"{where} p50_ms", told, found)
    yield _ordered(where, figure.get("low_ms"), figure.get("high_ms"))


def _price(
    price: dict[str, Any],
    medians: dict[tuple[str, str], float | None],
    of_stage: dict[str, list[Run]],
) -> Iterator[Check]:
    """A difference of two medians, and the verdict that its interval allows."""
    stage, before = str(price.get("stage")), str(price.get("predecessor"))
    where = f"campaign.json prices {stage} {price.get('attribution')}"
    own, other = (medians.get((n, str(price.get("attribution")))) for n in (stage, before))
    found = None if own is None or other is None else own - other
    yield compare(f"{where} price_ms", price.get("price_ms"), found)
    low, high = price.get("low_ms"), price.get("high_ms")
    yield _ordered(where, low, high)
    fewest = min(len(_valid(of_stage.get(name, []))) for name in (stage, before))
    yield Check(f"{where} verdict", price.get("verdict"), _verdict(fewest, low, high))


def _all_there(campaign: dict[str, Any], of_stage: dict[str, list[Run]]) -> Iterator[Check]:
    """No figure, price or doubt was left out."""
    known = {
        (stage, attribution)
        for stage, runs in of_stage.items()
        for attribution in ATTRIBUTIONS
        if _median(_valid(runs) or runs, attribution) is not None
    }
    told = {(f.get("stage"), f.get("attribution")) for f in campaign.get("figures") or []}
    yield Check("campaign.json figures, left out", [], sorted(known - told))
    priced = {
        (stage, attribution)
        for stage, attribution in known
        if (before := _predecessor(of_stage[stage][0])) is not None
        and (before, attribution) in known
        and _valid(of_stage[stage])
        and _valid(of_stage[before])
    }
    told = {(p.get("stage"), p.get("attribution")) for p in campaign.get("prices") or []}
    yield Check("campaign.json prices, left out", [], sorted(priced - told))
    few = sorted(s for s, runs in of_stage.items() if len(_valid(runs)) < RUNS_MIN)
    said = any(d.get("id") == "few-runs" for d in campaign.get("doubts") or [])
    yield Check("campaign.json doubt few-runs", "nothing", few, agrees=said or not few)


def _predecessor(run: Run) -> str | None:
    return load_workload(str(run.get("workload"))).stage(str(run.get("stage"))).predecessor


def _valid(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run.get("valid") is True]


def _median(runs: list[Run], attribution: str) -> float | None:
    blocks = [(run.get("latency_ms") or {}).get(attribution) or {} for run in runs]
    return median_of(block.get("p50") for block in blocks)


def _verdict(valid_runs: int, low_ms: float | None, high_ms: float | None) -> str:
    if valid_runs < RUNS_MIN:
        return "too-few-runs"
    if low_ms is not None and low_ms > 0:
        return "costs"
    return "saves" if high_ms is not None and high_ms < 0 else "cannot-be-told"


def _ordered(where: str, low_ms: float | None, high_ms: float | None) -> Check:
    fine = low_ms is high_ms if low_ms is None or high_ms is None else low_ms <= high_ms
    return Check(f"{where} interval", f"{low_ms} to {high_ms}", "no interval", agrees=fine)
