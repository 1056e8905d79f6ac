"""Check what a campaign tells of its runs: all of it again, and intervals by other means too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.results import CampaignFolder, read_json
from contract.variant import Variant
from evaluator.campaign import judged
from evaluator.estimates import samples_of
from evaluator.verify_intervals import interval
from evaluator.verify_parts import Check, compare

Run = dict[str, Any]
Rows = list[dict[str, Any]]
#: what a row of each list is told apart by
_KEYS = {
    "figures": ("engine", "mode", "dialect", "stage", "attribution"),
    "prices": ("engine", "mode", "dialect", "stage", "attribution"),
    "contests": ("a", "b"),
    "effects": ("of", "from", "to", "stage", "attribution"),
    "claims": ("paper", "claim", "engine", "mode", "dialect"),
    "doubts": ("id",),
}
#: intervals by other means agree to this: theirs are summed on a grid
_RELATIVE = 1e-4


def check_campaign(
    folder: CampaignFolder, campaign: dict[str, Any], runs: dict[str, Run]
) -> Iterator[Check]:
    """Figures, prices, effects, claims, and what the campaign says of itself."""
    yield from _conditions(folder, campaign)
    try:
        found = judged(campaign, samples_of(folder, campaign))
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        # a file that was cut or changed may be wrong in any way
        says = next(iter(str(error).splitlines()), type(error).__name__)
        yield Check("campaign.json, judged again", "possible", says)
        return
    yield Check("campaign.json valid", campaign.get("valid"), found["valid"])
    for name, keys in _KEYS.items():
        yield from _rows(f"campaign.json {name}", campaign.get(name) or [], found[name], keys)
    yield from _otherwise(campaign, runs)


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


def _rows(where: str, told: Rows, found: Rows, keys: tuple[str, ...]) -> Iterator[Check]:
    """Row by row, leaf by leaf; none left out, none added."""
    told_by = {_name(row, keys): row for row in told}
    found_by = {_name(row, keys): row for row in found}
    yield Check(f"{where}, left out", [], sorted(found_by.keys() - told_by.keys()))
    yield Check(f"{where}, added", [], sorted(told_by.keys() - found_by.keys()))
    for name in told_by.keys() & found_by.keys():
        yield from _leaves(f"{where} {name}", told_by[name], found_by[name])


def _name(row: dict[str, Any], keys: tuple[str, ...]) -> str:
    parts = (row.get(key) for key in keys)
    return " ".join(
        " ".join(map(str, p.values())) if isinstance(p, dict) else str(p) for p in parts
    )


def _leaves(where: str, told: Any, found: Any) -> Iterator[Check]:
    if isinstance(told, dict) and isinstance(found, dict):
        for key in sorted(told.keys() | found.keys()):
            yield from _leaves(f"{where} {key}", told.get(key), found.get(key))
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        for place, pair in enumerate(zip(told, found, strict=True)):
            yield from _leaves(f"{where} {place}", *pair)
    else:
        yield compare(where, told, found)


def _otherwise(campaign: dict[str, Any], runs: dict[str, Run]) -> Iterator[Check]:
    """What is told over several valid runs, from their run.json, by a second computation."""
    values: dict[tuple[Variant, str, str], list[float]] = {}
    for run in runs.values():
        if run.get("valid") is True:
            for measure, block in run["latency_ms"].items():
                if block and block.get("p50") is not None:
                    key = Variant.of(run), str(run["stage"]), str(measure)
                    values.setdefault(key, []).append(float(block["p50"]))
    for figure in campaign.get("figures") or []:
        key = Variant.of(figure), str(figure["stage"]), str(figure["attribution"])
        if len(values.get(key, [])) > 1:
            found = interval({"own": values[key]}, {"own": 1.0})
            yield from _ends(f"figures {figure['stage']} {key[2]}", figure, "p50_ms", found)
    for price in campaign.get("prices") or []:
        variant, measure = Variant.of(price), str(price["attribution"])
        own = values.get((variant, str(price["stage"]), measure), [])
        before = values.get((variant, str(price["predecessor"]), measure), [])
        if min(len(own), len(before)) > 1:
            found = interval({"own": own, "before": before}, {"own": 1.0, "before": -1.0})
            yield from _ends(f"prices {price['stage']} {measure}", price, "price_ms", found)
    for contest in campaign.get("contests") or []:
        a, b = Variant.of(contest["a"]), Variant.of(contest["b"])
        for stage, told in _medians(contest):
            of_a, of_b = (values.get((v, stage, str(told["of"])), []) for v in (a, b))
            if min(len(of_a), len(of_b)) > 1:
                found = interval({"b": of_b, "a": of_a}, {"b": 1.0, "a": -1.0})
                where = f"contests {b} {stage} {told['of']}"
                yield from _ends(where, told, "difference", found, ("low", "high"))


def _medians(contest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Stage and figure, of those that are medians."""
    for stage in contest["stages"]:
        for told in stage["figures"]:
            if told["statistic"] == "p50":
                yield str(stage["stage"]), told


def _ends(
    where: str,
    told: dict[str, Any],
    name: str,
    found: tuple[float, float, float],
    ends: tuple[str, str] = ("low_ms", "high_ms"),
) -> Iterator[Check]:
    size = max(abs(found[0]), found[2] - found[1])
    for key, value in zip((name, *ends), found, strict=True):
        near = abs(told[key] - value) <= _RELATIVE * size
        yield Check(f"campaign.json {where} {key}, otherwise", told[key], value, agrees=near)
