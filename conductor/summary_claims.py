"""What a reviewer reads after a reproduction: verdicts on claims, then what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from conductor.summary_doubts import doubts_counted
from conductor.text_table import aligned
from contract.claims import VERDICT_WORDS, Paper, papers_on, verdict_words
from contract.results import CampaignFolder
from contract.variant import Variant


def claims_lines(campaign: dict[str, Any], folder: CampaignFolder) -> list[str]:
    """Verdicts, figures, what is to be doubted."""
    few = " (preliminary: too few runs for more)" * bool(campaign["preliminary"])
    lines = [f"{campaign['question']}{few}", "", *_tally(campaign), ""]
    for paper in papers_on(campaign["settings"]["workload"]):
        lines += [f"{paper.authors}: {paper.title}, {paper.year}", f"({paper.system})", ""]
        for claim in paper.claims:
            told = [c for c in campaign["claims"] if c["claim"] == claim.id]
            lines += [f"  {claim.says}  Paper: {claim.figure}", *_verdicts(told), ""]
        lines += [*_table(campaign, paper), ""]
    return [*lines, *doubts_counted(campaign, folder)]


def _tally(campaign: dict[str, Any]) -> Iterator[str]:
    """How many statements hold, a line a variant."""
    variants = [Variant.of(told) for told in campaign["variants"]]
    width = max(len(variant.execution) for variant in variants)
    for variant in variants:
        count = Counter(c["verdict"] for c in campaign["claims"] if Variant.of(c) == variant)
        few = bool(campaign["preliminary"])
        said = [f"{verdict_words(v, preliminary=few)} {count[v]}" for v in VERDICT_WORDS]
        yield f"  {variant.execution:{width}}  {', '.join(said)}"


def _verdicts(told: list[dict[str, Any]]) -> Iterator[str]:
    """A line a variant; what is the same for all is said once."""
    if not told:
        return
    if len({(c["verdict"], c["says"]) for c in told}) == 1 and told[0]["verdict"] == "not-testable":
        yield f"    {VERDICT_WORDS['not-testable']}: {told[0]['says']}"
        return
    names = [Variant.of(claim).execution for claim in told]
    for claim, name in zip(told, names, strict=True):
        verdict = verdict_words(claim["verdict"], preliminary=claim["preliminary"])
        yield f"    {name:{max(map(len, names))}}  {verdict:17}  {ours(claim)}".rstrip()


def ours(claim: dict[str, Any]) -> str:
    """The figure that is set beside the paper's; of several stages each."""
    unit = {"ms": " ms", "times": " times"}.get(claim["unit"] or "", "")
    if claim["unit"] == "times" and claim["value"] is None:
        return str(claim["says"])
    if claim["value"] is not None:
        span = ""
        if claim["low"] is not None and claim["high"] is not None:
            span = f" ({_number(claim['low'])} to {_number(claim['high'])})"
        return f"{_number(claim['value'])}{span}{unit}"
    if claim["by_stage"]:
        return ", ".join(_number(each["value"]) for each in claim["by_stage"]) + unit
    return str(claim["says"])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.1f}"


def _table(campaign: dict[str, Any], paper: Paper) -> list[str]:
    """The cumulative medians, a line a stage and a column a variant, the paper's beside them."""
    variants = [Variant.of(told) for told in campaign["variants"]]
    figures = {(Variant.of(f), f["stage"], f["attribution"]): f for f in campaign["figures"]}
    rows = [["stage", "paper", *(variant.execution for variant in variants)]]
    for stage, paper_ms in paper.p50_ms.items():
        row = [stage, _number(paper_ms)]
        for variant in variants:
            figure = figures.get((variant, stage, paper.attribution))
            row.append(_cell(figure) if figure else "–")
        rows.append(row)
    lines = aligned(rows, left=(0,))
    note = "medians up to and including each stage in ms, from the mean append time of the inputs"
    return [*lines, f"({note}; 95 % interval; valid runs)"]


def _cell(figure: dict[str, Any]) -> str:
    span = f"{_number(figure['low_ms'])} to {_number(figure['high_ms'])}"
    return f"{_number(figure['p50_ms'])} ({span}; {figure['valid_runs']} of {figure['runs']})"
