"""Set what a run's topics say against what the evaluator wrote of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import RunFolder
from evaluator.quantities import flags, floats, total
from evaluator.rebuild.appending import Arrivals, Stamps
from evaluator.rebuild.counting import Sums
from evaluator.rebuild.demands import Told, check_doubts
from evaluator.rebuild.pauses import Course, Pause, pauses
from evaluator.rebuild.samples import Samples
from evaluator.rebuild.timing import Timing
from evaluator.verify_parts import Check, compare

_OF_A_FAULT = ("slot", "location", "lane", "kind")
_OF_A_STALL = ("start_ms", "end_ms", "gap_ms")


@dataclass(frozen=True, slots=True)
class Found:
    """What a run's topics say."""

    timing: Timing
    stamps: Stamps
    arrivals: Arrivals
    sums: Sums
    samples: Samples

    @property
    def outputs(self) -> dict[str, int | None]:
        return self.sums.outputs(self.arrivals.malformed)

    def stalls(self) -> list[Pause]:
        """None where nothing was measured: there is no median to tell a stall by."""
        span_ms, median_ms = self.timing.span_ms, self.sums.last_ms_median()
        if span_ms is None or median_ms is None:
            return []
        last_ms_of = {ms: last or 0.0 for ms, last in self.sums.last_ms_of.items()}
        return pauses(Course(last_ms_of), self.arrivals.at_ms(), span_ms, median_ms)

    def output_per_s(self) -> float | None:
        """Outputs by when they were appended."""
        span_ms = self.timing.span_ms
        if span_ms is None or not self.arrivals.of_slot:
            return None
        return self.sums.outputs_within(span_ms) / ((span_ms[1] - span_ms[0]) / 1000)

    def appended(self) -> int:
        """Records of the measured slots, of all where none was; and malformed ones."""
        counted = [
            number
            for slot, number in self.arrivals.of_slot.items()
            if slot >= 0 and (self.timing.window is None or self.timing.measures(slot))
        ]
        return sum(counted) + self.arrivals.malformed


def compare_run(
    folder: RunFolder, run: dict[str, Any], conditions: dict[str, Any], found: Found
) -> Iterator[Check]:
    """Everything that stands in run.json, latency.parquet and slots.parquet by the topics."""
    name = folder.path.name
    slots = pq.read_table(folder.slots) if folder.slots.is_file() else None
    told_topics = conditions.get("topics") or {}
    known = {*(told_topics.get("inputs") or {}).values(), told_topics.get("output")}
    yield Check(f"{name} topics: of another run", [], sorted(found.stamps.topics - known))
    yield from _verdicts(f"{name} topics:", run, found)
    yield from found.samples.checks(f"{name} topics:")
    yield from _slots(f"{name} topics: slots.parquet", slots, found)
    yield from _stalls(f"{name} topics: stall_list", run, found)
    told = (run.get("throughput") or {}).get("output_per_s")
    yield compare(f"{name} topics: throughput output_per_s", told, found.output_per_s())
    says = Told(
        found.outputs,
        frozenset(found.stamps.types),
        found.stamps.back_ms_max(),
        found.arrivals.disorder_ms(),
        found.sums.last_ms_min,
        found.appended(),
        _scheduled(folder, slots),
    )
    yield from check_doubts(f"{name} topics:", run, conditions, says)


def _verdicts(where: str, run: dict[str, Any], found: Found) -> Iterator[Check]:
    """How many of each, and where the first outputs at fault are."""
    told = run.get("outputs") or {}
    for key, number in found.outputs.items():
        yield compare(f"{where} outputs {key}", told.get(key), number)
    listed = [tuple(fault.get(k) for k in _OF_A_FAULT) for fault in run.get("at_fault") or []]
    yield Check(f"{where} at_fault", listed, found.sums.at_fault())


def _slots(where: str, table: pa.Table | None, found: Found) -> Iterator[Check]:
    """Of each slot: what was appended, had to come and came."""
    if table is None:
        yield Check(where, "missing", "there")
        return
    numbers = [int(slot) for slot in floats(table, "slot")]
    by_topics: dict[str, Mapping[int, int]] = {
        "appended": found.arrivals.of_slot,
        "expected": found.sums.expected_of_slot,
        "outputs": found.sums.outputs_of_slot,
    }
    for column, of_slot in by_topics.items():
        here = np.array([of_slot.get(slot, 0) for slot in numbers], dtype=np.float64)
        same = (floats(table, column) == here).tolist()
        amiss = [slot for slot, agrees in zip(numbers, same, strict=True) if not agrees]
        yield Check(f"{where} {column}, slots amiss", [], amiss)
    beyond = sorted(slot for slot in found.arrivals.of_slot if slot >= len(numbers))
    yield Check(f"{where}, slots left out", [], beyond)


def _stalls(where: str, run: dict[str, Any], found: Found) -> Iterator[Check]:
    told = [tuple(s.get(k) for k in _OF_A_STALL) for s in run.get("stall_list") or []]
    stalls = found.stalls()
    yield Check(f"{where} how many", len(told), len(stalls))
    for number, (one, other) in enumerate(zip(told, stalls, strict=False), 1):
        yield Check(f"{where} stall {number}", one, other)


def _scheduled(folder: RunFolder, slots: pa.Table | None) -> int | None:
    """Records that had to be sent in the measured slots; None: the publisher left no account."""
    if slots is None or not (folder.evidence / "publisher.json").is_file():
        return None
    measured = flags(slots, "measured")
    return total(slots, "scheduled", measured if measured.any() else ~measured)
