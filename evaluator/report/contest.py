"""The sections of a comparison's report: who is faster, what each takes, in what they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract.variant import COMPARED, Variant, name_among
from evaluator.report import reproduction, run_by_run
from evaluator.report.chart_beside import Beside, beside
from evaluator.report.figures import both, figure
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign, StageView
from evaluator.report.plot import WIDE, colour
from evaluator.report.table import data_table, td, th
from evaluator.report.words import (
    NBSP,
    NONE,
    decimal,
    dig,
    interval,
    mapping,
    ms_number,
    number,
    plain,
    rows_of,
    signed_ms,
    struck,
    whole,
)

Contest = dict[str, Any]


def answer(campaign: Campaign) -> Html:
    """A sentence for each that is set beside the first, and the load that it holds for."""
    rate = number(dig(campaign.json, "settings", "rate"))
    said = [
        " ".join(map(str, contest.get("says") or []))
        for contest in rows_of(campaign.json.get("contests"))
    ]
    if not said:
        return el("p", "There is no answer: nothing was compared.", class_="answer")
    at = f"At {whole(rate)} observations/s, by the median: "
    if len(said) == 1:
        return el("p", at + said[0], class_="answer")
    return join([el("p", at, class_="answer"),
                 el("ul", *[el("li", s) for s in said], class_="answers")])  # fmt: skip


def sections(campaign: Campaign) -> list[tuple[str, str, list[Html]]]:
    """All of them, in the order in which one asks."""
    return [
        ("beside", "Side by side", _beside_section(campaign)),
        ("resources", "What each takes", [_resources(campaign)]),
        ("differ", "In what they differ", _differing(campaign)),
        ("parts", "Waiting and work", reproduction.parts_section(campaign)),
        ("paper", "Beside the paper", reproduction.paper_section(campaign)),
        ("prices", "Prices", reproduction.prices_section(campaign)),
        ("repeats", "Repeatability", reproduction.repeats_section(campaign)),
        ("details", "Run by run", run_by_run.details_section(campaign)),
    ]


def pictures(campaign: Campaign) -> list[tuple[str, str, reproduction.Panels]]:
    """The charts that stand for themselves, with their key, as pictures of their own."""
    rows = _drawn(campaign)
    key = "dot and figure: median; line: 5th to 95th percentile; thin line to the tick: 99th"
    drawn = beside(rows, WIDE, "beside", "Latency by stage, side by side") if rows else None
    own = [("side-by-side", key, [("Side by side", drawn)])] if drawn else []
    return [*own, *reproduction.pictures(campaign)]


def _names(campaign: Campaign) -> list[str]:
    """Of each variant, in the campaign's order."""
    variants = [part.variant for part in campaign.parts if part.variant is not None]
    return [name_among(variant, variants) for variant in variants]


def _beside_section(campaign: Campaign) -> list[Html]:
    rows = _drawn(campaign)
    if not rows:
        return [el("p", "No run was measured to its end.", class_="note")]
    swatches = [
        el("span", el("span", class_=f"swatch {colour(rank)}", aria_hidden="true"), name,
           class_="key")
        for rank, name in enumerate(_names(campaign))
    ]  # fmt: skip
    return [
        el("p", *swatches, class_="legend"),
        figure(
            both(lambda w, k: beside(rows, w, k, "Latency by stage, side by side"), "beside"),
            el("b", "Latency up to and including each stage"),
            text(
                ": dot and figure, median; line, 5th to 95th percentile; thin line to the tick, "
                "99th. Each is the mean over valid runs; nothing is left out of it."
            ),
        ),
        _latencies(campaign),
    ]


def _drawn(campaign: Campaign) -> list[Beside]:
    found = []
    names = _names(campaign)
    for stage in _stages(campaign):
        for rank, part in enumerate(campaign.parts):
            view = part.stage(stage)
            told = [_mean(view, q) for q in ("p5", "p50", "p95", "p99")] if view else []
            known = [v for v in told if v is not None]
            if view is not None and len(known) == 4:
                p5, p50, p95, p99 = known
                found.append(
                    Beside(stage, rank, names[rank], p5, p50, p95, p99, trusted=view.trusted)
                )
    return found


def _mean(view: StageView, quantile: str, of: str = "last") -> float | None:
    known = [v for run in view.shown_runs if (v := run.figure(of, quantile)) is not None]
    return sum(known) / len(known) if known else None


def _stages(campaign: Campaign) -> list[str]:
    ranked = {s.name: s.rank for part in campaign.parts for s in part.stages}
    return sorted(ranked, key=lambda name: ranked[name])


def _contrast(campaign: Campaign, part: Campaign, stage: str, of: str, statistic: str) -> Contest:
    """The row in which this variant is beside the first; of the first itself any."""
    for contest in rows_of(campaign.json.get("contests")):
        of_b = Variant.of(mapping(contest.get("b")))
        if part.variant in (of_b, Variant.of(mapping(contest.get("a")))):
            told = next((s for s in rows_of(contest.get("stages")) if s.get("stage") == stage), {})
            for row in rows_of(told.get("figures")):
                if (row.get("of"), row.get("statistic")) == (of, statistic):
                    return {**row, "own": row.get("b" if part.variant == of_b else "a")}
    return {}


def _latencies(campaign: Campaign) -> Html:
    """A row a stage and variant."""
    first = _names(campaign)[0]
    waits = _any_waits(campaign)
    head = [
        el(
            "tr",
            el("th", "stage, variant", scope="col", class_="name left"),
            th("median (95\u202f%)"),
            th(f"less {first}'s"),
            el("th", "so it is", scope="col", class_="left"),
            *([th("engine median")] * waits),
            th("p99"),
            th(f"less {first}'s"),
            th("p99 outside stalls"),
            th("valid runs"),
        )
    ]
    engine = " “engine median” leaves out the waiting for a window's end." * waits
    caption = (
        f"Latencies in ms (last): means over valid runs with 95{NBSP}% intervals, each for "
        f"itself.{engine}"
    )
    return data_table(caption, head, _rows(campaign, _latency_cells), "stages")


