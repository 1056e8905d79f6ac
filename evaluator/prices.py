"""Put intervals around medians and differences of medians by bootstrap; numpy only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contract.doubts import RUNS_MIN
from evaluator.evidence import FloatArray, IntArray

Method = Literal["slots", "runs"]
Verdict = Literal["costs", "saves", "cannot-be-told", "too-few-runs"]

RESAMPLES = 2000
CONFIDENCE = 0.95
#: latencies are rounded to this before they are resampled
BIN_MS = 0.1
#: neighbouring slots are resampled together where there are more than this
_BLOCKS_MAX = 300
#: bins grow where there are more than this
_BINS_MAX = 20_000
_CHUNK = 200


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often each latency occurs in each block of slots of one run."""

    #: latencies, ascending
    values_ms: FloatArray
    #: blocks × latencies
    counts: IntArray

    @classmethod
    def of(cls, parts: Iterable[tuple[IntArray, FloatArray]]) -> Histogram | None:
        """Of slots and latencies, part by part; None where there are none."""
        codes, counts = np.empty(0, np.int64), np.empty(0, np.int64)
        for slot, latency_ms in parts:
            known = ~np.isnan(latency_ms)
            bins = np.rint(latency_ms[known] / BIN_MS).astype(np.int64) + _ZERO
            found, times = np.unique((slot[known] << _SHIFT) | bins, return_counts=True)
            codes, where = np.unique(np.concatenate([codes, found]), return_inverse=True)
            counts = np.bincount(where, np.concatenate([counts, times])).astype(np.int64)
        if not codes.size:
            return None
        return cls._dense(codes >> _SHIFT, (codes & (2 * _ZERO - 1)) - _ZERO, counts)

    @classmethod
    def _dense(cls, slot: IntArray, bins: IntArray, counts: IntArray) -> Histogram:
        width = 1
        while np.unique(bins // width).size > _BINS_MAX:
            width *= 2
        slots, row = np.unique(slot, return_inverse=True)
        row = row * min(_BLOCKS_MAX, slots.size) // slots.size
        latencies, column = np.unique(bins // width, return_inverse=True)
        table = np.zeros((row.max() + 1, latencies.size), np.int64)
        np.add.at(table, (row, column), counts)
        values_ms = np.asarray(latencies * (width * BIN_MS), np.float64)
        return cls(values_ms, table)

    def resampled_ms(self, rng: np.random.Generator) -> FloatArray:
        """Medians of `RESAMPLES` runs made of this one's slots, drawn with replacement."""
        blocks = self.counts.shape[0]
        share = np.full(blocks, 1 / blocks)
        found = []
        for _ in range(0, RESAMPLES, _CHUNK):
            drawn = rng.multinomial(blocks, share, size=_CHUNK).astype(np.float64)
            found.append(_medians(drawn @ self.counts, self.values_ms))
        return np.concatenate(found)


#: a slot and a latency in one number: the latency, made positive, below
_SHIFT = 32
_ZERO = 1 << 31


def _medians(counts: FloatArray | IntArray, values: FloatArray) -> FloatArray:
    """The median of each row: of an even number of samples the mean of the middle two."""
    ends = np.cumsum(counts, axis=1)
    total = ends[:, -1:]
    low = np.argmax(ends >= np.maximum(np.ceil(total / 2), 1), axis=1)
    high = np.argmax(ends >= np.floor(total / 2) + 1, axis=1)
    return np.asarray((values[low] + values[high]) / 2, np.float64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median, its interval, and the resamples it comes from."""

    p50_ms: float
    low_ms: float
    high_ms: float
    method: Method
    runs: int
    resampled_ms: FloatArray


def estimate(
    runs: Sequence[Histogram], medians_ms: Sequence[float], rng: np.random.Generator
) -> Estimate:
    """The median of the runs' medians; by slots of one run, by runs where there are several.

    Several runs are resampled with their slots: a run is drawn, then its slots. The medians are
    the exact ones of run.json; only the interval comes from latencies rounded to `BIN_MS`.
    """
    by_slots = np.stack([run.resampled_ms(rng) for run in runs])
    resampled_ms = by_slots[0]
    if len(runs) > 1:
        drawn = rng.integers(len(runs), size=(RESAMPLES, len(runs)))
        draw = rng.integers(RESAMPLES, size=(RESAMPLES, len(runs)))
        resampled_ms = np.median(by_slots[drawn, draw], axis=1)
    low_ms, high_ms = interval(resampled_ms)
    method: Method = "runs" if len(runs) > 1 else "slots"
    return Estimate(float(np.median(medians_ms)), low_ms, high_ms, method, len(runs), resampled_ms)


def interval(resampled_ms: FloatArray) -> tuple[float, float]:
    """The bootstrap's percentile interval."""
    outside = (1 - CONFIDENCE) / 2
    low_ms, high_ms = np.quantile(resampled_ms, [outside, 1 - outside])
    return float(low_ms), float(high_ms)


@dataclass(frozen=True, slots=True)
class Price:
    """What a stage costs over its predecessor."""

    price_ms: float
    low_ms: float
    high_ms: float
    method: Method
    verdict: Verdict


def price(stage: Estimate, predecessor: Estimate) -> Price:
    """The difference of two medians that were resampled independently."""
    low_ms, high_ms = interval(stage.resampled_ms - predecessor.resampled_ms)
    fewest = min(stage.runs, predecessor.runs)
    verdict: Verdict = "cannot-be-told"
    if fewest < RUNS_MIN:
        verdict = "too-few-runs"
    elif low_ms > 0:
        verdict = "costs"
    elif high_ms < 0:
        verdict = "saves"
    method: Method = "runs" if fewest > 1 else "slots"
    return Price(stage.p50_ms - predecessor.p50_ms, low_ms, high_ms, method, verdict)
