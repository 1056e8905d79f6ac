"""Tell when the window of a slot may close: when a record of a later slot has been appended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evaluator.arrays import IntArray


@dataclass(frozen=True, slots=True)
class WindowEnds:
    """The first sign of each slot, or of any later one, in the input topics together."""

    #: slots of which records were appended, ascending
    slots: IntArray
    #: when the first record of that slot or a later one was appended
    first_ms: IntArray

    @classmethod
    def of(cls, slot: IntArray, at_ms: IntArray) -> WindowEnds:
        """From the slots of records and when they were appended, in any order."""
        slots, where = np.unique(slot, return_inverse=True)
        first_ms = np.full(slots.size, np.iinfo(np.int64).max)
        np.minimum.at(first_ms, where, at_ms)
        return cls(slots, np.minimum.accumulate(first_ms[::-1])[::-1])

    def after(self, slot: IntArray) -> pa.Array:
        """When the window of each of these slots may close; null where nothing came later."""
        index = np.searchsorted(self.slots, slot, "right")
        return pa.array(np.append(self.first_ms, 0)[index], mask=index == self.slots.size)
