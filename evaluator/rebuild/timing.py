"""Tell which slot a second or a moment belongs to, by the conductor's conditions of the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evaluator.workload import NO_SECOND

#: slots are int32 in every table
SLOT_BOUND = 2**31


@dataclass(frozen=True, slots=True)
class Timing:
    """A run's slots in event time and on the wall."""

    first_due_ms: float
    event_start_s: int
    slot_ms: float
    #: the last slot that was published whole; -1 where none was
    last_slot: int
    #: measured slots, both included; None: the run never got that far
    window: tuple[int, int] | None
    same_machine: bool

    @classmethod
    def of(cls, conditions: dict[str, Any]) -> Timing:
        window, last_slot = conditions.get("window"), conditions.get("last_slot")
        return cls(
            float(conditions.get("first_due_ms") or 0),
            int(conditions.get("event_start_s") or 0),
            float(conditions.get("slot_ms") or 1000),
            -1 if last_slot is None else int(last_slot),
            (int(window["first_slot"]), int(window["last_slot"])) if window else None,
            bool(conditions.get("same_machine")),
        )

    @property
    def span_ms(self) -> tuple[float, float] | None:
        """Begin and end of the measured window on the wall, half-open."""
        if self.window is None:
            return None
        first, last = self.window
        return (
            self.first_due_ms + first * self.slot_ms,
            self.first_due_ms + (last + 1) * self.slot_ms,
        )

    @property
    def awaited_slot_max(self) -> int:
        """What belongs to a later slot need not come; the last slot may have been cut."""
        return self.last_slot - 1 if self.window is None else self.window[1]

    def slot_of(self, second: int) -> int | None:
        """The slot of an event second; what has no event time, or an absurd one, has none."""
        slot = second - self.event_start_s
        return slot if second != NO_SECOND and -SLOT_BOUND <= slot < SLOT_BOUND else None

    def slot_at(self, at_ms: int) -> int:
        """The slot that lasts at this time."""
        return math.floor((at_ms - self.first_due_ms) / self.slot_ms)

    def due_ms(self, event_us: int) -> float | None:
        """When a record of this event time was due; unknown where clocks are apart."""
        if not self.same_machine:
            return None
        slots = (event_us - self.event_start_s * 1_000_000) / 1_000_000
        return self.first_due_ms + slots * self.slot_ms

    def measures(self, slot: int) -> bool:
        """Whether a slot is measured."""
        return self.window is not None and self.window[0] <= slot <= self.window[1]
