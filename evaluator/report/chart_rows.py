"""Draw one row a stage: prices with their intervals; and small multiples of services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.quantities import Floats
from evaluator.report.markup import Html
from evaluator.report.plot import (
    Plot,
    axes,
    colour,
    dot,
    label,
    line,
    segment,
    spaced_ticks,
    svg,
)
from evaluator.report.scales import Axis, text_width
from evaluator.report.words import interval, signed_ms

ROW_PX = 44


@dataclass(frozen=True, slots=True)
class Price:
    """A stage's price; the whole latency where it has no predecessor here."""

    name: str
    rank: int
    value_ms: float
    low_ms: float | None
    high_ms: float | None
    trusted: bool = True
    first: bool = False


def prices(rows: Sequence[Price], width: int, key: str, title: str, x_says: str) -> Html:
    """A dot and an interval for each stage, from nought."""
    ends = [e for r in rows for e in (r.value_ms, r.low_ms, r.high_ms, 0.0) if e is not None]
    low, high = min(ends), max(max(ends), min(ends) + 1.0)
    names = max(text_width(r.name, 13) for r in rows) + 12
    height = 20 + ROW_PX * len(rows) + 42
    reach = high - low
    plot = Plot(
        width,
        height,
        Axis(low - 0.03 * reach, high + 0.06 * reach, max(64.0, names), width - 14),
        Axis(0, len(rows), 20 + ROW_PX * len(rows), 20),
    )
    parts = [axes(plot, x_says, "", spaced_ticks(plot.x, 6), [], x_lines=True)]
    nought = plot.x.at(0)
    parts.append(segment(nought, plot.top, nought, plot.bottom, "base"))
    for place, row in enumerate(rows):
        parts += _price_row(plot, row, plot.top + ROW_PX * (place + 0.5) + 6)
    says = "; ".join(f"{r.name} {signed_ms(r.value_ms)} ms" for r in rows)
    return svg(plot, key, title, says, parts)


def _price_row(plot: Plot, row: Price, y: float) -> list[Html]:
    look = colour(row.rank)
    x = plot.x.at(row.value_ms)
    parts = [label(plot.left - 8, y + 4, row.name, f"fill {look}", "end")]
    if row.low_ms is not None and row.high_ms is not None:
        left, right = plot.x.at(row.low_ms), plot.x.at(row.high_ms)
        parts.append(segment(left, y, right, y, f"whisker {look}"))
        parts.append(segment(left, y - 4, left, y + 4, f"whisker {look}"))
        parts.append(segment(right, y - 4, right, y + 4, f"whisker {look}"))
    else:
        parts.append(segment(plot.x.at(0), y, x, y, f"whisker {look}"))
    value = signed_ms(row.value_ms).lstrip("+") if row.first else signed_ms(row.value_ms)
    span = interval(row.low_ms, row.high_ms)
    words = f"{value} ({span})" if span else value
    half = text_width(words, 12) / 2
    middle = min(max(x, plot.left + half), plot.right - half)
    parts.append(dot(x, y, 5, f"{'hollow' if row.first else 'fill'} {look}", words))
    parts.append(label(middle, y - 10, words, "value", "middle", not row.trusted))
    return parts


@dataclass(frozen=True, slots=True)
class Trace:
    """One run's use of one resource over time."""

    name: str
    rank: int
    at_s: Floats
    values: Floats


def multiple(
    service: str, traces: Sequence[Trace], end_s: float, top: float, says: str, key: str
) -> Html:
    """A small chart of one service; all share their axes."""
    width, height = 260, 132
    plot = Plot(width, height, Axis(0, end_s, 42, width - 12), Axis(0, top, height - 24, 24))
    parts = [axes(plot, "", "", spaced_ticks(plot.x, 4), plot.y.ticks(3))]
    parts.append(label(2, 12, service[:34], "panel"))
    parts += [line(plot, t.at_s, t.values, f"{colour(t.rank)} fine", t.name) for t in traces]
    return svg(plot, key, f"{service}: {says}", f"{service} over time, in seconds.", parts)
