"""Draw latencies as boxes, one a stage: 5th to 95th percentile, quartiles, median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.report.markup import Html, el
from evaluator.report.plot import Plot, axes, colour, label, segment, svg
from evaluator.report.scales import Axis, text_width
from evaluator.report.words import ms_number

HEIGHT_PX = 300


@dataclass(frozen=True, slots=True)
class Box:
    """A stage's quantiles; of a paper that tells no more, the median alone."""

    name: str
    rank: int
    p50_ms: float
    p5_ms: float | None = None
    p25_ms: float | None = None
    p75_ms: float | None = None
    p95_ms: float | None = None
    trusted: bool = True

    @property
    def top_ms(self) -> float:
        return max(v for v in (self.p50_ms, self.p75_ms, self.p95_ms) if v is not None)


def boxes(rows: Sequence[Box], width: int, key: str, title: str) -> Html:
    """One column a stage, on a linear axis from nought."""
    high = max((row.top_ms for row in rows), default=1.0) * 1.08
    plot = Plot(
        width, HEIGHT_PX, Axis(0, len(rows) or 1, 52, width - 8), Axis(0, max(high, 1.0),
        HEIGHT_PX - 30, 30)
    )  # fmt: skip
    parts = [axes(plot, "", "latency (mean), ms", [], plot.y.ticks(6))]
    column = (plot.right - plot.left) / (len(rows) or 1)
    for place, row in enumerate(rows):
        parts += _box(plot, row, plot.left + column * (place + 0.5), min(26.0, column / 4))
    says = "; ".join(f"{row.name} median {ms_number(row.p50_ms)} ms" for row in rows)
    return svg(plot, key, title, says, parts)


def _box(plot: Plot, row: Box, x: float, half: float) -> list[Html]:
    look = colour(row.rank)
    middle = plot.y.at(row.p50_ms)
    parts = [label(x, plot.bottom + 17, row.name, "tick", "middle", not row.trusted)]
    if row.p5_ms is not None and row.p95_ms is not None:
        low, high = plot.y.at(row.p5_ms), plot.y.at(row.p95_ms)
        parts.append(segment(x, low, x, high, f"whisker {look}"))
        for y in (low, high):
            parts.append(segment(x - half / 2, y, x + half / 2, y, f"whisker {look}"))
    if row.p25_ms is not None and row.p75_ms is not None:
        top, foot = plot.y.at(row.p75_ms), plot.y.at(row.p25_ms)
        tall = max(1.0, foot - top)
        parts.append(
            el("rect", x=x - half, y=top, width=2 * half, height=tall, class_=f"hollow {look}")
        )
    parts.append(segment(x - half, middle, x + half, middle, f"median {look}"))
    words = ms_number(row.p50_ms)
    if x + half + 4 + text_width(words, 12) <= plot.right + 8:
        parts.append(label(x + half + 4, middle + 4, words, "value", struck=not row.trusted))
    return parts
