"""Tell from the append times of a run's records what they say of clock, order and slots."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evaluator.rebuild.timing import Timing
from evaluator.workload import NO_SECOND

Ints = npt.NDArray[np.int64]


class Stamps:
    """How the brokers stamped records, inputs and outputs alike."""

    def __init__(self) -> None:
        self.types: set[int] = set()
        self._of_place: dict[tuple[str, int], list[tuple[Ints, Ints]]] = {}

    def add(self, batch: pa.Table) -> None:
        """Records as they were collected."""
        self.types.update(batch["timestamp_type"].unique().to_pylist())
        offset, at_ms = (batch[name].to_numpy() for name in ("offset", "timestamp_ms"))
        partition = batch["partition"].to_numpy()
        topic = np.array(batch["topic"].to_pylist(), dtype=object)
        for name in set(topic.tolist()):
            for number in np.unique(partition[topic == name]).tolist():
                mine = (topic == name) & (partition == number)
                held = self._of_place.setdefault((str(name), number), [])
                held.append((offset[mine], at_ms[mine]))

    @property
    def topics(self) -> set[str]:
        """The topics that the records say they were collected from."""
        return {topic for topic, _ in self._of_place}

    def back_ms_max(self) -> int:
        """How far a record's time lies before that of an earlier one in its partition."""
        worst = 0
        for held in self._of_place.values():
            offset, at_ms = (np.concatenate(column) for column in zip(*held, strict=True))
            in_order = at_ms[np.argsort(offset, kind="stable")]
            if len(in_order):
                behind = np.maximum.accumulate(in_order) - in_order
                worst = max(worst, int(behind.max()))
        return worst


class Arrivals:
    """When the input records were appended."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self.malformed = 0
        #: slot → records of it
        self.of_slot: dict[int, int] = {}
        self._first_ms: dict[int, int] = {}
        #: millisecond → least and largest event time appended in it; None where none is known
        self._event_us: dict[int, tuple[int, int] | None] = {}

    def add(self, read: pa.Table) -> None:
        """Records as the judge read them."""
        self.malformed += read.num_rows - int(np.sum(read["well_formed"].to_numpy()))
        second, at_ms = read["second"].to_numpy(), read["timestamp_ms"].to_numpy()
        for ms in np.unique(at_ms).tolist():
            self._event_us.setdefault(ms, None)
        timed = second != NO_SECOND
        slot = second[timed] - self._timing.event_start_s
        numbers, counts = np.unique(slot, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self.of_slot[number] = self.of_slot.get(number, 0) + count
        for number, ms in _least(slot, at_ms[timed]):
            self._first_ms[number] = min(ms, self._first_ms.get(number, ms))
        self._note_events(at_ms[timed], read["event_us"].to_numpy()[timed])

    def _note_events(self, at_ms: Ints, event_us: Ints) -> None:
        most = dict(_least(at_ms, -event_us))
        for ms, least in _least(at_ms, event_us):
            known = self._event_us[ms] or (least, -most[ms])
            self._event_us[ms] = (min(known[0], least), max(known[1], -most[ms]))

    def at_ms(self) -> list[int]:
        """The milliseconds in which something was appended, ascending."""
        return sorted(self._event_us)

    def disorder_ms(self) -> float:
        """How far event time fell behind what had been appended in an earlier millisecond."""
        seen_us: int | None = None
        worst_us = 0
        for ms in self.at_ms():
            events = self._event_us[ms]
            if events is None:
                continue
            if seen_us is not None:
                worst_us = max(worst_us, seen_us - events[0])
            seen_us = events[1] if seen_us is None else max(seen_us, events[1])
        return worst_us / 1000

    def window_ends_ms(self) -> dict[int, int | None]:
        """Slot → when the first record of any later slot was appended."""
        found: dict[int, int | None] = {}
        earliest: int | None = None
        for slot in sorted(self._first_ms, reverse=True):
            found[slot] = earliest
            first_ms = self._first_ms[slot]
            earliest = first_ms if earliest is None else min(earliest, first_ms)
        return found


def _least(of: Ints, values: Ints) -> Iterable[tuple[int, int]]:
    """Each number in `of`, with the least of its values."""
    order = np.lexsort((values, of))
    numbers, first = np.unique(of[order], return_index=True)
    return zip(numbers.tolist(), values[order][first].tolist(), strict=True)
