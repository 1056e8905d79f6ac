"""Which inputs an output was made from, by the data alone: no engine is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from contract.workload import Stage
from evaluator.arrays import FloatArray, IntArray
from evaluator.evidence import TimeAxis
from evaluator.workload import IDENTITY, NO_SECOND

_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Sources:
    """By the number of an identity: when the inputs that it could come from were appended."""

    records: IntArray
    mean_ms: FloatArray
    last_ms: IntArray
    event_last_us: IntArray

    @classmethod
    def of(cls, number: IntArray, many: int, at_ms: IntArray, event_us: IntArray) -> Sources:
        """From the inputs' numbers, and when each was appended and due."""
        records = np.bincount(number, minlength=many)
        base_ms = int(at_ms.min(initial=0))
        # what is summed stays whole: a double holds it to the millisecond
        since_ms = np.bincount(number, at_ms - base_ms, minlength=many).astype(np.int64)
        with np.errstate(invalid="ignore"):
            mean_ms = (base_ms * records + since_ms) / records
        last_ms, event_last_us = np.full((2, many), _NEVER)
        np.maximum.at(last_ms, number, at_ms)
        np.maximum.at(event_last_us, number, event_us)
        return cls(records.astype(np.int64), mean_ms, last_ms, event_last_us)


def passing(records: pa.Table, stage: Stage) -> pa.Table:
    """The inputs that a stage makes outputs of, told as it tells its outputs.

    An output's inputs are the records of its identity and second; for a stage that looks back
    those of its own second. A malformed record passes only where a stage passes records on as
    they are.
    """
    if stage.fields:
        records = records.filter(records["well_formed"])
    for name in ("location", "lane", "kind"):
        if name not in stage.identity:
            none = pa.repeat("", records.num_rows)
            records = records.set_column(IDENTITY.index(name), name, none)
    return records


def slots_of(second: IntArray, axis: TimeAxis) -> tuple[IntArray, np.typing.NDArray[np.bool_]]:
    """The slot of each second, and whether it has one: none is without event time, or of
    another century."""
    slot = second - axis.event_start_s
    limits = np.iinfo(np.int32)
    known = (second != NO_SECOND) & (slot >= limits.min) & (slot <= limits.max)
    return np.where(known, slot, 0), known


def due_on_wall_ms(event_us: IntArray, axis: TimeAxis) -> FloatArray:
    """When a record of that event time was due, on the wall."""
    since_ms = event_us / 1000 - axis.event_start_s * 1000.0
    due: FloatArray = axis.first_due_ms + since_ms / 1000 * axis.slot_ms
    return due


def slots_at(at_ms: IntArray, axis: TimeAxis) -> IntArray:
    """The slot that ran on the wall at that time."""
    slot: IntArray = np.floor((at_ms - axis.first_due_ms) / axis.slot_ms).astype(np.int64)
    return slot
