"""The sections of a reproduction's report, between its claims and what every report ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract.claims import Paper
from contract.results import PARTS
from evaluator.report import figures, run_by_run
from evaluator.report.chart_boxes import Box, boxes, scale_of
from evaluator.report.chart_parts import Parts, parts_chart
from evaluator.report.chart_repeats import Repeats, repeats
from evaluator.report.chart_rows import prices
from evaluator.report.claims import papers_of
from evaluator.report.figures import figure
from evaluator.report.markup import Html, el, text
from evaluator.report.material import Campaign, StageView
from evaluator.report.plot import HALF
from evaluator.report.table import data_table, td, th
from evaluator.report.words import (
    NBSP,
    dig,
    interval,
    number,
    rows_of,
    signed_ms,
)

QUANTILES = ("p5", "p25", "p50", "p75", "p95")
EFFECT_VERDICTS = {
    "slower": "slower",
    "faster": "faster",
    "cannot-be-told": "cannot be told from zero",
    "too-few-runs": "too few runs",
}


Panels = list[tuple[str, Html]]


def panels(campaign: Campaign, draw: Callable[[Campaign], Html | None]) -> Panels:
    """A chart for each variant that there is one of, with its name."""
    drawn = ((part.name, draw(part)) for part in campaign.parts)
    return [(name, chart) for name, chart in drawn if chart is not None]


def side_by_side(drawn: Panels) -> Html:
    """Charts as figures."""
    return el("div", *[figure(chart, el("b", name)) for name, chart in drawn], class_="grid two")


#: what a picture without its page must say of itself
PAPER_KEY = (
    "line: median; box: middle half; whiskers: 5th to 95th percentile; "
    "diamonds: the paper's medians"
)
PARTS_KEY = (
    "grey: until the last input is there; amber: until the window may close; "
    "violet: what the engine added"
)
PRICES_KEY = "differences of medians (last) with 95 % intervals"
REPEATS_KEY = "a dot a run; hollow: invalid"


def pictures(campaign: Campaign) -> list[tuple[str, str, Panels]]:
    """The charts that stand for themselves, with their key, as pictures of their own."""
    beside = [_paper_panels(campaign, paper) for paper in papers_of(campaign)]
    named = [
        ("beside-the-paper", PAPER_KEY, [panel for drawn in beside for panel in drawn]),
        ("waiting-and-work", PARTS_KEY, panels(campaign, _parts_of)),
        ("prices", PRICES_KEY, panels(campaign, _prices_of)),
        ("repeatability", REPEATS_KEY, panels(campaign, _repeats_of)),
    ]
    return [each for each in named if each[2]]


def paper_section(campaign: Campaign) -> list[Html]:
    """Latency by stage as the paper draws it, with the paper's own medians in it."""
    return [part for paper in papers_of(campaign) for part in _beside(campaign, paper)]


def _paper_panels(campaign: Campaign, paper: Paper) -> Panels:
    ours = [(part, _boxes(part, paper)) for part in campaign.parts]
    scale = scale_of([row for _, rows in ours for row in rows])
    return [
        (
            part.name,
            boxes(rows, scale, HALF, f"{part.key}boxes", f"Latency by stage, {part.name}"),
        )
        for part, rows in ours
        if rows
    ]


def _beside(campaign: Campaign, paper: Paper) -> list[Html]:
    return [
        side_by_side(_paper_panels(campaign, paper)),
        el(
            "p",
            text(
                "Latency of the pipeline up to and including each stage. Line and figure: median; "
                "box: middle half; whiskers: 5th to 95th percentile; each the mean over valid "
                "runs. "
            ),
            el("b", "Diamonds: the paper's medians"),
            text(f" ({', '.join(f'{v:g}' for v in paper.p50_ms.values())} ms; {paper.system}). "),
            text(
                "Another machine and rate, another engine or version of it: compare the shape of "
                "the staircase, not single bars. The axis is logarithmic and the same in all "
                "panels."
            ),
            class_="note",
        ),
    ]


def _boxes(part: Campaign, paper: Paper) -> list[Box]:
    found = []
    for stage in part.stages:
        told = {
            q: _mean(view.figure(paper.attribution, q) for view in stage.shown_runs)
            for q in QUANTILES
        }
        if told["p50"] is not None:
            found.append(
                Box(
                    stage.name,
                    stage.rank,
                    told["p50"],
                    told["p5"],
                    told["p25"],
                    told["p75"],
                    told["p95"],
                    paper.p50_ms.get(stage.name),
                    stage.trusted,
                )
            )
    return found


def _mean(values: Any) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def parts_section(campaign: Campaign) -> list[Html]:
    """How much of a latency is waiting that its definition demands, how much the engine added."""
    legend = [
        (f"part-{name}", words)
        for name, words in zip(
            PARTS,
            (
                "gathering: until the last input is there",
                "residence: until the window may close",
                "engine: what the engine added",
            ),
            strict=True,
        )
    ]
    swatches = [
        el("span", el("span", class_=f"swatch {look}", aria_hidden="true"), words, class_="key")
        for look, words in legend
    ]
    return [
        el("p", *swatches, class_="legend"),
        side_by_side(panels(campaign, _parts_of)),
        el(
            "p",
            "Averages, for these add up to that of the latency (mean); medians do not. A window "
            "may close when the first record of a later slot has been appended: no engine can "
            "know sooner that it is complete, and with several partitions it knows a little later. "
            "Each panel has an axis of its own.",
            class_="note",
        ),
    ]