def _any_waits(campaign: Campaign) -> bool:
    """Whether a variant waits for windows' ends; elsewhere `engine` is `last`."""
    return any(part.variant and part.variant.dialect != "eager" for part in campaign.parts)


def _rows(
    campaign: Campaign, cells: Callable[[Campaign, Campaign, StageView], list[Html]]
) -> list[Html]:
    found = []
    for stage in _stages(campaign):
        for part, name in zip(campaign.parts, _names(campaign), strict=True):
            view = part.stage(stage)
            if view is not None:
                named = th(f"{stage}, {name}", "row", class_="name")
                found.append(el("tr", named, *cells(campaign, part, view)))
    return found


def _latency_cells(campaign: Campaign, part: Campaign, view: StageView) -> list[Html]:
    told = view.figures.get("last") or {}
    low, high = number(told.get("low_ms")), number(told.get("high_ms"))
    own = ms_number(number(told.get("p50_ms")))
    span = interval(low, high)
    median = _contrast(campaign, part, view.name, "last", "p50")
    tail = _contrast(campaign, part, view.name, "last", "p99")
    is_first = part is campaign.parts[0]
    verdict = "" if is_first else COMPARED.get(str(median.get("verdict")), NONE)
    engine = view.figures.get("engine") or {}
    figures = (
        f"{own} ({span})" if span else own,
        "" if is_first else _difference(median),
        verdict,
        *([ms_number(number(engine.get("p50_ms")))] * _any_waits(campaign)),
        ms_number(_mean(view, "p99")),
        "" if is_first else _difference(tail),
        ms_number(_mean(view, "p99", "last_outside_stalls")),
    )
    drawn = [
        el("td", struck(words, view.trusted), class_="verdict" if i == 2 else "num")
        for i, words in enumerate(figures)
    ]
    return [*drawn, td(f"{len(view.trusted_runs)} of {len(view.runs)}")]


def _difference(told: Contest, say: Callable[[float | None], str] = signed_ms) -> str:
    value = number(told.get("difference"))
    if value is None:
        return NONE
    low, high = number(told.get("low")), number(told.get("high"))
    return f"{say(value)} ({interval(low, high)})" if interval(low, high) else say(value)


#: (measure, statistic) → what its two columns are headed
_USES = (
    ("cpu", "mean", "engine, core-ms"),
    ("brokers", "mean", "brokers, core-ms"),
    ("memory", "max", "engine, MiB"),
)


def _resources(campaign: Campaign) -> Html:
    """What a thousand observations take."""
    first = _names(campaign)[0]
    heads = [th(words) for _, _, name in _USES for words in (name, f"less {first}'s")]
    head = [el("tr", el("th", "stage, variant", scope="col", class_="name left"), *heads)]
    caption = (
        "CPU in core-milliseconds for 1\u202f000 observations while measuring, of all processes "
        "of the engine and of all brokers; memory: the largest of each of the engine's processes, "
        f"together. Means over valid runs, 95{NBSP}% intervals."
    )
    return data_table(caption, head, _rows(campaign, _resource_cells), "stages")


def _resource_cells(campaign: Campaign, part: Campaign, view: StageView) -> list[Html]:
    cells = []
    for of, statistic, _ in _USES:
        told = _contrast(campaign, part, view.name, of, statistic)
        own = decimal(number(told.get("own")), 0)
        less = "" if part is campaign.parts[0] else _difference(told, _signed)
        cells += [el("td", struck(words, view.trusted), class_="num") for words in (own, less)]
    return cells


def _signed(value: float | None) -> str:
    return NONE if value is None else ("+" if value > 0 else "") + decimal(value, 0)


def _differing(campaign: Campaign) -> list[Html]:
    """Settings that are not the same, one column a variant; then those that are."""
    variants = rows_of(campaign.json.get("variants"))
    told = [
        {"version": v.get("engine_version"), "mode": v.get("mode"), "dialect": v.get("dialect")}
        | mapping(v.get("settings"))
        for v in variants
    ]
    names = list(dict.fromkeys(name for settings in told for name in settings))
    unlike = [n for n in names if any(s.get(n) != told[0].get(n) or n not in s for s in told)]
    head = [
        el(
            "tr",
            el("th", "setting", scope="col", class_="name left"),
            *[el("th", name, scope="col", class_="left") for name in _names(campaign)],
        )
    ]
    rows = [
        el(
            "tr",
            th(name, "row", class_="name"),
            *[el("td", plain(s[name]) if name in s else NONE) for s in told],
        )
        for name in unlike
    ]
    alike = [
        f"{name} {plain(told[0][name])}"
        for name in names
        if name not in unlike and told[0][name] != ""
    ]
    common = mapping(campaign.json.get("settings"))
    same = [
        f"{name.replace('_', ' ')} {plain(common.get(name))}"
        for name in ("rate", "seed", "partitions", "parallelism", "instances", "brokers",
                     "replication", "arrival")
        if name in common
    ]  # fmt: skip
    caption = f"{NONE}: the engine knows no such setting."
    return [
        data_table(caption, head, rows),
        el("p", f"The same for all: {', '.join([*same, *alike])}. The runs were interleaved, "
                f"in an order shuffled by the seed, and {campaign.brokers_of}.",
           class_="note"),
    ]  # fmt: skip
