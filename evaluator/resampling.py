"""Resample the slots of a single run: how its quantiles would scatter; numpy only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.arrays import FloatArray, IntArray

RESAMPLES = 2000
#: latencies are rounded to this before they are resampled
BIN_MS = 0.1
#: neighbouring slots are resampled together where there are more than this
_BLOCKS_MAX = 300
#: bins grow where there are more than this
_BINS_MAX = 20_000
_CHUNK = 200


class Counts:
    """How often each latency occurs in each slot; grows with what is distinct, not with samples."""

    def __init__(self) -> None:
        #: a slot and a latency in one number, and how often it occurs
        self._codes, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, slot: IntArray, latency_ms: FloatArray) -> None:
        """Some samples more; those that are not a number do not count."""
        known = ~np.isnan(latency_ms)
        bins = np.rint(latency_ms[known] / BIN_MS).astype(np.int64) + _ZERO
        found, times = np.unique((slot[known] << _SHIFT) | bins, return_counts=True)
        codes, where = np.unique(np.concatenate([self._codes, found]), return_inverse=True)
        counts = np.bincount(where, np.concatenate([self._counts, times]))
        self._codes, self._counts = codes, counts.astype(np.int64)

    def histogram(self) -> Histogram | None:
        """All of them by blocks of slots; None where there are none."""
        if not self._codes.size:
            return None
        bins = (self._codes & (2 * _ZERO - 1)) - _ZERO
        return Histogram.dense(self._codes >> _SHIFT, bins, self._counts)


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
        counts = Counts()
        for slot, latency_ms in parts:
            counts.add(slot, latency_ms)
        return counts.histogram()

    @classmethod
    def dense(cls, slot: IntArray, bins: IntArray, counts: IntArray) -> Histogram:
        """Of slots, latencies in bins, and how often each pair occurs."""
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

    def resampled_ms(
        self, quantiles: Mapping[str, float], rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Quantiles of `RESAMPLES` runs made of this one's slots, drawn with replacement."""
        blocks = self.counts.shape[0]
        share = np.full(blocks, 1 / blocks)
        found: dict[str, list[FloatArray]] = {name: [] for name in quantiles}
        for _ in range(0, RESAMPLES, _CHUNK):
            drawn = rng.multinomial(blocks, share, size=_CHUNK).astype(np.float64)
            ends = np.cumsum(drawn @ self.counts, axis=1)
            for name, q in quantiles.items():
                found[name].append(_quantile(ends, self.values_ms, q))
        return {name: np.concatenate(parts) for name, parts in found.items()}


#: a slot and a latency in one number: the latency, made positive, below
_SHIFT = 32
_ZERO = 1 << 31


def _quantile(ends: FloatArray, values: FloatArray, q: float) -> FloatArray:
    """The quantile of each row of summed counts: the mean of the two samples it lies between."""
    rank = (ends[:, -1:] - 1) * q
    low = np.argmax(ends >= np.floor(rank) + 1, axis=1)
    high = np.argmax(ends >= np.ceil(rank) + 1, axis=1)
    return np.asarray((values[low] + values[high]) / 2, np.float64)
