"""Say what each recorded lane reports in each slot: minute after minute, copied, and over again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np

from contract.errors import UsageError
from publisher import plan
from publisher.order import Order
from publisher.source import Facts, Record, Share
from publisher.workloads.traffic.recording import Identity, Recording, sort_key

#: an id has five digits for its copy
COPIES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Minute:
    """The records of a minute of data, location by location, as columns."""

    location_of: plan.Ints
    key_of: plan.Ints
    topics: list[str]
    heads: list[bytes]
    tails: list[bytes]


def scaled_locations(records_of: Sequence[int], wanted: int) -> int:
    """How many locations, copies included, have that many records or just over it.

    Whole copies of all, then a prefix of one more; `records_of` says how many each location has.
    """
    copies, rest = divmod(wanted, sum(records_of))
    prefix = 0
    while rest > 0:
        rest -= records_of[prefix]
        prefix += 1
    return copies * len(records_of) + prefix


class RecordedSource:
    """A sender's share of a recording. Where lanes are missing, the slot has fewer records."""

    def __init__(self, order: Order, share: Share, path: Path) -> None:
        recording = Recording(path)
        identities = sorted({who for m in recording.minutes.values() for who in m}, key=sort_key)
        records_of = Counter(location for location, _, _ in identities)
        self._order = order
        self._share = share
        self._bases = list(records_of)
        self._locations = scaled_locations(list(records_of.values()), order.records_per_slot)
        if self._locations > COPIES_MAX * len(self._bases):
            raise UsageError(f"RATE={order.rate} needs more than {COPIES_MAX} copies of {path}")
        self._event_start = plan.event_start(order.seed)
        self._lay_out_keys(identities)
        self._minutes = [
            self._lay_out_minute(recording.minutes[minute]) for minute in sorted(recording.minutes)
        ]
        copies, prefix = divmod(self._locations, len(self._bases))
        self._facts = Facts(
            locations=self._locations,
            records_per_slot=copies * len(identities)
            + sum(records_of[base] for base in self._bases[:prefix]),
            event_start_s=int(self._event_start.timestamp()),
            report=recording.report,
        )

    @property
    def facts(self) -> Facts:
        """What holds of the recording as a whole; the records a slot are those of a full one."""
        return self._facts

    def records(self, slot: int) -> Iterator[Record]:
        """The share's records of a slot: those there are, spread evenly."""
        minute = self._minutes[slot % len(self._minutes)]
        base_of, row_of = self._copied(minute)
        order_of = plan.sending_order(self._order.arrival, base_of, self._locations)
        sent_from = base_of[order_of]
        ours = np.flatnonzero(sent_from % self._share.senders == self._share.index)
        dues = (
            plan.offsets_ns(len(order_of), self._order.slot_ns)[ours] + slot * self._order.slot_ns
        )
        second = (self._event_start + timedelta(seconds=slot)).strftime("%Y-%m-%dT%H:%M:%S")
        due_ms = plan.event_ms(len(order_of))[ours]
        rows = zip(
            dues.tolist(),
            due_ms.tolist(),
            sent_from[ours].tolist(),
            row_of[order_of][ours].tolist(),
            strict=True,
        )
        return self._put_together(minute, second.encode(), rows)

    def _put_together(
        self, minute: Minute, second: bytes, rows: Iterable[tuple[int, int, int, int]]
    ) -> Iterator[Record]:
        bases = len(self._bases)
        for due_ns, ms, location, row in rows:
            key = self._keys[location // bases][minute.key_of[row]]
            stamp = b"%b.%03dZ" % (second, ms)
            value = b"".join((minute.heads[row], stamp, minute.tails[row]))
            yield due_ns, minute.topics[row], self._partitions[location], key, value

    def _copied(self, minute: Minute) -> tuple[plan.Ints, plan.Ints]:
        """Location and row of each record of a slot, over all copies, location by location."""
        bases, rows = len(self._bases), len(minute.heads)
        copies, prefix = divmod(self._locations, bases)
        locations, numbers = [], []
        for copy in range(copies + (prefix > 0)):
            taken = rows
            if copy == copies:
                taken = int(np.searchsorted(minute.location_of, prefix))
            locations.append(minute.location_of[:taken] + copy * bases)
            numbers.append(np.arange(taken, dtype=np.int64))
        return np.concatenate(locations), np.concatenate(numbers)

    def _lay_out_keys(self, identities: list[Identity]) -> None:
        lanes = list(dict.fromkeys((location, lane) for location, lane, _ in identities))
        self._key_of = {lane: number for number, lane in enumerate(lanes)}
        self._base_of = {base: number for number, base in enumerate(self._bases)}
        copies = -(-self._locations // len(self._bases))
        self._keys = [
            [f"{location}/{copy:05d}/{lane}".encode() for location, lane in lanes]
            for copy in range(copies)
        ]
        self._partitions = [
            plan.partition_of(f"{base}/{copy:05d}", self._order.partitions)
            for copy in range(copies)
            for base in self._bases
        ]

    def _lay_out_minute(self, records: dict[Identity, tuple[bytes, bytes]]) -> Minute:
        who = sorted(records, key=sort_key)
        return Minute(
            location_of=np.array([self._base_of[w[0]] for w in who], dtype=np.int64),
            key_of=np.array([self._key_of[w[:2]] for w in who], dtype=np.int64),
            topics=[self._order.topics[w[2]] for w in who],
            heads=[records[w][0] for w in who],
            tails=[records[w][1] for w in who],
        )
