"""Count in how many runs of each side a doubt arose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.estimates import EndedRun


@dataclass(frozen=True, slots=True)
class DoubtCount:
    """In how many runs of each side a doubt arose."""

    id: str
    severity: str
    a: int
    b: int

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "severity": self.severity, "a": self.a, "b": self.b}


def doubts_of(a: Sequence[EndedRun], b: Sequence[EndedRun]) -> tuple[DoubtCount, ...]:
    """The gravest first, then the most frequent."""
    count_a, count_b = _doubted(a), _doubted(b)
    found = [DoubtCount(*key, count_a[key], count_b[key]) for key in count_a | count_b]
    return tuple(sorted(found, key=lambda d: (d.severity != "invalid", -d.a - d.b, d.id)))


def _doubted(runs: Sequence[EndedRun]) -> Counter[tuple[str, str]]:
    return Counter(
        key for run in runs for key in {(d["id"], d["severity"]) for d in run.told["doubts"]}
    )
