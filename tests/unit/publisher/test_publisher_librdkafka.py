"""librdkafka by its own names, against its mock brokers: what is taken, and what is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition

from publisher.librdkafka import KafkaRefused, Producer, Report
from publisher.source import Batch, Texts
from tests.mock_brokers import MOCK_PARTITIONS
from tests.unit.publisher.conftest import WAIT_S_MAX

Open = Callable[..., Producer]
Until = Callable[[Callable[[], Any]], Any]
SETTINGS = {"enable.idempotence": True, "linger.ms": 5, "log_level": 0}


@pytest.fixture
def opened(brokers: str, tmp_path: Path) -> Iterator[Open]:
    """Makes producers for two topics, and closes them."""
    producers: list[Producer] = []

    def opening(more: dict[str, str | int | bool] | None = None) -> Producer:
        settings = {"bootstrap.servers": brokers, **SETTINGS, **(more or {})}
        producers.append(Producer(settings, [f"{tmp_path.name}.{kind}" for kind in ("a", "b")]))
        return producers[-1]

    yield opening
    for producer in producers:
        producer.close()


def batch_of(values: list[bytes | None], topics: list[int] | None = None) -> Batch:
    """Values with keys, over all partitions in turn."""
    count = len(values)
    return Batch(
        due_ns=np.arange(count, dtype=np.int64),
        topics=np.array(topics or [0] * count, dtype=np.int64),
        partitions=np.arange(count, dtype=np.int64) % MOCK_PARTITIONS,
        keys=Texts.of([f"key {number}".encode() for number in range(count)]),
        values=Texts.of(values),
    )


def reported(producer: Producer, until: Until, count: int) -> dict[int, bool]:
    """Row → delivered, of so many."""
    found: dict[int, bool] = {}

    def enough() -> bool:
        report: Report | None = producer.reports(0.01)
        if report is not None:
            rows = report.rows.tolist()
            assert not found.keys() & set(rows)
            found.update(zip(rows, report.delivered.tolist(), strict=True))
        return len(found) >= count

    until(enough)
    return found


def test_all_arrive_as_they_were_and_each_is_reported_by_its_number(
    brokers: str, opened: Open, until: Until, tmp_path: Path
) -> None:
    values = [None if n % 50 == 7 else b"" if n % 50 == 8 else b"v%d" % n for n in range(3_000)]
    batch = batch_of(values, [n // 3 % 2 for n in range(3_000)])
    producer = opened()
    assert producer.partitions(0, WAIT_S_MAX) == MOCK_PARTITIONS
    loads = producer.loads(batch, first_row=1_000_000)
    assert sorted(int(i) for load in loads for i in load.indices) == list(range(3_000))
    for load in loads:
        half = len(load.indices) // 2
        for first, end in ((0, half), (half, len(load.indices))):
            taken, refused = load.hand_over(first, end)
            assert (taken, refused.tolist()) == (end, [])
    # librdkafka has its own copy
    del batch, loads
    found = reported(producer, until, 3_000)
    assert found == {1_000_000 + n: True for n in range(3_000)}
    assert producer.waiting() == 0

    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "x", "log_level": 0})
    places = [
        TopicPartition(f"{tmp_path.name}.{kind}", partition, 0)
        for kind in ("a", "b")
        for partition in range(MOCK_PARTITIONS)
    ]
    consumer.assign(places)
    messages = consumer.consume(3_000, timeout=WAIT_S_MAX)
    consumer.close()
    arrived = {
        (m.topic(), m.partition(), m.offset()): (m.key(), m.value(), m.topic()) for m in messages
    }
    expected = {
        (b"key %d" % n, values[n], f"{tmp_path.name}.{'ab'[n // 3 % 2]}") for n in range(3_000)
    }
    assert set(arrived.values()) == expected
    for place in places:
        there = [at for at in arrived if at[:2] == (place.topic, place.partition)]
        numbers = [int((arrived[at][0] or b"").split()[1]) for at in sorted(there)]
        assert numbers == sorted(numbers)


def test_a_full_queue_takes_a_first_part(opened: Open, until: Until) -> None:
    producer = opened({"queue.buffering.max.messages": 10})
    (load, _) = producer.loads(batch_of([b"v"] * 25), 0)
    taken, refused = load.hand_over(0, 25)
    assert (taken, refused.tolist()) == (10, [])
    assert reported(producer, until, 10) == dict.fromkeys(range(10), True)
    assert load.hand_over(10, 25)[0] == 20


def test_what_is_too_large_is_refused_and_the_rest_taken(opened: Open, until: Until) -> None:
    values: list[bytes | None] = [b"v"] * 9
    values[4] = values[7] = b"v" * 2_000
    producer = opened({"message.max.bytes": 1_000})
    (load, _) = producer.loads(batch_of(values), 0)
    taken, refused = load.hand_over(0, 9)
    assert (taken, refused.tolist()) == (9, [4, 7])
    assert set(reported(producer, until, 7)) == {0, 1, 2, 3, 5, 6, 8}


def test_an_unreachable_broker_is_told_and_what_waits_is_given_up(
    opened: Open, until: Until
) -> None:
    producer = opened({"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(KafkaRefused):
        producer.partitions(0, 0.2)
    (load, _) = producer.loads(batch_of([b"v"] * 5), 0)
    assert load.hand_over(0, 5)[0] == 5
    assert producer.reports(0.0) is None
    assert producer.waiting() == 5
    producer.give_up()
    assert reported(producer, until, 5) == dict.fromkeys(range(5), False)


def test_an_unknown_setting_is_said(opened: Open) -> None:
    with pytest.raises(ValueError, match="acksss"):
        opened({"acksss": "all"})
