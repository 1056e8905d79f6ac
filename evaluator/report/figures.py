"""The sections that are charts: spread, time, prices, load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from contract.claims import Paper, papers_on
from evaluator.listing import listed
from evaluator.report import chart_spread, chart_time
from evaluator.report.answer import cumulative_of, price_of, price_trusted
from evaluator.report.chart_rows import Price, prices
from evaluator.report.chart_spread import Spread
from evaluator.report.chart_time import Course
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign
from evaluator.report.plot import HALF, NARROW, WIDE
from evaluator.report.scales import even_top
from evaluator.report.words import NBSP, dig, number, plural

#: with more runs than this, charts over time are drawn small
LARGE_RUNS = 4


def figure(drawn: Html, *caption: str) -> Html:
    """A chart with its caption."""
    return el("figure", drawn, el("figcaption", *caption))


def both(draw: Callable[[int, str], Html], key: str) -> Html:
    """A chart drawn twice: for a desk and for a phone."""
    wide, narrow = draw(WIDE, key), draw(NARROW, f"{key}-n")
    return join([el("div", wide, class_="for-desk"), el("div", narrow, class_="for-phone")])


def spread_section(campaign: Campaign) -> list[Html]:
    """How latencies are distributed in each stage."""
    spreads = _spreads(campaign)
    if not spreads:
        return [el("p", "No run left measured outputs to draw.", class_="note")]
    several = any(s.single_ms for s in spreads)
    thin = " Thin lines are single runs, thick ones all valid runs together." if several else ""
    struck = "" if all(s.trusted for s in spreads) else " Struck names: no valid run; drawn paler."
    return [
        figure(
            both(lambda w, k: chart_spread.cumulative(spreads, w, k), f"{campaign.key}cdf"),
            el("b", "Share of outputs that came within a time."),
            text(
                " Solid: all measured outputs. Dashed: without those in a stall. Dots mark "
                "medians. Append times are whole milliseconds, so steps of 1 ms at the left are "
                f"the clock's, and what is below 0.5{NBSP}ms stands at the edge.{thin}{struck}"
            ),
        ),
        figure(
            both(lambda w, k: chart_spread.tail(spreads, w, k), f"{campaign.key}tail"),
            el("b", "The same, seen from the tail."),
            text(
                " Each step to the right holds a tenth of the outputs of the one before. A line "
                "ends where fewer than ten samples lie beyond."
            ),
        ),
    ]


def _spreads(campaign: Campaign) -> list[Spread]:
    found = []
    for stage in campaign.stages:
        pooled = stage.pooled()
        if not len(pooled):
            continue
        several = len([r for r in stage.shown_runs if r.samples is not None]) > 1
        singles = [r.samples.last_ms for r in stage.shown_runs if r.samples and several]
        outside = stage.pooled(outside_stalls=True)
        found.append(
            Spread(
                stage.name,
                stage.rank,
                stage.trusted,
                pooled,
                outside if len(outside) else pooled,
                tuple(singles),
            )
        )
    return found


def time_section(courses: Sequence[Course], key: str = "") -> list[Html]:
    """Latency over time, run by run, on one latency axis."""
    empty = [c.title for c in courses if not np.isfinite(c.max_ms).any()]
    courses = [c for c in courses if np.isfinite(c.max_ms).any()]
    if not courses:
        return [el("p", "No run left slots to draw.", class_="note")]
    scale = chart_time.latency_range(courses)
    bins = 240 if len(courses) <= LARGE_RUNS else 120

    def draw(course: Course, width: int, key: str) -> Html:
        return chart_time.latency_course(course, scale, width, bins, key)

    stalls = [s for c in courses for s in c.stalls]
    periodic = [s for s in stalls if s.periodic]
    coarse = any(len(c.at_s) > bins for c in courses)
    merged = " Neighbouring slots share a point: median, widest band, largest." if coarse else ""
    marked = (
        f" {plural(len(stalls), 'stall')}, of which {len(periodic)} recur at the checkpoint "
        "interval (▾): times that agree, no more, for the engine is a black box."
        if stalls
        else " No stall was found."
    )
    caption = el(
        "p",
        el("b", "Latency of each slot"),
        text(
            ": line, median; band, 5 to 95 %; thin line, largest. Shaded: stalls, from the last "
            f"output before the gap until what piled up is worked off.{marked}{merged}"
        ),
    )
    none = f"Nothing was measured in {listed(empty)}." if empty else ""
    return [caption, per_run(courses, draw, f"{key}time"), el("p", none, class_="note")]


def load_section(courses: Sequence[Course], key: str = "") -> list[Html]:
    """Throughput and backlog, run by run."""
    if not courses:
        return [el("p", "No run left slots to draw.", class_="note")]
    courses = [c for c in courses if np.nansum(c.appended_per_s) > 0]
    few = len(courses) <= LARGE_RUNS
    width, bins = (HALF, 160) if few else (NARROW, 90)
    cells = []
    for place, course in enumerate(courses):
        pair = [chart_time.load_course(course, width, bins, f"{key}load{place}")]
        if len(course.backlog):
            pair.append(chart_time.backlog_course(course, width, f"{key}owed{place}"))
        drawn = el("div", *pair, class_="grid two") if few else join(pair)
        cells.append(el("div", _title(course), drawn, class_="pair"))
    caption = el(
        "p",
        el("b", "By slot of event time"),
        text(
            " (an output counts in the slot it belongs to, whenever it came): dotted, inputs "
            "appended; grey, outputs expected; coloured, outputs that came "
            "(where it hides the grey line, all came). "
        ),
        el("b", "Backlog"),
        text(
            ": measured outputs whose last input is in the topic while they are not, "
            "looked at every 100 ms, the largest of each point's span."
        ),
    )
    return [caption, *cells] if few else [caption, el("div", *cells, class_="grid")]


def lateness_charts(courses: Sequence[Course], key: str = "") -> Html:
    """How late the publisher was over time, on one axis."""
    known = [c for c in courses if np.isfinite(c.late_max_ms).any()]
    top = even_top([c.late_max_ms for c in known], 1.0)
    bins, width = (160, HALF) if len(known) <= LARGE_RUNS else (90, NARROW)
    cells = [
        el(
            "div",
            _title(c),
            chart_time.lateness_course(c, top, width, bins, f"{key}late{i}"),
            class_="course",
        )
        for i, c in enumerate(known)
    ]
    columns = "grid two" if len(known) <= LARGE_RUNS else "grid"
    return el("div", *cells, class_=columns) if cells else Html("")


def per_run(courses: Sequence[Course], draw: Callable[[Course, int, str], Html], key: str) -> Html:
    """One chart a run: wide where they are few, else in a grid."""
    if len(courses) > LARGE_RUNS:
        cells = [
            el("div", _title(c), draw(c, NARROW + 20, f"{key}{i}"), class_="course")
            for i, c in enumerate(courses)
        ]
        return el("div", *cells, class_="grid")
    cells = []
    for place, course in enumerate(courses):
        drawn = both(lambda w, k, c=course: draw(c, w, k), f"{key}{place}")  # type: ignore[misc]
        cells.append(el("div", _title(course), drawn, class_="course"))
    return join(cells)


def _title(course: Course) -> Html:
    words = course.title
    name = text(words) if course.trusted else join([el("s", words), text(" (invalid)")])
    return el("h3", name)


def price_section(campaign: Campaign) -> list[Html]:
    """Our prices, and beside them, in panels of their own, those of papers."""
    ours = our_prices(campaign)
    panels = []
    if ours:
        says = "ms added at the median (last)"
        drawn = prices(ours, HALF, "price", "Price of each stage in this campaign", says)
        caption = (
            " Dots with 95 % intervals; a hollow dot is the whole latency of a stage whose "
            "predecessor was not run."
        )
        panels.append(figure(drawn, el("b", "This campaign."), text(caption)))
    else:
        panels.append(el("p", "No price could be computed.", class_="note"))
    panels += [_theirs(paper) for paper in papers_on(str(dig(campaign.one, "workload")))]
    return [el("div", *panels, class_="grid two")]


def _theirs(paper: Paper) -> Html:
    before = 0.0
    rows = []
    for rank, (name, median) in enumerate(paper.p50_ms.items()):
        rows.append(Price(name, rank, median - before, None, None, first=rank == 0))
        before = median
    says = "ms added at the median, their scale"
    drawn = prices(rows, HALF, f"paper-{paper.id}", "Price of each stage in the paper", says)
    caption = (
        f" {paper.system}: differences of the cumulative medians "
        f"{', '.join(f'{v:g}' for v in paper.p50_ms.values())} ms in {paper.cited}. Another "
        "machine and rate, another engine or version of it, and latency counted from the mean of "
        "the inputs: the axis is its own, and the two panels must not be compared dot by dot."
    )
    return figure(drawn, el("b", "The paper, for orientation only."), text(caption))


def our_prices(campaign: Campaign) -> list[Price]:
    rows = []
    for stage in campaign.stages:
        value, first = price_of(stage), False
        source, trusted = stage.price, price_trusted(campaign, stage)
        if value is None:
            value, first = cumulative_of(stage), True
            source, trusted = stage.figures.get("last"), stage.trusted
        if value is not None:
            low, high = number(dig(source, "low_ms")), number(dig(source, "high_ms"))
            rows.append(Price(stage.name, stage.rank, value, low, high, trusted, first))
    return rows
