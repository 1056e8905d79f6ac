"""One sender against a clock and a producer that are ours: open loop, and honest evidence."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import ServiceFailed
from publisher.audit import Ledger
from publisher.gate import Gate
from publisher.messages import Totals
from publisher.sender_process import send_slots
from publisher.sending import TICK_NS, Sender
from publisher.source import Facts, Record

START_NS = 7_000_000_000
SLOT_NS = 100_000_000


@dataclass
class World:
    """A clock that moves when someone sleeps or works, and a Kafka that takes what it is given."""

    now_ns: int = START_NS
    #: what handing one record over costs
    produce_ns: int = 1_000
    #: calls of produce, counted from 0, that raise
    raises: dict[int, Exception] = field(default_factory=dict)
    #: records whose delivery fails, counted from 0
    fails: set[int] = field(default_factory=set)
    #: records for which no report ever comes
    silent: set[int] = field(default_factory=set)
    produced: list[tuple[int, bytes]] = field(default_factory=list)
    _calls: int = 0
    _reports: list[tuple[int, Callable[[Any, Any], None]]] = field(default_factory=list)

    def clock(self) -> int:
        """As time.monotonic_ns."""
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        """As time.sleep."""
        self.now_ns += round(seconds * 1e9)

    def produce(
        self, _topic: str, _value: Any, key: bytes, _partition: int, report: Callable[..., None]
    ) -> None:
        """As Producer.produce."""
        self._calls += 1
        if error := self.raises.get(self._calls - 1):
            raise error
        self.now_ns += self.produce_ns
        self._reports.append((len(self.produced), report))
        self.produced.append((self.now_ns, key))

    def poll(self, seconds: float) -> int:
        """As Producer.poll: time passes, and reports come."""
        self.now_ns += round(seconds * 1e9)
        reports, self._reports = self._reports, []
        for number, report in reports:
            if number not in self.silent:
                report(KafkaError(-192) if number in self.fails else None, None)
        return len(reports)

    def flush(self, seconds: float) -> int:
        """As Producer.flush."""
        self.poll(0 if not self.silent else seconds)
        return len(self)

    def purge(self) -> None:
        """As Producer.purge."""
        self.silent.clear()

    def __len__(self) -> int:
        return len(self._reports) + len(self.silent)


@dataclass
class Bench:
    """A sender in a world, with its ledger's spool."""

    world: World
    spool: io.BytesIO = field(default_factory=io.BytesIO)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.spool, self.world.clock)
        producer = cast(Producer, self.world)
        self.sender = Sender(producer, self.ledger, self.world.clock, self.world.sleep)
        self.sender.start(START_NS)

    def close(self) -> tuple[Totals, Any]:
        """Totals and rows of the evidence."""
        self.sender.finish()
        totals = self.ledger.close()
        kinds = [("slot", "<i4"), ("due_us", "<i8"), ("late_us", "<i4"), ("ack_us", "<i4")]
        return totals, np.frombuffer(self.spool.getvalue(), dtype=kinds)


def slot_of(slot: int, records: int) -> Iterator[Record]:
    """A slot's records, evenly spread."""
    for i in range(records):
        due_ns = slot * SLOT_NS + i * SLOT_NS // records
        yield due_ns, "t", 0, f"{slot}/{i}".encode(), b"v"


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


def test_a_full_queue_delays_the_record_and_loses_none() -> None:
    world = World(raises={5: BufferError(), 6: BufferError()})
    bench = Bench(world)
    bench.sender.send(0, slot_of(0, 20))
    totals, rows = bench.close()
    assert totals == Totals(20, 20, 20, 0)
    assert [key for _, key in world.produced] == [f"0/{i}".encode() for i in range(20)]
    assert rows["late_us"][5] >= 20_000


def test_failed_refused_and_silent_deliveries_are_counted() -> None:
    refusal = KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    world = World(fails={1, 2}, silent={3}, raises={9: refusal})
    bench = Bench(world)
    bench.sender.send(0, slot_of(0, 10))
    totals, rows = bench.close()
    assert totals == Totals(10, 10, 6, 4)
    never = np.iinfo(np.int32).min
    assert [i for i in range(10) if rows["ack_us"][i] == never] == [1, 2, 3, 9]


def test_a_fatal_error_ends_the_sender() -> None:
    fatal = KafkaException(KafkaError(KafkaError._FATAL, "fenced", True))
    bench = Bench(World(raises={0: fatal}))
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

    def records(self, slot: int) -> Iterator[Record]:
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
    world.poll(0)
    bench.ledger.open_page(3)
    assert len(bench.spool.getvalue()) == 4 * row_bytes
    assert bench.close()[0] == Totals(12, 12, 11, 1)
