"""Draw variants beside each other: a row a stage, in it a line a variant, one log axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.report.markup import Html
from evaluator.report.plot import Plot, axes, colour, dot, label, segment, spaced_ticks, svg
from evaluator.report.scales import Axis, log_range, text_width
from evaluator.report.words import ms_number

LINE_PX = 25
#: between two stages
GAP_PX = 16
TOP_PX = 12


@dataclass(frozen=True, slots=True)
class Beside:
    """What is drawn of one variant at one stage."""

    stage: str
    #: its place among the variants, which gives it its colour
    rank: int
    name: str
    p5_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    trusted: bool = True


def beside(rows: Sequence[Beside], width: int, key: str, title: str) -> Html:
    """From the 5th to the 95th percentile a line, a dot at the median, a tick at the 99th."""
    stages = list(dict.fromkeys(row.stage for row in rows))
    height = TOP_PX + LINE_PX * len(rows) + GAP_PX * len(stages) + 42
    names = max(text_width(row.stage, 13) for row in rows) + 14
    values = np.array([v for r in rows for v in (r.p5_ms, r.p50_ms, r.p95_ms, r.p99_ms)])
    plot = Plot(
        width,
        height,
        Axis(*log_range([values]), max(64.0, names), width - 16, log=True),
        Axis(0, 1, height - 42, TOP_PX),
    )
    parts = [axes(plot, "latency (last), ms, log scale", "", spaced_ticks(plot.x, 9), [],
                  x_lines=True)]  # fmt: skip
    y = plot.top
    for place, stage in enumerate(stages):
        own = [row for row in rows if row.stage == stage]
        if place:
            parts.append(segment(plot.left, y, plot.right, y, "grid"))
        y += GAP_PX
        middle = y + LINE_PX * (len(own) - 1) / 2
        parts.append(label(plot.left - 8, middle + 4, stage, "", "end"))
        for row in own:
            parts += _line(plot, row, y)
            y += LINE_PX
    says = "; ".join(f"{r.stage} {r.name} median {ms_number(r.p50_ms)} ms" for r in rows)
    return svg(plot, key, title, says, parts)


def _line(plot: Plot, row: Beside, y: float) -> list[Html]:
    look = colour(row.rank)
    low, middle, high, tail = (
        plot.x.at(v) for v in (row.p5_ms, row.p50_ms, row.p95_ms, row.p99_ms)
    )
    tip = f"{row.name}: median {ms_number(row.p50_ms)}, p99 {ms_number(row.p99_ms)} ms"
    words = f"{row.name} {ms_number(row.p50_ms)}"
    half = text_width(words, 11) / 2
    at = min(max(middle, plot.left + half + 2), plot.right - half)
    return [
        segment(low, y, high, y, f"whisker {look}"),
        segment(high, y, tail, y, f"leader {look}"),
        segment(tail, y - 5, tail, y + 5, f"whisker {look}"),
        dot(middle, y, 4.5, f"fill {look}" if row.trusted else f"hollow {look}", tip),
        label(at, y - 7, words, f"small fill {look}", "middle", not row.trusted),
    ]
