"""Exact quantiles of many values from their counts; numpy only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from contract.results import QUANTILES
from evaluator.arrays import FloatArray, IntArray

#: how many distinct values wait before they are merged
_MERGE_AT = 4_000_000


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distinct values, ascending, and how often each occurs."""

    values: FloatArray
    counts: IntArray

    @classmethod
    def of(cls, samples: FloatArray) -> Distribution:
        """Of samples; those that are not a number do not count."""
        values, counts = np.unique(samples[~np.isnan(samples)], return_counts=True)
        return cls(values.astype(np.float64), counts.astype(np.int64))

    @classmethod
    def merged(cls, parts: Iterable[Distribution]) -> Distribution:
        """Of several together, in bounded memory."""
        held: list[Distribution] = []
        for part in parts:
            held.append(part)
            if sum(p.values.size for p in held) > _MERGE_AT:
                held = [_merge(held)]
        return _merge(held)

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def quantile(self, q: float) -> float:
        """By linear interpolation, to the bit what numpy says of the single values."""
        last = self.count - 1
        virtual = last * q
        below = int(np.floor(virtual))
        share = virtual - below
        ends = np.cumsum(self.counts)
        low, high = (
            float(self.values[np.searchsorted(ends, min(rank, last), side="right")])
            for rank in (below, below + 1)
        )
        step = high - low
        return high - step * (1 - share) if share >= 0.5 else low + step * share

    def quantile_if_any(self, q: float) -> float | None:
        """The same; nothing, where there are no values."""
        return self.quantile(q) if self.count else None

    def summary(self) -> dict[str, Any]:
        """Count, average, extremes and quantiles as run.json has them; nulls where none."""
        names = ["avg", "min", *(name for name, _ in QUANTILES), "max"]
        if not self.count:
            return {"count": 0, **dict.fromkeys(names)}
        return {
            "count": self.count,
            "avg": float(np.average(self.values, weights=self.counts)),
            "min": float(self.values[0]),
            **{name: self.quantile(q) for name, q in QUANTILES},
            "max": float(self.values[-1]),
        }


def _merge(parts: list[Distribution]) -> Distribution:
    if not parts:
        return Distribution(np.empty(0), np.empty(0, np.int64))
    if len(parts) == 1:
        return parts[0]
    values, where = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
    counts = np.bincount(where, weights=np.concatenate([p.counts for p in parts]))
    return Distribution(values, np.rint(counts).astype(np.int64))
