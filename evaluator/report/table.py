"""The table of stages: latencies, price, outputs, throughput, validity."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.quantities import median_of
from evaluator.report.answer import price_of, price_trusted
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign, RunView, StageView
from evaluator.report.plot import colour
from evaluator.report.words import (
    NONE,
    dig,
    interval,
    mapping,
    ms_number,
    number,
    signed_ms,
    struck,
    whole,
)

FIGURES = (
    ("last", "p50"),
    ("last", "p95"),
    ("last", "p99"),
    ("last_outside_stalls", "p50"),
    ("last_outside_stalls", "p99"),
    ("mean", "p50"),
    ("due", "p50"),
)
FAULTS = ("missing", "duplicate", "wrong", "unexpected", "incomplete")


def data_table(caption: str, head: Sequence[Html], rows: Sequence[Html], class_: str = "") -> Html:
    """A table that scrolls inside its own frame."""
    table = el(
        "table",
        el("caption", caption, class_="unseen"),
        el("thead", *head),
        el("tbody", *rows),
        class_=class_ or None,
    )
    framed = el("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)
    # seen below the frame, where it does not scroll away; heard as the table's caption
    return join([framed, el("p", caption, class_="note", aria_hidden="true")])


def th(words: str, scope: str = "col", span: int | None = None, class_: str = "") -> Html:
    """A header cell."""
    return el("th", words, scope=scope, colspan=span, class_=class_ or None)


def td(words: str, class_: str = "num") -> Html:
    """A cell of figures."""
    return el("td", words, class_=class_ or None)


def stage_table(campaign: Campaign) -> Html:
    """One row a stage and, where it was repeated, one a run."""
    rows: list[Html] = []
    for stage in campaign.stages:
        rows.append(_stage_row(campaign, stage))
        if len(stage.runs) > 1:
            rows += [_run_row(view) for view in stage.runs]
    repeated = any(len(s.runs) > 1 for s in campaign.stages)
    note = " A stage's row holds medians over its valid runs." if repeated else ""
    caption = f"Latencies in ms, outputs in records.{note}"
    return data_table(caption, _head(), rows, "stages")


def _head() -> list[Html]:
    groups = el(
        "tr",
        el("th", "stage", scope="col", rowspan=2, class_="name"),
        th("last: what the engine added", "colgroup", 3, "group"),
        th("outside stalls", "colgroup", 2, "group"),
        th("mean", class_="group"),
        th("due", class_="group"),
        th("price", class_="group"),
        th("outputs", "colgroup", 3, "group"),
        th("records/s", "colgroup", 2, "group"),
        el("th", "valid?", scope="col", rowspan=2, class_="group"),
    )
    names = ("p50", "p95", "p99", "p50", "p99", "p50", "p50", "p50 (95\u202f% interval)")
    more = ("expected", "correct", "not so", "in", "out")
    return [groups, el("tr", *[th(n) for n in (*names, *more)])]


def _stage_row(campaign: Campaign, stage: StageView) -> Html:
    views = stage.shown_runs
    cells = [el("td", struck(ms_number(_pooled(stage, a, q)), stage.trusted), class_="num")
             for a, q in FIGURES]  # fmt: skip
    swatch = el("span", class_=f"swatch {colour(stage.rank)}", aria_hidden="true")
    name = el("th", swatch, text(stage.name), scope="row", class_="name")
    price = el("td", _price_cell(campaign, stage), class_="num price")
    return el("tr", name, *cells, price, *_output_cells(views), _validity(stage), class_="stage")


def _run_row(view: RunView) -> Html:
    cells = [el("td", struck(ms_number(view.figure(a, q)), view.valid), class_="num")
             for a, q in FIGURES]  # fmt: skip
    name = el("th", f"run {view.name.split('-', 1)[0]}", scope="row", class_="name")
    verdict = td("valid" if view.valid else "invalid", "verdict" if view.valid else "verdict bad")
    return el("tr", name, *cells, td(""), *_output_cells([view]), verdict, class_="run")


def _pooled(stage: StageView, attribution: str, quantile: str) -> float | None:
    return median_of(view.figure(attribution, quantile) for view in stage.shown_runs)


def _price_cell(campaign: Campaign, stage: StageView) -> Html:
    value = price_of(stage)
    if value is None:
        return text(NONE)
    trusted = price_trusted(campaign, stage)
    span = interval(number(dig(stage.price, "low_ms")), number(dig(stage.price, "high_ms")))
    parts = [struck(signed_ms(value), trusted)]
    if span:
        parts += [text(" "), el("span", text("("), struck(span, trusted), text(")"), class_="span")]
    return join(parts)


def _output_cells(views: Sequence[RunView]) -> list[Html]:
    known = [v for v in views if mapping(v.run.get("outputs"))]
    trusted = bool(known) and all(v.valid for v in known)

    def count(name: str) -> float | None:
        found = [number(dig(v.run, "outputs", name)) for v in known]
        counts = [c for c in found if c is not None]
        return sum(counts) if counts else None

    def rate(name: str) -> float | None:
        return median_of(number(dig(v.run, "throughput", name)) for v in known)

    faults = [f"{whole(count(name))} {name}" for name in FAULTS if count(name)]
    amiss = ", ".join(faults) or ("none" if count("expected") is not None else NONE)
    return [
        el("td", struck(whole(count("expected")), trusted), class_="num"),
        el("td", struck(whole(count("correct")), trusted), class_="num"),
        td(amiss, "num bad" if faults else "num"),
        el("td", struck(whole(rate("input_per_s")), trusted), class_="num"),
        el("td", struck(whole(rate("output_per_s")), trusted), class_="num"),
    ]


def _validity(stage: StageView) -> Html:
    valid, there = len(stage.trusted_runs), len(stage.runs)
    if not there:
        return td("no run", "verdict bad")
    words = {0: "invalid"}.get(valid, "valid")
    if there > 1:
        words = f"{valid} of {there} valid"
    return td(words, "verdict" if valid == there else "verdict bad")
