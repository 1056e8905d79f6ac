"""librdkafka's mock brokers, for tests that need no real ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

#: what they give a new topic
MOCK_PARTITIONS = 4
_READY_S_MAX = 60.0


@contextmanager
def mock_brokers() -> Iterator[str]:
    """Their addresses; they live as long as a producer of ours does."""
    producer = Producer({"test.mock.num.brokers": 2, "log_level": 0})
    found = producer.list_topics(timeout=_READY_S_MAX).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in found)
    producer.flush(0)
