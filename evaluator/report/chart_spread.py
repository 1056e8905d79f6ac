"""Draw how latencies are spread: the cumulative distribution and the tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
from evaluator.report.scales import LOG_MS_MIN, Axis, apart, log_range, text_width
from evaluator.report.words import ms

#: a quantile is drawn as long as so many samples lie beyond it
BEYOND = 10
TAIL_TICKS = ((0.0, "min"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"))


@dataclass(frozen=True, slots=True)
class Spread:
    """What is drawn of one stage."""

    name: str
    rank: int
    trusted: bool
    pooled_ms: Floats
    outside_stalls_ms: Floats
    #: each run by itself, where there are several
    single_ms: tuple[Floats, ...]


def cumulative(spreads: Sequence[Spread], width: int, key: str) -> Html:
    """Share of outputs against latency: a line a stage, dashed without stalls."""
    narrow = width < 600
    tops = _rows_of_labels(spreads, width)
    height, left, top = (320 if narrow else 400), 46, 26 + 17 * tops
    low, high = log_range([s.pooled_ms for s in spreads])
    plot = Plot(
        width,
        height,
        Axis(low, high, left, width - 20, log=True),
        Axis(0, 100, height - 42, top),
    )
    quarters = [(0.0, "0"), (25.0, "25"), (50.0, "50"), (75.0, "75"), (100.0, "100 %")]
    x_ticks = spaced_ticks(plot.x, 6 if narrow else 12)
    parts = [axes(plot, "latency (last), ms, log scale", "outputs, %", x_ticks, quarters, True)]
    for spread in spreads:
        thin = f"{colour(spread.rank)} thin"
        parts += [line(plot, *steps(v, coarse=0.08), thin) for v in spread.single_ms]
    for spread in spreads:
        look = f"{colour(spread.rank)}{'' if spread.trusted else ' untrusted'}"
        if len(spread.outside_stalls_ms) < len(spread.pooled_ms):
            name = f"{spread.name}, outside stalls"
            outside = steps(spread.outside_stalls_ms)
            parts.append(line(plot, *outside, f"{look} dashed", name))
        parts.append(line(plot, *steps(spread.pooled_ms), look, spread.name))
    parts += _labels_above(plot, spreads, tops)
    says = "; ".join(f"{s.name} median {ms(_median(s))}" for s in spreads)
    return svg(plot, key, "Cumulative distribution of latency by stage", says, parts)


def tail(spreads: Sequence[Spread], width: int, key: str) -> Html:
    """Latency against the quantile, stretched towards the largest."""
    narrow = width < 600
    height, right = (300 if narrow else 360), 78 if narrow else 110
    longest = max((len(s.pooled_ms) for s in spreads), default=0)
    nines = _nines(1 - BEYOND / longest) if longest > 2 * BEYOND else 1.0
    low, high = log_range([s.pooled_ms for s in spreads])
    plot = Plot(
        width,
        height,
        Axis(0, max(1.0, nines), 50, width - right),
        Axis(low, high, height - 42, 28, log=True),
    )
    shown = TAIL_TICKS[1:] if narrow else TAIL_TICKS
    x_ticks = [(_nines(q), words) for q, words in shown if _nines(q) <= plot.x.high + 1e-9]
    y_ticks = plot.y.ticks(8)
    parts = [axes(plot, "quantile, % of outputs", "latency (last), ms, log", x_ticks, y_ticks)]
    ends = []
    for spread in spreads:
        look = f"{colour(spread.rank)}{'' if spread.trusted else ' untrusted'}"
        for values in spread.single_ms:
            parts.append(_tail_line(plot, values, f"{look} thin", ""))
        if len(spread.outside_stalls_ms) < len(spread.pooled_ms):
            name = f"{spread.name}, outside stalls"
            parts.append(_tail_line(plot, spread.outside_stalls_ms, f"{look} dashed", name))
        parts.append(_tail_line(plot, spread.pooled_ms, look, spread.name))
        ends.append(plot.y.at(float(_at(spread.pooled_ms, _up_to(spread.pooled_ms))[-1])))
    middles = apart(ends, [16] * len(ends), plot.top, plot.bottom)
    for spread, end, middle in zip(spreads, ends, middles, strict=True):
        reach = plot.x.at(_nines(float(_up_to(spread.pooled_ms)[-1])))
        parts.append(
            segment(reach + 3, end, plot.right + 10, middle, f"leader {colour(spread.rank)}")
        )
        words = f"fill {colour(spread.rank)}"
        parts.append(
            label(plot.right + 13, middle + 4, spread.name, words, struck=not spread.trusted)
        )
    return svg(plot, key, "Latency by quantile", "The tail of each stage's latency.", parts)


def _tail_line(plot: Plot, values: Floats, class_: str, name: str) -> Html:
    points = _up_to(values)
    return line(plot, np.array([_nines(q) for q in points]), _at(values, points), class_, name)


def _labels_above(plot: Plot, spreads: Sequence[Spread], rows: int) -> list[Html]:
    """Names over the chart, each led to its median."""
    if not spreads:
        return []
    centres = [plot.x.at(_median(s)) for s in spreads]
    widths = [text_width(_words(s, plot.narrow)) + 12 for s in spreads]
    parts = []
    order = sorted(range(len(spreads)), key=lambda i: centres[i])
    row_of = {i: place % rows for place, i in enumerate(order)}
    for row in range(rows):
        here = [i for i in order if row_of[i] == row]
        moved = apart([centres[i] for i in here], [widths[i] for i in here], 84, plot.right)
        for i, x in zip(here, moved, strict=True):
            spread, foot = spreads[i], 12 + 17 * row
            look = colour(spread.rank)
            middle = plot.y.at(50)
            parts.append(segment(x, foot + 5, centres[i], plot.top, f"leader {look}"))
            parts.append(segment(centres[i], plot.top, centres[i], middle, f"leader {look}"))
            tip = f"{spread.name}: median {ms(_median(spread))}"
            parts.append(dot(centres[i], middle, 3.5, f"fill {look}", tip))
            words = _words(spread, plot.narrow)
            parts.append(label(x, foot, words, f"fill {look}", "middle", not spread.trusted))
    return parts


def _rows_of_labels(spreads: Sequence[Spread], width: int) -> int:
    needed = sum(text_width(_words(s, width < 600)) + 12 for s in spreads)
    return max(1, math.ceil(needed / (width - 100)))


def _words(spread: Spread, narrow: bool) -> str:
    return spread.name if narrow else f"{spread.name} {ms(_median(spread))}"


def _median(spread: Spread) -> float:
    return float(np.median(spread.pooled_ms))


def steps(values: Floats, coarse: float = 0.03) -> tuple[Floats, Floats]:
    """Latencies and the share of outputs, in %, that came by then: exact where it is read.

    It is read at each latency that occurs, less those within `coarse` (a share) of one before.
    """
    ordered = np.maximum(np.sort(values[np.isfinite(values)]), LOG_MS_MIN)
    at = np.unique(ordered)
    bucket = np.floor(np.log(at) / coarse)
    kept = np.append(np.diff(bucket) > 0, True)
    at = at[kept]
    shares = 100 * np.searchsorted(ordered, at, side="right") / len(ordered)
    xs, ys = np.repeat(at, 2), np.repeat(shares, 2)
    return xs, np.concatenate([[0.0], ys[:-1]])


def _up_to(values: Floats) -> Floats:
    """Quantiles for the tail, as far as the samples carry."""
    last = 1 - BEYOND / len(values) if len(values) > 2 * BEYOND else 0.5
    return np.asarray(1 - 10.0 ** -np.linspace(0, _nines(last), 90))


def _nines(quantile: float) -> float:
    return -math.log10(max(1e-9, 1 - quantile)) + 0.0


def _at(values: Floats, points: Floats) -> Floats:
    return np.asarray(np.quantile(values, points), dtype=np.float64)
