"""Map values to pixels, choose ticks, keep labels apart, thin out points honestly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.quantities import Floats
from evaluator.report.words import decimal, whole

#: the least latency on a logarithmic axis: half of what the clock resolves
LOG_MS_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from `low` to `high` drawn from pixel `start` to pixel `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"no axis from {self.low} to {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"no logarithmic axis from {self.low}")

    def at(self, value: float) -> float:
        """The pixel of one value; what lies outside is drawn at the edge."""
        return float(self.many(np.array([value]))[0])

    def many(self, values: Floats) -> Floats:
        """The pixels of values."""
        inside = np.clip(values, self.low, self.high)
        low, high = self.low, self.high
        if self.log:
            inside, low, high = np.log10(inside), math.log10(low), math.log10(high)
        return self.start + (inside - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most about `most` round values, with their labels."""
        return _log_ticks(self, most) if self.log else _even_ticks(self, most)


def _log_ticks(axis: Axis, most: int) -> list[tuple[float, str]]:
    decades = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    found: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        values = [s * 10.0**d for d in decades for s in steps]
        found = [v for v in values if axis.low * 0.999 <= v <= axis.high * 1.001]
        if len(found) <= most:
            break
    return [(v, f"{v:g}" if v < 1 else whole(v)) for v in found]


def _even_ticks(axis: Axis, most: int) -> list[tuple[float, str]]:
    rough = (axis.high - axis.low) / max(1, most)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(s * size for s in (1, 2, 2.5, 5, 10) if s * size >= rough * 0.999)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    if step / 10.0**-places % 1 > 1e-6:
        places += 1
    first = math.ceil(axis.low / step - 1e-9)
    last = math.floor(axis.high / step + 1e-9)
    return [(i * step, decimal(i * step, places)) for i in range(first, last + 1)]


def log_range(values: Sequence[Floats]) -> tuple[float, float]:
    """Round ends (1, 2, 5 times a power of ten) for a logarithmic axis over all values."""
    known = [v[np.isfinite(v)] for v in values]
    joined = np.concatenate([*known, np.empty(0)])
    if not len(joined):
        return 1.0, 1000.0
    low = max(LOG_MS_MIN, float(joined.min()))
    high = max(low * 10, float(joined.max()))
    return _round_down(low), _round_up(high)


def _round_up(value: float) -> float:
    size = 10.0 ** math.floor(math.log10(value))
    return next(s * size for s in (1, 2, 5, 10) if s * size >= value * 0.9999)


def _round_down(value: float) -> float:
    size = 10.0 ** math.floor(math.log10(value))
    return next(s * size for s in (5, 2, 1) if s * size <= value * 1.0001)


def even_top(values: Sequence[Floats], least: float = 0.1) -> float:
    """The top of an axis from nought that holds all values."""
    tops = [float(np.nanmax(v)) for v in values if np.isfinite(v).any()]
    return max(least, *tops) * 1.05 if tops else 1.0


def apart(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Centres as near the wanted ones as can be, in their order, with no two overlapping."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    #: groups that touch: (members, left edge)
    groups: list[tuple[list[int], float]] = []
    for i in order:
        members, left = [i], wanted[i] - sizes[i] / 2
        left = _within(left, sizes[i], low, high)
        while groups and groups[-1][1] + sum(sizes[k] for k in groups[-1][0]) > left:
            members = groups.pop()[0] + members
            left = _group_left(members, wanted, sizes)
            left = _within(left, sum(sizes[k] for k in members), low, high)
        groups.append((members, left))
    centres = [0.0] * len(wanted)
    for members, edge in groups:
        for i in members:
            centres[i] = edge + sizes[i] / 2
            edge += sizes[i]
    return centres


def _group_left(members: Sequence[int], wanted: Sequence[float], sizes: Sequence[float]) -> float:
    """Where a group begins so that its members are, on average, where they want to be."""
    lefts, offset = [], 0.0
    for i in members:
        lefts.append(wanted[i] - sizes[i] / 2 - offset)
        offset += sizes[i]
    return sum(lefts) / len(lefts)


def _within(left: float, size: float, low: float, high: float) -> float:
    return max(low, min(left, high - size))


def text_width(words: str, size: float = 12) -> float:
    """About how wide words are drawn, on the safe side."""
    return 0.6 * size * len(words)


def binned(values: Floats, bins: int, reduce: Callable[[Floats], float]) -> Floats:
    """At most `bins` values, each made of as many neighbours; unchanged where they fit."""
    if len(values) <= bins:
        return values
    parts = np.array_split(values, bins)
    return np.array([reduce(p[np.isfinite(p)]) if np.isfinite(p).any() else np.nan for p in parts])
