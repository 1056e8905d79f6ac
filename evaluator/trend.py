"""Tell a trend from noise in a row of figures; numpy only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: more points than this are thinned out: the slope takes all pairs
_POINTS_MAX = 2000


def slope_over_window(values: Sequence[float]) -> float:
    """By how much the values grow from first to last; Theil–Sen, so outliers do not count."""
    y = np.asarray(values, np.float64)
    x = np.arange(y.size, dtype=np.float64)
    step = -(-y.size // _POINTS_MAX)
    x_of, y_of = x[::step], y[::step]
    low, high = np.triu_indices(x_of.size, 1)
    if not low.size:
        return 0.0
    slopes = (y_of[high] - y_of[low]) / (x_of[high] - x_of[low])
    return float(np.median(slopes) * (y.size - 1))


def thirds(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The medians of the first and the last third; none of fewer than three values."""
    third = len(values) // 3
    if not third:
        return None, None
    return float(np.median(values[:third])), float(np.median(values[-third:]))
