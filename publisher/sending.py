"""Hand each record to Kafka when it is due; knows Kafka's settings, and the client by its calls."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from contract.errors import ServiceFailed
from publisher import librdkafka
from publisher.audit import NEVER_NS, Clock, Ledger, Page
from publisher.librdkafka import KafkaRefused, Report
from publisher.order import NS_PER_S, Order
from publisher.plan import Ints
from publisher.source import Batch, Due

#: the loop wakes once a tick at most, and sends all that fell due: see README.md of this room
TICK_NS = 1_600_000
#: longer waits than this are spent in waiting for reports, whose resolution is a millisecond
_LONG_WAIT_NS = 3_000_000
_REPORTS_NS_MAX = 50_000_000
#: in ticks: how exactly the evidence knows when a record was acknowledged
_REPORTS_TICKS = 8
_ROOM_S = 0.01
#: fewer and larger requests: see README.md of this room
LINGER_MS = 20
QUEUE_RECORDS_MAX = 200_000
QUEUE_KBYTES_MAX = 131_072
DELIVERY_MS_MAX = 20_000
FLUSH_S_MAX = 20.0
CONNECT_S_MAX = 30.0

Sleep = Callable[[float], None]


class Load(Protocol):
    """A batch's records of one topic, by due time."""

    @property
    def indices(self) -> Ints:
        """Which of the batch's records these are."""
        ...

    def hand_over(self, first: int, end: int) -> tuple[int, Ints]:
        """Give Kafka those from `first` on: up to where it has no room, and which it refuses."""
        ...


class Client(Protocol):
    """What a sender asks of librdkafka."""

    def partitions(self, topic: int, wait_s: float) -> int: ...

    def loads(self, batch: Batch, first_row: int) -> Sequence[Load]: ...

    def reports(self, wait_s: float) -> Report | None: ...

    def waiting(self) -> int: ...

    def give_up(self) -> None: ...


def make_client(order: Order, index: int) -> librdkafka.Producer:
    """A client that loses, doubles and reorders nothing, and bounds what it holds."""
    return librdkafka.Producer(
        {
            "bootstrap.servers": order.bootstrap_servers,
            "client.id": f"publisher-{index}-{order.run_id}",
            "enable.idempotence": True,
            "acks": "all",
            # a broker answers the requests of a connection one after the other anyway, and a
            # client with several under way spins: see README.md of this room
            "max.in.flight.requests.per.connection": 1,
            "linger.ms": LINGER_MS,
            "delivery.timeout.ms": DELIVERY_MS_MAX,
            "queue.buffering.max.messages": QUEUE_RECORDS_MAX,
            "queue.buffering.max.kbytes": QUEUE_KBYTES_MAX,
            "statistics.interval.ms": 0,
            # an unreachable broker would fill the log twenty times a second
            "log_level": 2,
            "socket.nagle.disable": True,
            # a broker that comes back is not left waiting
            "reconnect.backoff.max.ms": 1_000,
        },
        list(order.topics.values()),
    )


def connect(client: Client, order: Order) -> None:
    """Reach the brokers and check that each topic has its partitions."""
    for number, topic in enumerate(order.topics.values()):
        try:
            found = client.partitions(number, CONNECT_S_MAX)
        except KafkaRefused as error:
            raise ServiceFailed(
                f"no answer from {order.bootstrap_servers} within {CONNECT_S_MAX:g} s: {error}"
            ) from None
        if found != order.partitions:
            raise ServiceFailed(f"topic {topic} has {found} partitions, not {order.partitions}")


@dataclass(slots=True)
class Queue:
    """A load, and how far it has been handed over."""

    load: Load
    #: counted from the start
    due_ns: list[int]
    done: int = 0
    _counts: list[int] = field(default_factory=list, init=False)
    _moments: list[int] = field(default_factory=list, init=False)

    def note(self, taken: int, now_ns: int) -> None:
        """Those up to `taken` have been handed over by now."""
        self._counts.append(taken - self.done)
        self._moments.append(now_ns)
        self.done = taken

    def sent_ns(self) -> Ints:
        """When each was; asked once a batch, for arrays of a tick cost as much as sending it."""
        return np.repeat(np.array(self._moments, dtype=np.int64), self._counts)


class Sender:
    """One sender: keeps to the schedule and never waits for an answer before the next record."""

    def __init__(
        self,
        client: Client,
        ledger: Ledger,
        clock: Clock = time.monotonic_ns,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._clock = clock
        self._sleep = sleep
        self._start_ns = 0
        self._ticks = 0

    def start(self, start_ns: int) -> None:
        """Fix the instant that all due times count from."""
        self._start_ns = start_ns
        self._ledger.start_ns = start_ns

    def wait_for(self, due_ns: int) -> None:
        """Wait until that long after the start."""
        if self._clock() - self._start_ns < due_ns:
            self._wait_until(self._start_ns + due_ns)

    def send(self, slot: int, due: Due) -> None:
        """Send a slot's records, each when it is due, or at once where that has passed."""
        page = self._ledger.open_page(slot, due.records)
        first = 0
        for batch in due.batches:
            self._send(page, first, batch)
            first += len(batch)

    def finish(self) -> None:
        """Wait, boundedly, until all is delivered; give up what is not."""
        deadline_ns = self._clock() + int(FLUSH_S_MAX * NS_PER_S)
        while self._client.waiting() and (left_ns := deadline_ns - self._clock()) > 0:
            self._serve(min(left_ns, _REPORTS_NS_MAX) / NS_PER_S)
        if self._client.waiting():
            self._client.give_up()
            self._serve(1.0)

    def _send(self, page: Page, first: int, batch: Batch) -> None:
        page.due_ns[first : first + len(batch)] = self._start_ns + batch.due_ns
        loads = self._client.loads(batch, page.first_row + first)
        queues = [Queue(load, batch.due_ns[load.indices].tolist()) for load in loads]
        while True:
            now_ns = self._clock()
            for queue in queues:
                ready = bisect_right(queue.due_ns, now_ns - self._start_ns, queue.done)
                self._hand_over(queue, ready, page, first)
            left = [queue.due_ns[queue.done] for queue in queues if queue.done < len(queue.due_ns)]
            if not left:
                break
            self._wait_until(max(self._start_ns + min(left), now_ns + TICK_NS))
        for queue in queues:
            page.sent_ns[first + queue.load.indices] = queue.sent_ns()
        # who is behind never waits, and reports would pile up
        self._serve(0.0)

    def _hand_over(self, queue: Queue, ready: int, page: Page, first: int) -> None:
        # bounded: what stands in the queue is delivered or given up within DELIVERY_MS_MAX
        while queue.done < ready:
            taken, refused = queue.load.hand_over(queue.done, ready)
            queue.note(taken, self._clock())
            if len(refused):
                page.settle(first + queue.load.indices[refused], NEVER_NS)
            if taken < ready:
                self._serve(_ROOM_S)

    def _serve(self, wait_s: float) -> None:
        report = self._client.reports(wait_s)
        if report is not None:
            self._ledger.settle(report.rows, report.delivered, self._clock())

    def _wait_until(self, until_ns: int) -> None:
        while (left_ns := until_ns - self._clock()) > 0:
            if left_ns > _LONG_WAIT_NS:
                self._serve(min(left_ns - TICK_NS, _REPORTS_NS_MAX) / NS_PER_S)
            else:
                self._sleep(left_ns / NS_PER_S)
                self._ticks += 1
                if not self._ticks % _REPORTS_TICKS:
                    self._serve(0.0)
