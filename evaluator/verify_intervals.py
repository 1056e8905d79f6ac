"""Compute means and Student's intervals over runs by other means than those that told them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from contract.doubts import CLOCK_GRAIN_MS, CONFIDENCE

_GRID = 100_001


def interval(
    values: Mapping[str, Sequence[float]], weights: Mapping[str, float]
) -> tuple[float, float, float]:
    """Of a weighted sum of means, each over two runs or more: value, low, high."""
    value = sum(weights[name] * statistics.fmean(values[name]) for name in weights)
    # standard uncertainties: of the mean over runs, and of a reading of the clock's grain
    scatter = {
        name: weight**2 * statistics.variance(values[name]) / len(values[name])
        for name, weight in weights.items()
    }
    grain = sum(weight**2 for weight in weights.values()) * CLOCK_GRAIN_MS**2 / 12
    total = sum(scatter.values()) + grain
    terms = sum(part**2 / (len(values[name]) - 1) for name, part in scatter.items())
    half = critical(total**2 / terms if terms else math.inf) * math.sqrt(total)
    return value, value - half, value + half


@lru_cache(maxsize=4096)
def critical(freedom: float) -> float:
    """Student's two-sided critical value: t = √ν tan θ, where θ has the density cos^(ν−1)."""
    if freedom > 1e7:
        return statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    # beyond that the density of many degrees of freedom is nought
    theta = np.linspace(0, min(math.pi / 2, 40 / math.sqrt(freedom)), _GRID)
    density = np.cos(theta) ** (freedom - 1)
    share = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(CONFIDENCE * share[-1], share, theta)))
