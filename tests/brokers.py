"""Brokers of a test's or a benchmark's own: real ones, as plain processes, and mocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from conductor.artifacts import ensure_artifacts
from conductor.brokers import EmbeddedBrokers
from conductor.home import Home
from conductor.java import find_java
from conductor.topics import Cluster

HOME = Home(Path(__file__).resolve().parents[1])
JARS = HOME.artifacts / "kafka"
#: what the mock brokers give a new topic
MOCK_PARTITIONS = 4
_MOCK_S_MAX = 60.0


@contextmanager
def mock_brokers() -> Iterator[str]:
    """The addresses of librdkafka's mocks, which live as long as a producer of ours does."""
    producer = Producer({"test.mock.num.brokers": 2, "log_level": 0})
    found = producer.list_topics(timeout=_MOCK_S_MAX).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in found)
    producer.flush(0)


@contextmanager
def brokers_in(folder: Path, count: int) -> Iterator[Cluster]:
    """A client of so many, ready; state and logs are below the folder, and they are gone after."""
    java = find_java(HOME.artifacts)
    ensure_artifacts(HOME.artifacts_lock, HOME.artifacts, java, print, ["kafka"])
    program = HOME.path / "images" / "kafka" / "entrypoint"
    classes = folder / "classes"
    classes.mkdir()
    brokers = EmbeddedBrokers(
        count, folder / "state", folder / "logs", program, JARS, java, classes
    )
    try:
        brokers.start()
        client = brokers.wait_until_ready(lambda _: None)
        yield client
        client.close()
    finally:
        brokers.stop()
