"""Draw what all charts share: the frame, axes, lines, bands and labels, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.quantities import Floats
from evaluator.report.markup import Html, el, join, px
from evaluator.report.scales import Axis, text_width

#: how wide charts are drawn: for a desk, and for a phone or a grid
WIDE = 1056
NARROW = 360
HALF = 430


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart's size and its two axes."""

    width: float
    height: float
    x: Axis
    y: Axis

    @property
    def narrow(self) -> bool:
        return self.width < 600

    @property
    def left(self) -> float:
        return self.x.start

    @property
    def right(self) -> float:
        return self.x.end

    @property
    def top(self) -> float:
        return self.y.end

    @property
    def bottom(self) -> float:
        return self.y.start


def colour(rank: int) -> str:
    """The class that colours a stage: five of them, then from the start again."""
    return f"s{rank % 5}"


def svg(plot: Plot, key: str, title: str, description: str, parts: Sequence[Html]) -> Html:
    """The whole chart, with its name and description for those who cannot see it."""
    return el(
        "svg",
        el("title", title, id=f"{key}-t"),
        el("desc", description, id=f"{key}-d"),
        *parts,
        class_="chart",
        viewBox=f"0 0 {px(plot.width)} {px(plot.height)}",
        role="img",
        aria_labelledby=f"{key}-t {key}-d",
        data_axes=_axes_numbers(plot),
        style=f"max-width:{px(plot.width * (1.35 if plot.narrow else 1.0))}px",
    )


def label(
    x: float, y: float, words: str, class_: str = "", anchor: str = "start", struck: bool = False
) -> Html:
    """Words in a chart."""
    line = "line-through" if struck else None
    return el(
        "text",
        words,
        x=x,
        y=y,
        class_=class_ or None,
        text_anchor=None if anchor == "start" else anchor,
        text_decoration=line,
    )


def segment(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """A straight line."""
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x1: float, y1: float, x2: float, y2: float, class_: str, says: str = "") -> Html:
    """A filled rectangle, with a tooltip if it says something."""
    tip = [el("title", says)] if says else []
    width, height = max(0.0, x2 - x1), max(0.0, y2 - y1)
    return el("rect", *tip, x=x1, y=y1, width=width, height=height, class_=class_)


def dot(x: float, y: float, radius: float, class_: str, says: str = "") -> Html:
    """A mark, with a tooltip if it says something."""
    tip = [el("title", says)] if says else []
    return el("circle", *tip, cx=x, cy=y, r=radius, class_=class_)


def line(plot: Plot, xs: Floats, ys: Floats, class_: str, name: str = "") -> Html:
    """A line through the points; it breaks where a value is not known."""
    pieces = []
    known = np.isfinite(xs) & np.isfinite(ys)
    for part in _unbroken(known):
        points = _points(plot.x.many(xs[part]), plot.y.many(ys[part]))
        pieces.append(
            el("polyline", points=points, class_=f"line {class_}", data_name=name or None)
        )
    return join(pieces)


def band(plot: Plot, xs: Floats, low: Floats, high: Floats, class_: str) -> Html:
    """The area between two lines."""
    pieces = []
    known = np.isfinite(xs) & np.isfinite(low) & np.isfinite(high)
    for part in _unbroken(known):
        there = plot.x.many(xs[part])
        points = (
            _points(there, plot.y.many(high[part]))
            + " "
            + _points(there[::-1], plot.y.many(low[part])[::-1])
        )
        pieces.append(el("polygon", points=points, class_=class_))
    return join(pieces)


def axes(
    plot: Plot,
    x_says: str,
    y_says: str,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
    x_lines: bool = False,
) -> Html:
    """Ticks, grid and what the axes measure; the y axis says it above its top."""
    parts = []
    for value, words in y_ticks:
        y = plot.y.at(value)
        parts.append(segment(plot.left, y, plot.right, y, "grid"))
        parts.append(label(plot.left - 7, y + 4, words, "tick", "end"))
    for value, words in x_ticks:
        x = plot.x.at(value)
        top = plot.top if x_lines else plot.bottom
        parts.append(segment(x, top, x, plot.bottom + (0 if x_lines else 4), "grid"))
        parts.append(label(x, plot.bottom + 17, words, "tick", "middle"))
    parts.append(segment(plot.left, plot.bottom, plot.right, plot.bottom, "base"))
    if y_says:
        parts.append(label(2, 12, y_says, "axis"))
    if x_says:
        parts.append(label(plot.right, plot.height - 4, x_says, "axis", "end"))
    return join(parts)


def spaced_ticks(axis: Axis, most: int) -> list[tuple[float, str]]:
    """Ticks of a horizontal axis, less those whose labels would touch the one before."""
    kept: list[tuple[float, str]] = []
    edge = float("-inf")
    for value, words in axis.ticks(most):
        half = text_width(words, 11) / 2
        if axis.at(value) - half > edge + 4:
            kept.append((value, words))
            edge = axis.at(value) + half
    return kept


def _axes_numbers(plot: Plot) -> str:
    """What a script needs to read values off the chart."""
    numbers = [n for a in (plot.x, plot.y) for n in (a.low, a.high, a.start, a.end, float(a.log))]
    return " ".join(f"{n:g}" for n in numbers)


def _points(xs: Floats, ys: Floats) -> str:
    """Coordinates, less those that lie between two of the same height: they change nothing."""
    ys = np.round(ys, 1)
    kept = np.ones(len(ys), dtype=np.bool_)
    kept[1:-1] = (ys[1:-1] != ys[:-2]) | (ys[1:-1] != ys[2:])
    pairs = zip(xs[kept].tolist(), ys[kept].tolist(), strict=True)
    return " ".join(f"{px(x)},{px(y)}" for x, y in pairs)


def _unbroken(known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