def _parts_of(part: Campaign) -> Html | None:
    rows = []
    for stage in part.stages:
        told = [_mean(view.figure(name, "avg") for view in stage.shown_runs) for name in PARTS]
        if all(v is not None for v in told):
            gathering, residence, engine = (v or 0.0 for v in told)
            rows.append(Parts(stage.name, gathering, residence, engine, stage.trusted))
    if not rows:
        return None
    title = f"What latency is made of, {part.name}"
    return parts_chart(rows, HALF, f"{part.key}parts", title)


def effects_section(campaign: Campaign) -> list[Html]:
    """Execution and dialect told apart, each at the other held fast."""
    rows_told = [e for e in rows_of(campaign.json.get("effects")) if e.get("attribution") == "mean"]
    kinds = list(dict.fromkeys(_effect_name(e) for e in rows_told))
    if not kinds:
        says = (
            "No two of the modes and dialects that were run differ in one of the two alone, with "
            "valid runs of both: execution and dialect cannot be told apart here (the full "
            "reproduction, without QUICK=1, runs what it takes)."
        )
        return [el("p", says, class_="note")]
    stages = list(dict.fromkeys(str(e.get("stage")) for e in rows_told))
    stages.sort(key=_rank(campaign))
    head = [el("tr", th("stage", class_="name"), *[th(kind) for kind in kinds])]
    rows = []
    for stage in stages:
        cells = []
        for kind in kinds:
            told = next(
                (e for e in rows_told if e.get("stage") == stage and _effect_name(e) == kind), {}
            )
            cells.append(td(_effect(told)))
        rows.append(el("tr", th(stage, "row", class_="name"), *cells))
    caption = (
        f"Difference of the medians (mean) up to each stage, in ms, 95{NBSP}% interval: what "
        "another execution adds at the same dialect, and what waiting for windows adds at the "
        "same execution."
    )
    return [data_table(caption, head, rows)]


def _rank(campaign: Campaign) -> Callable[[str], int]:
    ranks = {s.name: s.rank for part in campaign.parts for s in part.stages}
    return lambda name: ranks.get(name, len(ranks))


def _effect_name(effect: dict[str, Any]) -> str:
    before, after = effect.get("from"), effect.get("to")
    names = [f"{dig(v, 'mode')} {dig(v, 'dialect')}" for v in (before, after)]
    return f"{effect.get('of')}: {names[0]} → {names[1]}"


def _effect(told: dict[str, Any]) -> str:
    value = number(told.get("difference_ms"))
    if value is None:
        return "–"
    span = interval(number(told.get("low_ms")), number(told.get("high_ms")))
    verdict = EFFECT_VERDICTS.get(str(told.get("verdict")), "")
    return f"{signed_ms(value)} ({span}), {verdict}"


def prices_section(campaign: Campaign) -> list[Html]:
    """What each stage adds, variant by variant."""
    return [
        side_by_side(panels(campaign, _prices_of)),
        el(
            "p",
            f"Dots with 95{NBSP}% intervals over independent runs (of single runs: over their "
            "slots, and no verdict); a hollow dot is the whole "
            "latency of the first stage. Each panel has an axis of its own. A price whose interval "
            "holds nought cannot be told from zero.",
            class_="note",
        ),
    ]


def _prices_of(part: Campaign) -> Html | None:
    rows = figures.our_prices(part)
    says = "ms added at the median (last)"
    title = f"Price of each stage, {part.name}"
    return prices(rows, HALF, f"{part.key}price", title, says) if rows else None


def repeats_section(campaign: Campaign) -> list[Html]:
    """How far repetitions of the same run agree."""
    several = int(number(campaign.json.get("repeat")) or 1) > 1
    note = (
        f"A dot a run (hollow: invalid, left out of every figure); {campaign.brokers_of}, and "
        "within each the order was shuffled."
        if several
        else "One run each: how far repetitions agree cannot be seen."
    )
    return [side_by_side(panels(campaign, _repeats_of)), el("p", note, class_="note")]


def _repeats_of(part: Campaign) -> Html | None:
    rows = [r for r in map(_repeats, part.stages) if r.medians_ms]
    title = f"Medians of the runs, {part.name}"
    return repeats(rows, HALF, f"{part.key}repeats", title) if rows else None


def _repeats(stage: StageView) -> Repeats:
    known = [
        (v, view.valid) for view in stage.runs if (v := view.figure("last", "p50")) is not None
    ]
    return Repeats(
        stage.name, stage.rank, tuple(v for v, _ in known), tuple(fine for _, fine in known)
    )


def sections(campaign: Campaign) -> list[tuple[str, str, list[Html]]]:
    """All of them, in the order in which a reviewer asks."""
    return [
        ("paper", "Beside the paper", paper_section(campaign)),
        ("parts", "Waiting and work", parts_section(campaign)),
        ("effects", "Execution and dialect", effects_section(campaign)),
        ("prices", "Prices", prices_section(campaign)),
        ("repeats", "Repeatability", repeats_section(campaign)),
        ("details", "Run by run", run_by_run.details_section(campaign)),
    ]
