"""Sum verdicts up: what run.json, slots.parquet and latency.parquet must say of them."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from statistics import median
from typing import NamedTuple

from contract.workload import Stage
from evaluator.rebuild.matching import Judged, Source
from evaluator.rebuild.timing import Timing

#: so many outputs at fault are told
AT_FAULT_MAX = 5
FAULTS = ("missing", "duplicate", "wrong", "unexpected")

#: slot, location, lane, kind: what stands in `at_fault`, in its order
Place = tuple[int | None, str | None, str | None, str | None]


class Row(NamedTuple):
    """A row of latency.parquet, what is null there as ''."""

    location: str
    lane: str
    kind: str
    slot: int
    output_ms: int
    input_last_ms: int
    input_mean_ms: float
    due_ms: float | None


class Sums:
    """What the verdicts of a run come to."""

    def __init__(self, stage: Stage, timing: Timing) -> None:
        self._stage, self._timing = stage, timing
        self._all: Counter[str] = Counter()
        self._awaited: Counter[str] = Counter()
        self._faults: list[tuple[bool, int, str, str, str, str]] = []
        #: slot → how many outputs had to come, and came
        self.expected_of_slot: Counter[int] = Counter()
        self.outputs_of_slot: Counter[int] = Counter()
        #: millisecond of outputs → the largest `last` among them; 0 where no input is known
        self.last_ms_of: dict[int, float | None] = {}
        self.outputs_of_ms: Counter[int] = Counter()
        self.last_ms_min: int | None = None
        self._measured_last_ms = array("q")
        #: verdicts that were given, outputs and what is missing
        self.verdicts = 0

    def add(self, judged: Judged) -> Row | None:
        """Count it; gives the row of latency.parquet that it makes, if it makes one."""
        self._count(judged)
        if judged.at_ms is None:
            return None
        self.outputs_of_ms[judged.at_ms] += 1
        if judged.slot is not None:
            self.outputs_of_slot[judged.slot] += 1
        if judged.source is None:
            self.last_ms_of.setdefault(judged.at_ms, None)
            return None
        last_ms = judged.at_ms - judged.source.at_ms_last
        known = self.last_ms_of.get(judged.at_ms)
        self.last_ms_of[judged.at_ms] = last_ms if known is None else max(known, last_ms)
        self.last_ms_min = last_ms if self.last_ms_min is None else min(self.last_ms_min, last_ms)
        return self._row(judged, judged.at_ms, judged.source)

    def _count(self, judged: Judged) -> None:
        verdict, awaited = judged.verdict, judged.awaited
        self.verdicts += verdict != "incomplete"
        self._all[verdict] += 1
        if judged.slot is not None:
            self.expected_of_slot[judged.slot] += judged.expected
        due = awaited is not None and awaited <= self._timing.awaited_slot_max
        if verdict in FAULTS and (due or verdict != "missing"):
            self._note_fault(judged)
        if not due or awaited is None:
            return
        self._awaited[verdict] += 1
        self._awaited["expected"] += judged.expected
        self._awaited["lacking"] += judged.lacking
        self._awaited["not whole"] += awaited >= self._stage.look_back_slots and _not_whole(judged)

    def _note_fault(self, judged: Judged) -> None:
        location, lane, kind, _, token = judged.identity
        # what has no slot stands first
        place = (False, 0) if judged.slot is None else (True, judged.slot)
        fault = (*place, location, lane, kind, token)
        self._faults = heapq.nsmallest(AT_FAULT_MAX, [*self._faults, fault])

    def _row(self, judged: Judged, at_ms: int, source: Source) -> Row | None:
        """What is measured: the first output of what was expected, right or wrong."""
        slot = judged.slot
        if judged.verdict not in ("correct", "wrong"):
            return None
        if slot is None or not self._timing.measures(slot):
            return None
        self._measured_last_ms.append(at_ms - source.at_ms_last)
        due_ms = self._timing.due_ms(source.event_us_last)
        place = judged.identity[:3]
        return Row(*place, slot, at_ms, source.at_ms_last, source.at_ms_mean, due_ms)

    def outputs(self, malformed: int) -> dict[str, int | None]:
        """The `outputs` of run.json: without a window nothing is called missing."""
        measured = self._timing.window is not None
        return {
            "expected": self._awaited["expected"] if measured else None,
            "correct": self._awaited["correct"],
            "missing": self._awaited["lacking"] if measured else None,
            "duplicate": self._all["duplicate"],
            "wrong": self._all["wrong"],
            "unexpected": self._all["unexpected"],
            "malformed_inputs": malformed,
            "incomplete": self._awaited["not whole"],
        }

    def at_fault(self) -> list[Place]:
        """The places of the first outputs that are not as they must be."""
        if self._timing.window is None:
            return []
        return [
            (slot if has_slot else None, location or None, lane or None, kind or None)
            for has_slot, slot, location, lane, kind, _ in self._faults
        ]

    def outputs_within(self, span_ms: tuple[float, float]) -> int:
        """How many outputs were appended in that time."""
        return sum(n for ms, n in self.outputs_of_ms.items() if span_ms[0] <= ms < span_ms[1])

    def last_ms_median(self) -> float | None:
        """The median of `last` over the measured outputs."""
        return float(median(self._measured_last_ms)) if self._measured_last_ms else None


def _not_whole(judged: Judged) -> bool:
    """Whether this tells, and tells first, of inputs that no output can come of."""
    unasked = judged.verdict == "unexpected" and judged.first and judged.source is not None
    return unasked or judged.verdict == "incomplete"
