"""Say what each recorded lane reports in each slot: minute after minute, copied, and over again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from contract.errors import UsageError
from contract.workloads.traffic import KINDS
from publisher import plan
from publisher.order import Order
from publisher.source import Batch, Due, Facts, Share, Texts, slices
from publisher.workloads.traffic.recording import Identity, Recording, sort_key

Objects = npt.NDArray[np.object_]

#: an id has five digits for its copy
COPIES_MAX = 100_000
#: of a value: what stands before its timestamp, the second, the rest of it, what stands after
_PIECES = 4
_MILLISECONDS = np.array([b".%03dZ" % ms for ms in range(1000)], dtype=object)
_STAMP_BYTES = len("2026-01-05T07:00:17.437Z")


@dataclass(frozen=True, slots=True)
class Minute:
    """The records of a minute of data, location by location, as columns."""

    location_of: plan.Ints
    key_of: plan.Ints
    topics: plan.Ints
    #: of each value, before its timestamp and after it
    heads: Objects
    tails: Objects
    sizes: plan.Ints


@dataclass(frozen=True, slots=True)
class Records:
    """A share's records of a slot, as columns."""

    due_ns: plan.Ints
    event_ms: plan.Ints
    location: plan.Ints
    #: in the minute
    row: plan.Ints


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

    def due(self, slot: int) -> Due:
        """The share's records of a slot: those there are, spread evenly."""
        minute = self._minutes[slot % len(self._minutes)]
        base_of, row_of = self._copied(minute)
        order_of = plan.sending_order(self._order.arrival, base_of, self._locations)
        sent_from = base_of[order_of]
        ours = np.flatnonzero(sent_from % self._share.senders == self._share.index)
        records = Records(
            due_ns=plan.offsets_ns(len(order_of), self._order.slot_ns)[ours]
            + slot * self._order.slot_ns,
            event_ms=plan.event_ms(len(order_of))[ours],
            location=sent_from[ours],
            row=row_of[order_of][ours],
        )
        second = plan.event_second(self._event_start, slot)
        return Due(len(ours), self._put_together(minute, second, records))

    def _put_together(self, minute: Minute, second: bytes, records: Records) -> Iterator[Batch]:
        for rows in slices(len(records.row)):
            row, location = records.row[rows], records.location[rows]
            pieces = [second] * (_PIECES * len(row))
            pieces[0::_PIECES] = minute.heads[row].tolist()
            pieces[2::_PIECES] = _MILLISECONDS[records.event_ms[rows]].tolist()
            pieces[3::_PIECES] = minute.tails[row].tolist()
            copy = location // len(self._bases)
            yield Batch(
                due_ns=records.due_ns[rows],
                topics=minute.topics[row],
                partitions=self._partitions[location],
                keys=Texts.of(self._keys[copy, minute.key_of[row]].tolist()),
                values=Texts.end_to_end(b"".join(pieces), minute.sizes[row] + _STAMP_BYTES),
            )

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
        self._keys = np.array(
            [
                [f"{location}/{copy:05d}/{lane}".encode() for location, lane in lanes]
                for copy in range(copies)
            ],
            dtype=object,
        )
        self._partitions = np.array(
            [
                plan.partition_of(f"{base}/{copy:05d}", self._order.partitions)
                for copy in range(copies)
                for base in self._bases
            ],
            dtype=np.int64,
        )

    def _lay_out_minute(self, records: dict[Identity, tuple[bytes, bytes]]) -> Minute:
        who = sorted(records, key=sort_key)
        return Minute(
            location_of=np.array([self._base_of[w[0]] for w in who], dtype=np.int64),
            key_of=np.array([self._key_of[w[:2]] for w in who], dtype=np.int64),
            topics=np.array([KINDS.index(w[2]) for w in who], dtype=np.int64),
            heads=np.array([records[w][0] for w in who], dtype=object),
            tails=np.array([records[w][1] for w in who], dtype=object),
            sizes=np.array([sum(map(len, records[w])) for w in who], dtype=np.int64),
        )
