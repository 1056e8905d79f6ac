"""Sum verdicts up: how many outputs got which, and which few are at fault first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from contract.workload import Stage
from evaluator.evidence import TimeAxis

#: so many outputs at fault are told
AT_FAULT_MAX = 5


class Faults:
    """The first few outputs that are not as they must be: where to look."""

    _NAMES = ("verdict", "location", "lane", "kind", "slot", "detail")
    _ORDER = ("slot", "location", "lane", "kind", "token")

    def __init__(self, axis: TimeAxis) -> None:
        self._last_slot = axis.last_measured
        self._held: list[pa.Table] = []

    def add(self, verdicts: pa.Table) -> None:
        """Some of them."""
        if self._last_slot is None:
            return
        verdict = verdicts["verdict"]
        awaited = pc.less_equal(verdicts["awaited_slot"], self._last_slot)
        owed = pc.and_kleene(pc.equal(verdict, "missing"), awaited)
        bad = pc.is_in(verdict, pa.array(["duplicate", "wrong", "unexpected"]))
        self._held = [self._first([*self._held, verdicts.filter(pc.or_kleene(owed, bad))])]

    def first(self) -> list[dict[str, Any]]:
        """They, without those that are owed only after the measured window."""
        rows: list[dict[str, Any]] = []
        for table in self._held:
            rows += table.select(self._NAMES).to_pylist()
        return rows

    def _first(self, tables: Sequence[pa.Table]) -> pa.Table:
        names = list(dict.fromkeys((*self._NAMES, *self._ORDER)))
        rows = pa.concat_tables([table.select(names) for table in tables])
        keys = [(name, "ascending", "at_start") for name in self._ORDER]
        order = pc.sort_indices(rows, sort_keys=keys)
        return rows.take(order[:AT_FAULT_MAX])


@dataclass(frozen=True, slots=True)
class Tally:
    """How many outputs got which verdict."""

    expected: int | None
    correct: int
    missing: int | None
    duplicate: int
    wrong: int
    unexpected: int
    malformed_inputs: int
    incomplete: int

    @property
    def faults(self) -> int:
        """How many outputs are not as they must be."""
        return (self.missing or 0) + self.duplicate + self.wrong + self.unexpected

    def to_json(self) -> dict[str, Any]:
        """As the `outputs` of run.json."""
        return {name: getattr(self, name) for name in self.__slots__}


def tally(rows: list[dict[str, Any]], stage: Stage, axis: TimeAxis, malformed: int) -> Tally:
    """Count verdicts, from the sums by slot and verdict.

    What is awaited is what belongs to the slots up to the end of the measured window; without
    a window nothing is called missing. Outputs of the tail need not come, but must be right.
    """
    measured = axis.last_measured is not None
    whole = axis.last_slot - 1 if axis.last_slot is not None else -1
    last = axis.last_measured if axis.last_measured is not None else whole
    awaited = [r for r in rows if r["awaited_slot"] is not None and r["awaited_slot"] <= last]

    def count(among: list[dict[str, Any]], verdict: str) -> int:
        return sum(r["count"] for r in among if r["verdict"] == verdict)

    complete = [r for r in awaited if r["awaited_slot"] >= stage.look_back_slots]
    return Tally(
        sum(r["expected_copies"] for r in awaited) if measured else None,
        count(awaited, "correct"),
        sum(r["lacking"] for r in awaited) if measured else None,
        count(rows, "duplicate"),
        count(rows, "wrong"),
        count(rows, "unexpected"),
        malformed,
        sum(r["incomplete"] for r in complete),
    )
