"""Resample the slots of a single run: how its quantiles would scatter; numpy only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.evidence import FloatArray, IntArray

RESAMPLES = 2000
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
