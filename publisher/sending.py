"""Hand each record to Kafka when it is due; the only file of this room that knows Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Producer

from contract.errors import ServiceFailed
from publisher.audit import REFUSED, Clock, Ledger, Page
from publisher.order import NS_PER_S, Order
from publisher.source import Record

#: the loop wakes once a tick at most, and sends all that fell due: see README.md of this room
TICK_NS = 500_000
#: longer waits than this are spent in poll(), whose resolution is a millisecond
_LONG_WAIT_NS = 3_000_000
_POLL_NS_MAX = 50_000_000
#: when behind, delivery reports are served after so many records
_POLL_EVERY = 256
#: fewer and larger requests: see README.md of this room
LINGER_MS = 20
QUEUE_RECORDS_MAX = 200_000
QUEUE_KBYTES_MAX = 131_072
DELIVERY_MS_MAX = 20_000
FLUSH_S_MAX = 20.0
CONNECT_S_MAX = 30.0

Sleep = Callable[[float], None]


def make_producer(order: Order, index: int) -> Producer:
    """A producer that loses, doubles and reorders nothing, and bounds what it holds."""
    return Producer(
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
        }
    )


class Sender:
    """One sender: keeps to the schedule and never waits for an answer before the next record."""

    def __init__(
        self,
        producer: Producer,
        ledger: Ledger,
        clock: Clock = time.monotonic_ns,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._producer = producer
        self._ledger = ledger
        self._clock = clock
        self._sleep = sleep
        self._start_ns = 0

    def connect(self, order: Order) -> None:
        """Reach the brokers and check that each topic has its partitions."""
        for topic in order.topics.values():
            try:
                found = self._producer.list_topics(topic, timeout=CONNECT_S_MAX).topics[topic]
            except KafkaException as error:
                raise ServiceFailed(
                    f"no answer from {order.bootstrap_servers} within {CONNECT_S_MAX:g} s: {error}"
                ) from None
            if found.error is not None:
                raise ServiceFailed(f"topic {topic} cannot be used: {found.error}")
            if len(found.partitions) != order.partitions:
                raise ServiceFailed(
                    f"topic {topic} has {len(found.partitions)} partitions, not {order.partitions}"
                )

    def start(self, start_ns: int) -> None:
        """Fix the instant that all due times count from."""
        self._start_ns = start_ns
        self._ledger.start_ns = start_ns

    def wait_for(self, due_ns: int) -> None:
        """Wait until that long after the start."""
        if self._clock() - self._start_ns < due_ns:
            self._wait_until(self._start_ns + due_ns)

    def send(self, slot: int, records: Iterator[Record]) -> None:
        """Send a slot's records, each when it is due, or at once where that has passed."""
        page = self._ledger.open_page(slot)
        start_ns, clock, produce = self._start_ns, self._clock, self._producer.produce
        open_row, note_sent = page.open_row, page.sent_ns.append
        acknowledge = page.acknowledge
        now_ns, unpolled = clock(), 0
        for record in records:
            offset_ns, topic, partition, key, value = record
            due_ns = start_ns + offset_ns
            if now_ns < due_ns and (now_ns := clock()) < due_ns:
                self._wait_until(due_ns)
                unpolled = 0
            elif unpolled == _POLL_EVERY:
                self._producer.poll(0)
                unpolled = 0
            row = open_row(due_ns)
            try:
                produce(topic, value, key, partition, partial(acknowledge, row))
            except BufferError:
                self._produce_when_there_is_room(record, page, row)
            except KafkaException as error:
                self._note_refusal(error, page, row)
            now_ns = clock()
            note_sent(now_ns)
            unpolled += 1

    def finish(self) -> None:
        """Wait, boundedly, until all is delivered; give up what is not."""
        deadline_ns = self._clock() + int(FLUSH_S_MAX * NS_PER_S)
        while len(self._producer) and (left_ns := deadline_ns - self._clock()) > 0:
            self._producer.flush(left_ns / NS_PER_S)
        if len(self._producer):
            self._producer.purge()
            self._producer.flush(1.0)

    def _wait_until(self, until_ns: int) -> None:
        while (left_ns := until_ns - self._clock()) > 0:
            if left_ns > _LONG_WAIT_NS:
                self._producer.poll(min(left_ns - TICK_NS, _POLL_NS_MAX) / NS_PER_S)
            else:
                self._sleep(max(left_ns, TICK_NS) / NS_PER_S)
                self._producer.poll(0)

    def _produce_when_there_is_room(self, record: Record, page: Page, row: int) -> None:
        _, topic, partition, key, value = record
        report = partial(page.acknowledge, row)
        # bounded: what stands in the queue is delivered or given up within DELIVERY_MS_MAX
        while True:
            self._producer.poll(0.01)
            try:
                self._producer.produce(topic, value, key, partition, report)
            except BufferError:
                continue
            except KafkaException as error:
                self._note_refusal(error, page, row)
            return

    @staticmethod
    def _note_refusal(error: KafkaException, page: Page, row: int) -> None:
        reason = error.args[0]
        if isinstance(reason, KafkaError) and reason.fatal():
            raise ServiceFailed(f"Kafka ended the producer: {reason.str()}") from None
        page.acknowledged_ns[row] = REFUSED
