"""Put intervals around means over independent runs, and around their sums and ratios; numpy only.

As the Guide to the Expression of Uncertainty in Measurement has it (JCGM 100:2008): what repeated
runs scatter (type A, Student's t) and what the clock cannot resolve (type B) go together in
quadrature, with the effective degrees of freedom of Welch and Satterthwaite. Why:
docs/decisions/0009-statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contract.doubts import CLOCK_GRAIN_MS, CONFIDENCE
from evaluator.arrays import FloatArray

Method = Literal["slots", "runs"]

#: the clock stamps whole milliseconds: an error anywhere within one, as likely here as there
GRAIN_VARIANCE = CLOCK_GRAIN_MS**2 / 12


@dataclass(frozen=True, slots=True)
class Sampled:
    """One statistic of one stage: a value a run; of a single run also its slots' resamples."""

    values: tuple[float, ...]
    resampled: FloatArray | None = None
    #: how many readings of the clock's grain are in it: a difference of two quantiles holds two
    readings: int = 1

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a sample of no run")

    @property
    def runs(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    @property
    def scatter(self) -> float:
        """The variance of the mean over runs."""
        if self.runs < 2:
            return 0.0
        return float(np.var(self.values, ddof=1)) / self.runs

    @property
    def grain(self) -> float:
        """The variance that the clock's grain adds, which no repetition takes away."""
        return self.readings * GRAIN_VARIANCE

    @property
    def variance(self) -> float:
        return self.scatter + self.grain


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval."""

    value: float
    low: float
    high: float
    method: Method
    #: the fewest runs of any stage that is in it
    runs: int


Weights = Mapping[str, float]


def combined(
    of: Mapping[str, Sampled],
    weights: Weights,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The weighted sum of stages' means: a figure, a price, a difference of prices."""
    used = {name: weights[name] for name in sorted(weights) if weights[name]}
    value = math.fsum(weight * of[name].mean for name, weight in used.items())
    runs = min(of[name].runs for name in used)
    if runs > 1:
        half = _critical(of, used, confidence) * math.sqrt(_variance(of, used))
        return Estimate(value, value - half, value + half, "runs", runs)
    low, high = _between(_resampled(of, used, rng), value, confidence)
    return Estimate(value, low, high, "slots", runs)


def ratio(
    of: Mapping[str, Sampled], over: Weights, under: Weights, rng: np.random.Generator
) -> Estimate | None:
    """A ratio of two weighted sums (Fieller); None where the lower is not told to be above 0."""
    above, below = combined(of, over, rng), combined(of, under, rng)
    if below.low <= 0:
        return None
    value, runs = above.value / below.value, min(above.runs, below.runs)
    if runs > 1:
        low, high = _fieller(of, over, under)
        return Estimate(value, low, high, "runs", runs)
    quotients = _resampled(of, over, rng) / _resampled(of, under, rng)
    low, high = _between(quotients[np.isfinite(quotients)], value)
    return Estimate(value, low, high, "slots", runs)


def _variance(of: Mapping[str, Sampled], weights: Weights) -> float:
    return math.fsum(weight**2 * of[name].variance for name, weight in weights.items())


def _critical(of: Mapping[str, Sampled], weights: Weights, confidence: float = CONFIDENCE) -> float:
    """Student's quantile at the effective degrees of freedom; the grain has endless ones."""
    total = _variance(of, weights)
    spent = math.fsum(
        (weight**2 * of[name].scatter) ** 2 / (of[name].runs - 1)
        for name, weight in weights.items()
        if of[name].runs > 1
    )
    return student(total**2 / spent if spent > 0 else math.inf, confidence)


def _fieller(of: Mapping[str, Sampled], over: Weights, under: Weights) -> tuple[float, float]:
    a = math.fsum(weight * of[name].mean for name, weight in over.items())
    b = math.fsum(weight * of[name].mean for name, weight in under.items())
    var_a, var_b = _variance(of, over), _variance(of, under)
    shared = over.keys() & under.keys()
    cov = math.fsum(over[name] * under[name] * of[name].variance for name in shared)
    names = over.keys() | under.keys()
    both = {name: over.get(name, 0.0) - a / b * under.get(name, 0.0) for name in names}
    t = _critical(of, {name: weight for name, weight in both.items() if weight})
    g = t**2 * var_b / b**2
    if g >= 1:
        return -math.inf, math.inf
    inside = var_a - 2 * a / b * cov + (a / b) ** 2 * var_b - g * (var_a - cov**2 / var_b)
    middle, reach = a / b - g * cov / var_b, t / abs(b) * math.sqrt(max(0.0, inside))
    return (middle - reach) / (1 - g), (middle + reach) / (1 - g)


def _resampled(of: Mapping[str, Sampled], weights: Weights, rng: np.random.Generator) -> FloatArray:
    """The weighted sum over resamples: slots of a single run, runs as Student would draw them."""
    size = next(r.size for n in weights if (r := of[n].resampled) is not None)
    total = np.zeros(size)
    # in an order that is the same in every process, for each draws from the same generator
    for name in sorted(weights):
        sampled, weight = of[name], weights[name]
        if sampled.resampled is not None:
            drawn = rng.permutation(sampled.resampled)
        else:
            spread = math.sqrt(sampled.scatter)
            drawn = sampled.mean + spread * rng.standard_t(max(1, sampled.runs - 1), size)
        for _ in range(sampled.readings):
            drawn = drawn + CLOCK_GRAIN_MS * (rng.random(size) - 0.5)
        total += weight * drawn
    return total


def _between(
    drawn: FloatArray, value: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The bootstrap's percentile interval, which holds the value itself in any case."""
    outside = (1 - confidence) / 2
    low, high = np.quantile(drawn, [outside, 1 - outside])
    return min(float(low), value), max(float(high), value)


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The two-sided critical value of Student's t."""
    low, high = 0.0, 1e3
    wanted = 1 - confidence
    for _ in range(60):
        middle = (low + high) / 2
        if _outside(middle, freedom) > wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _outside(t: float, freedom: float) -> float:
    """How probable it is to be farther from zero than t."""
    if freedom > 1e7:
        return math.erfc(t / math.sqrt(2))
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / a / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """1/(1+ d1/(1+ d2/(1+ …))), from its far end."""
    found = 1.0
    for m in range(_TERMS, 0, -1):
        half = m // 2
        if m % 2 == 0:
            d = half * (b - half) * x / ((a + m - 1) * (a + m))
        else:
            d = -(a + half) * (a + b + half) * x / ((a + m - 1) * (a + m))
        found = 1 + d / found
    return found


_TERMS = 200


def of_runs(values: Sequence[float | None], readings: int = 1) -> Sampled | None:
    """A sample of several runs; those that do not tell are left out, None where none does."""
    known = tuple(float(v) for v in values if v is not None)
    return Sampled(known, readings=readings) if known else None
