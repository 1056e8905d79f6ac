"""Draw latencies as boxes, one a stage: 5th to 95th percentile, quartiles, median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.report.markup import Html, el, px
from evaluator.report.plot import Plot, axes, colour, label, segment, svg
from evaluator.report.scales import Axis, log_range
from evaluator.report.words import ms_number

HEIGHT_PX = 330


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
    #: what the paper gives for this stage
    paper_ms: float | None = None
    trusted: bool = True

    @property
    def told_ms(self) -> list[float]:
        """All that is drawn of it."""
        drawn = (self.p5_ms, self.p25_ms, self.p50_ms, self.p75_ms, self.p95_ms, self.paper_ms)
        return [value for value in drawn if value is not None]


def scale_of(rows: Sequence[Box]) -> tuple[float, float]:
    """One logarithmic axis for all panels, so that they can be compared."""
    return log_range([np.array(row.told_ms) for row in rows])


def boxes(
    rows: Sequence[Box], scale: tuple[float, float], width: int, key: str, title: str
) -> Html:
    """One column a stage; a diamond stands where the paper's median does."""
    plot = Plot(
        width,
        HEIGHT_PX,
        Axis(0, len(rows) or 1, 52, width - 24),
        Axis(*scale, HEIGHT_PX - 30, 34, log=True),
    )
    parts = [axes(plot, "", "latency (mean), ms, log scale", [], plot.y.ticks(8))]
    column = (plot.right - plot.left) / (len(rows) or 1)
    for place, row in enumerate(rows):
        parts += _box(plot, row, plot.left + column * (place + 0.5), min(22.0, column / 4))
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
    # beside its box, where neither whisker nor neighbour is
    words = ms_number(row.p50_ms)
    parts.append(label(x + half + 3, middle + 4, words, "small", struck=not row.trusted))
    if row.paper_ms is not None:
        tip = f"the paper: {ms_number(row.paper_ms)} ms"
        parts.append(_diamond(x, plot.y.at(row.paper_ms), tip))
    return parts


def _diamond(x: float, y: float, says: str) -> Html:
    points = f"{px(x)},{px(y - 6)} {px(x + 6)},{px(y)} {px(x)},{px(y + 6)} {px(x - 6)},{px(y)}"
    return el("polygon", el("title", says), points=points, class_="paper-mark")
