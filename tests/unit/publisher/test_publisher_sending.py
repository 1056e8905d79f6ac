"""One sender against a clock and a producer that are ours: open loop, and honest evidence."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import ServiceFailed
from publisher.audit import Ledger
from publisher.gate import Gate
from publisher.librdkafka import Report
from publisher.messages import Totals
from publisher.plan import Ints
from publisher.sender_process import send_slots
from publisher.sending import TICK_NS, Sender
from publisher.source import Batch, Due, Facts, Texts

START_NS = 7_000_000_000
SLOT_NS = 100_000_000


@dataclass
class World:
    """A clock that moves when someone sleeps or works, and a Kafka that takes what it is given."""

    now_ns: int = START_NS
    #: what handing one record over costs
    produce_ns: int = 1_000
    #: calls of hand_over, counted from 0, that find no room behind so many records
    full: dict[int, int] = field(default_factory=dict)
    #: records that are refused at once, counted from 0
    refuses: set[int] = field(default_factory=set)
    #: records whose delivery fails, counted from 0
    fails: set[int] = field(default_factory=set)
    #: records for which no report ever comes
    silent: set[int] = field(default_factory=set)
    #: raised by the next call of hand_over
    fatal: Exception | None = None
    #: when the call ended that took it, and its number
    produced: list[tuple[int, int]] = field(default_factory=list)
    calls: int = 0
    reported: list[int] = field(default_factory=list)

    def clock(self) -> int:
        """As time.monotonic_ns."""
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        """As time.sleep."""
        self.now_ns += round(seconds * 1e9)

    def partitions(self, _topic: int, _wait_s: float) -> int:
        """As a client's."""
        return 1

    def loads(self, batch: Batch, first_row: int) -> list[WorldLoad]:
        """As a client's."""
        parts = [np.flatnonzero(batch.topics == topic) for topic in range(2)]
        return [WorldLoad(self, part, first_row) for part in parts]

    def reports(self, wait_s: float) -> Report | None:
        """As a client's: time passes, and reports come."""
        self.now_ns += round(wait_s * 1e9)
        told = [row for row in self.reported if row not in self.silent]
        self.reported = [row for row in self.reported if row in self.silent]
        if not told:
            return None
        return Report(np.array(told), np.array([row not in self.fails for row in told]))

    def waiting(self) -> int:
        """As a client's."""
        return len(self.reported)

    def give_up(self) -> None:
        """As a client's."""
        self.fails |= self.silent
        self.silent = set()


@dataclass
class WorldLoad:
    """Records of one topic, for that Kafka."""

    world: World
    indices: Ints
    first_row: int

    def hand_over(self, first: int, end: int) -> tuple[int, Ints]:
        """As a load's."""
        world = self.world
        if world.fatal is not None:
            raise world.fatal
        taken = min(end, first + world.full.get(world.calls, end))
        world.calls += 1
        refused, handed = [], []
        for place in range(first, taken):
            row = self.first_row + int(self.indices[place])
            world.now_ns += world.produce_ns
            if row in world.refuses:
                refused.append(place)
                continue
            handed.append(row)
        world.reported += handed
        world.produced += [(world.now_ns, row) for row in handed]
        return taken, np.array(refused, dtype=np.int64)


@dataclass
class Bench:
    """A sender in a world, with its ledger's spool."""

    world: World
    spool: io.BytesIO = field(default_factory=io.BytesIO)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.spool)
        self.sender = Sender(self.world, self.ledger, self.world.clock, self.world.sleep)
        self.sender.start(START_NS)

    def close(self) -> tuple[Totals, Any]:
        """Totals and rows of the evidence."""
        self.sender.finish()
        totals = self.ledger.close()
        kinds = [("slot", "<i4"), ("due_us", "<i8"), ("late_us", "<i4"), ("ack_us", "<i4")]
        return totals, np.frombuffer(self.spool.getvalue(), dtype=kinds)


def slot_of(slot: int, records: int, batch: int = 7) -> Due:
    """A slot's records, evenly spread, over two topics in turn."""

    def batches() -> Iterator[Batch]:
        for first in range(0, records, batch):
            rows = np.arange(first, min(first + batch, records), dtype=np.int64)
            texts = Texts.of([f"{slot}/{row}".encode() for row in rows])
            due_ns = slot * SLOT_NS + rows * SLOT_NS // records
            yield Batch(due_ns, rows % 2, rows * 0, texts, texts)

    return Due(records, batches())


