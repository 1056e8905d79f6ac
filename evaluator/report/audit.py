"""The sections a doubter reads: resources, the publisher's audit, doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluator.quantities import Floats, floats, median_of
from evaluator.report.chart_rows import Trace, multiple
from evaluator.report.chart_time import Course
from evaluator.report.figures import lateness_charts
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign, RunView, StageView
from evaluator.report.scales import binned, even_top
from evaluator.report.table import data_table, td, th
from evaluator.report.words import (
    NONE,
    decimal,
    dig,
    mapping,
    memory,
    number,
    plural,
    rows_of,
    struck,
    whole,
)

#: with more runs than this, doubts are told by name, their sentences on demand
GROUPED_FROM = 6
#: of more services than this only CPU stands open
OPEN_MAX = 6
#: points a line of a small chart is made of
POINTS = 70
#: the name under which the machine as a whole is listed among the services
MACHINE = "machine"
#: column of resources.parquet, heading, unit, and what a value is multiplied by for it
Drawn = tuple[str, str, str, float]
DRAWN: tuple[Drawn, ...] = (
    ("cpu_cores", "CPU, in cores", "cores", 1.0),
    ("memory_bytes", "Memory, in MB", "MB", 1e-6),
    ("net_in_bytes", "Network, received, in MB/s", "MB/s", 1e-6),
    ("net_out_bytes", "Network, sent, in MB/s", "MB/s", 1e-6),
)
QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))


def resource_section(campaign: Campaign) -> list[Html]:
    """CPU, memory and network of each service: over time, and for a thousand observations."""
    traces = [(drawn, _traces(campaign, drawn)) for drawn in DRAWN]
    if not any(found for _, found in traces):
        return [el("p", "No resources were recorded.", class_="note"), cpu_table(campaign)]
    end = max((float(t.at_s[-1]) for v in traces[0][1].values() for t in v), default=1.0)
    parts = [cpu_table(campaign)]
    for (column, heading, unit, _), of_service in traces:
        if not of_service:
            continue
        top = even_top([t.values for v in of_service.values() for t in v])
        cells = [
            multiple(service, found, max(end, 1.0), top, unit, f"{column}{i}")
            for i, (service, found) in enumerate(of_service.items())
        ]
        charts = el("div", *cells, class_="grid small")
        if column == "cpu_cores" or len(of_service) <= OPEN_MAX:
            parts += [el("h3", heading), charts]
        else:
            parts.append(el("details", el("summary", heading), charts))
    names = [
        join([el("span", class_=f"swatch s{s.rank % 5}", aria_hidden="true"), text(s.name)])
        for s in campaign.stages
    ]
    note = " One line a run, coloured by stage; seconds since its first record was due. "
    return [*parts, el("p", text(note), join(names, "  "), class_="note legend")]


def _traces(campaign: Campaign, drawn: Drawn) -> dict[str, list[Trace]]:
    column, _, _, factor = drawn
    found: dict[str, list[Trace]] = {}
    for stage in campaign.stages:
        for view in stage.runs:
            origin = view.origin_ms
            if view.resources is None or origin is None:
                continue
            names = np.array(view.resources.column("service").to_pylist(), dtype=object)
            at_s = (floats(view.resources, "at_ms") - origin) / 1000
            values = floats(view.resources, column) * factor
            for service in dict.fromkeys(names.tolist()):
                mine = (names == service) & (at_s >= 0)
                if np.isfinite(values[mine]).any():
                    seen_s, shown = at_s[mine], values[mine]
                    if column.startswith("net_"):
                        # told are bytes since the look before
                        shown = shown[1:] / np.diff(seen_s)
                        seen_s = seen_s[1:]
                    if not len(shown):
                        continue
                    trace = _trace(view, stage, seen_s, shown)
                    found.setdefault(str(service), []).append(trace)
    return dict(sorted(found.items()))


def _trace(view: RunView, stage: StageView, at_s: Floats, values: Floats) -> Trace:
    order = np.argsort(at_s)
    return Trace(
        view.title,
        stage.rank,
        binned(at_s[order], POINTS, np.mean),
        binned(values[order], POINTS, np.mean),
    )


def cpu_table(campaign: Campaign) -> Html:
    """CPU time of each service for a thousand observations, and its largest memory."""
    found = {s for v in campaign.runs for s in mapping(v.run.get("resources"))}
    services = sorted(found - {MACHINE})
    if not services:
        return Html("")
    stages = [s for s in campaign.stages if s.runs]
    head = [
        el(
            "tr",
            el("th", "service", scope="col", rowspan=2, class_="name"),
            th("CPU, core-ms per 1\u202f000 observations", "colgroup", len(stages), "group"),
            th("largest memory", "colgroup", len(stages), "group"),
        ),
        el("tr", *[th(s.name) for s in (*stages, *stages)]),
    ]
    rows = []
    for service in services:
        cpu = [_cell(s, _cpu(s, service), decimal) for s in stages]
        held = [_cell(s, _largest_memory(s, service), memory) for s in stages]
        rows.append(el("tr", th(service, "row", class_="name"), *cpu, *held))
    totals = []
    for stage in stages:
        known = [c for s in services if (c := _cpu(stage, s)) is not None]
        totals.append(_cell(stage, sum(known) if known else None, decimal))
    blank = [td("")] * len(stages)
    rows.append(el("tr", th("all services", "row", class_="name"), *totals, *blank))
    if MACHINE in found:
        cpu = [_cell(s, _cpu(s, MACHINE), decimal) for s in stages]
        rows.append(el("tr", th("whole machine", "row", class_="name"), *cpu, *blank))
    return data_table("While measuring; medians over a stage's valid runs.", head, rows)


def _cell(stage: StageView, value: float | None, say: Any) -> Html:
    return el("td", struck(say(value), stage.trusted), class_="num")


def _cpu(stage: StageView, service: str) -> float | None:
    """Core-milliseconds for a thousand observations: the median over its runs."""
    found: list[float | None] = []
    for view in stage.shown_runs:
        cores = number(dig(view.run, "resources", service, "cpu_cores_avg"))
        rate = number(dig(view.run, "throughput", "input_per_s"))
        found.append(cores / rate * 1e6 if cores is not None and rate else None)
    return median_of(found)


def _largest_memory(stage: StageView, service: str) -> float | None:
    return median_of(
        number(dig(v.run, "resources", service, "memory_bytes_max")) for v in stage.shown_runs
    )


def publisher_section(campaign: Campaign, courses: Sequence[Course]) -> list[Html]:
    """Whether the load was what was ordered: counts, lateness, lines that could not be read."""
    return [publisher_table(campaign), lateness_charts(courses), _source(campaign)]


def publisher_table(campaign: Campaign) -> Html:
    """A line a run."""
    head = [
        el(
            "tr",
            el("th", "run", scope="col", rowspan=2, class_="name"),
            th("records", "colgroup", 4, "group"),
            th("sent late by, ms", "colgroup", len(QUANTILES), "group"),
        ),
        el(
            "tr",
            *[th(n) for n in ("scheduled", "sent", "acknowledged", "failed")],
            *[th(name) for name, _ in QUANTILES],
        ),
    ]
    rows = [el("tr", th(v.name, "row", class_="name"), *_publisher_cells(v)) for v in campaign.runs]
    caption = "All records of a run, warm-up and cool-down too; doubts look at the window only."
    return data_table(caption, head, rows) if rows else el("p", "No run.", class_="note")


def _publisher_cells(view: RunView) -> list[Html]:
    said = mapping(view.run.get("publisher")) or view.sent
    counts = [number(said.get(n)) for n in ("scheduled", "sent", "acknowledged")]
    counts.append(number(view.sent.get("failed")))
    if len(view.late_ms):
        late = [float(v) for v in np.nanquantile(view.late_ms, [q for _, q in QUANTILES])]
        lateness: list[float | None] = list(late)
    else:
        lateness = [number(dig(said, "late_ms", name)) for name, _ in QUANTILES]
    shown = [whole(c) for c in counts] + [decimal(v, 2) for v in lateness]
    return [el("td", struck(words, view.valid), class_="num") for words in shown]


def _source(campaign: Campaign) -> Html:
    found = next((v.sent["source"] for v in campaign.runs if mapping(v.sent.get("source"))), None)
    if found is None:
        return Html("")
    if not found.get("files"):
        return el("p", f"Source: {found.get('name')}, made up from the seed.")
    bad = number(dig(found, "bad_lines"))
    files = ", ".join(str(f) for f in found["files"])
    words = (
        f"Source: {found.get('name')} ({files}), {whole(number(found.get('records')))} records, "
        f"{plural(int(bad or 0), 'line')} that could not be read{':' if bad else '.'}"
    )
    examples = [el("li", el("code", str(e))) for e in found.get("bad_examples") or []]
    return join([el("p", words), el("ul", *examples) if examples else Html("")])


def doubts_section(campaign: Campaign) -> list[Html]:
    """All doubts, gravest first, each said once with the runs it concerns."""
    where: dict[tuple[str, str, str], list[str]] = {}
    for name, found in [
        ("the campaign", rows_of(campaign.json.get("doubts"))),
        *((campaign.called(v), rows_of(v.run.get("doubts"))) for v in campaign.runs),
    ]:
        for doubt in found:
            key = (str(doubt.get("severity")), str(doubt.get("id")), str(doubt.get("says")))
            where.setdefault(key, []).append(name)
    silent = [campaign.called(v) for v in campaign.runs if not v.run]
    for name in silent:
        where.setdefault(("invalid", "no-result", "It left no run.json."), []).append(name)
    if not where:
        return [el("p", "None: nothing was found that speaks against these figures.")]
    several = len(campaign.runs) > GROUPED_FROM
    listed = _grouped(where) if several else _listed(where)
    return [
        el("p", "An invalid run's figures are struck out; a warning leaves them standing."),
        el("ul", *listed, class_="doubts"),
        *_failures(campaign),
    ]


Where = dict[tuple[str, str, str], list[str]]


def _gravest_first(where: Where) -> list[tuple[str, str, str]]:
    return sorted(where, key=lambda k: (k[0] != "invalid", k[1]))


def _listed(where: Where) -> list[Html]:
    return [_doubt(*key, where[key]) for key in _gravest_first(where)]


def _grouped(where: Where) -> list[Html]:
    """Of many runs: a line a doubt, its sentences folded away; what is invalid stands open."""
    found = []
    keys = _gravest_first(where)
    for severity, name in dict.fromkeys((k[0], k[1]) for k in keys):
        own = [k for k in keys if k[:2] == (severity, name)]
        runs = sorted({run for k in own for run in where[k]})
        if severity == "invalid" or len(own) == 1:
            found += [_doubt(*k, where[k]) for k in own]
            continue
        each = [el("li", f"{k[2]} ({', '.join(where[k])})") for k in own]
        tag = el("span", severity, class_="tag")
        count = text(f": {plural(len(runs), 'run')}")
        summary = el("summary", tag, el("strong", name), count)
        found.append(el("li", el("details", summary, el("ul", *each))))
    return found


def _doubt(severity: str, name: str, says: str, concerned: list[str]) -> Html:
    tag = el("span", severity, class_="tag bad" if severity == "invalid" else "tag")
    runs = text(f" ({', '.join(concerned)})")
    return el("li", tag, el("strong", name), text(f": {says}"), el("span", runs, class_="note"))


def _failures(campaign: Campaign) -> list[Html]:
    parts = []
    for view in campaign.runs:
        failure = mapping(view.run.get("failure"))
        if failure:
            tail = [str(line) for line in failure.get("log_tail") or []]
            parts.append(el("h3", f"{campaign.called(view)}: {failure.get('service') or NONE}"))
            parts.append(el("p", str(failure.get("says") or NONE)))
            if tail:
                parts.append(el("pre", "\n".join(tail), tabindex=0, aria_label="End of its log"))
    return parts