@given(st.integers(1, 300), st.integers(0, 50_000))
def test_nothing_is_sent_early_and_nothing_that_can_be_in_time_is_late(
    records: int, produce_ns: int
) -> None:
    world = World(produce_ns=min(produce_ns, SLOT_NS // records // 3))
    bench = Bench(world)
    for slot in range(3):
        bench.sender.send(slot, slot_of(slot, records))
    totals, rows = bench.close()
    assert totals == Totals(3 * records, 3 * records, 3 * records, 0)
    assert rows["late_us"].min() >= 0
    # a tick's records, each of which takes its time
    assert rows["late_us"].max() <= 2 * TICK_NS // 1000
    assert rows["due_us"].tolist() == [
        (slot * SLOT_NS + i * SLOT_NS // records) // 1000
        for slot in range(3)
        for i in range(records)
    ]
    assert rows["slot"].tolist() == [slot for slot in range(3) for _ in range(records)]


def test_behind_schedule_it_sends_at_once_and_catches_up_without_moving_the_schedule() -> None:
    world = World(now_ns=START_NS + SLOT_NS)
    bench = Bench(world)
    for slot in range(3):
        bench.sender.send(slot, slot_of(slot, 100))
    totals, rows = bench.close()
    assert totals.acknowledged == 300
    first, last = rows[:100], rows[200:]
    assert first["late_us"][0] >= SLOT_NS // 1000
    assert world.produced[99][0] < START_NS + SLOT_NS + 100 * 2_000
    assert last["late_us"].max() <= 2 * TICK_NS // 1000
    assert last["due_us"][0] == 2 * SLOT_NS // 1000


def test_a_full_queue_delays_records_and_loses_none() -> None:
    world = World(full={5: 0, 6: 0, 8: 1})
    bench = Bench(world)
    world.now_ns += SLOT_NS
    bench.sender.send(0, slot_of(0, 40))
    totals, rows = bench.close()
    assert totals == Totals(40, 40, 40, 0)
    sent = [row for _, row in world.produced]
    for topic in range(2):
        assert [row for row in sent if row % 2 == topic] == list(range(topic, 40, 2))
    at = {row: at_ns for at_ns, row in world.produced}
    assert rows["late_us"].tolist() == [
        (at[row] - START_NS - due_us * 1000) // 1000
        for row, due_us in enumerate(rows["due_us"].tolist())
    ]
    # three calls found too little room
    assert world.produced[-1][0] >= START_NS + SLOT_NS + 30_000_000


def test_failed_refused_and_silent_deliveries_are_counted() -> None:
    world = World(fails={1, 2}, silent={3}, refuses={9})
    bench = Bench(world)
    bench.sender.send(0, slot_of(0, 10))
    totals, rows = bench.close()
    assert totals == Totals(10, 10, 6, 4)
    never = np.iinfo(np.int32).min
    assert [i for i in range(10) if rows["ack_us"][i] == never] == [1, 2, 3, 9]


def test_a_fatal_error_ends_the_sender() -> None:
    bench = Bench(World(fatal=ServiceFailed("Kafka ended the producer: fenced")))
    with pytest.raises(ServiceFailed, match="Kafka ended the producer"):
        bench.sender.send(0, slot_of(0, 1))


def test_giving_up_at_the_end_is_bounded() -> None:
    world = World(silent={0})
    bench = Bench(world)
    bench.sender.send(0, slot_of(0, 1))
    before_ns = world.now_ns
    assert bench.close()[0].failed == 1
    assert world.now_ns - before_ns <= 22_000_000_000


class Slots:
    """A source of three records a slot."""

    facts = Facts(1, 3, 0)

    def due(self, slot: int) -> Due:
        """A slot's records."""
        return slot_of(slot, 3)


class FewSlots:
    """A gate that lets a few slots through."""

    def __init__(self, world: World, slots: int) -> None:
        self.world, self.slots = world, slots
        self.begun_at_ns: list[int] = []

    def is_past(self, _slot: int) -> bool:
        """Says nothing."""
        return False

    def begin(self, slot: int) -> bool:
        """Notes when it was asked."""
        self.begun_at_ns.append(self.world.now_ns)
        return slot < self.slots


@pytest.mark.parametrize("slots", [0, 1, 4])
def test_slots_begin_no_earlier_than_they_are_due_and_end_with_the_gate(slots: int) -> None:
    world = World()
    bench = Bench(world)
    gate = FewSlots(world, slots)
    assert send_slots(bench.sender, Slots(), cast(Gate, gate), SLOT_NS) == slots - 1
    assert len(world.produced) == 3 * slots
    for slot, at_ns in enumerate(gate.begun_at_ns):
        assert at_ns >= START_NS + slot * SLOT_NS


def test_pages_leave_memory_once_they_are_settled() -> None:
    world = World(silent={4})
    bench = Bench(world)
    for slot in range(3):
        bench.sender.send(slot, slot_of(slot, 4))
    row_bytes = 20
    # slot 0 is settled; slot 1 waits for a report, and so does what comes after it
    bench.sender._serve(0.0)
    bench.ledger.open_page(3, 0)
    assert len(bench.spool.getvalue()) == 4 * row_bytes
    assert bench.close()[0] == Totals(12, 12, 11, 1)
