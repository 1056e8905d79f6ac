"""What the publisher's tests share: an order to vary, and ways to look at what is sent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from publisher.order import Order
from publisher.sender_process import open_source
from publisher.source import Share
from tests.mock_brokers import MOCK_PARTITIONS, mock_brokers
from tests.unit.publisher.records import Record, records_of

ROOT = Path(__file__).resolve().parents[3]
WAIT_S_MAX = 60.0
Environment = dict[str, str]
Process = subprocess.Popen[str]

ENVIRONMENT = {
    "RUN_ID": "test",
    "WORKLOAD": "traffic",
    "BOOTSTRAP_SERVERS": "127.0.0.1:1",
    "INPUT_TOPICS": "flow=test.flow,speed=test.speed",
    "PARTITIONS": "3",
    "RATE": "200",
    "SEED": "1",
    "TEMPORAL_SCALE": "60",
    "ARRIVAL": "adjacent",
    "SOURCE": "network",
    "SLOTS_MAX": "5",
    "PUBLISHERS": "1",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment that the publisher takes."""
    return {**ENVIRONMENT, "EVIDENCE_DIR": str(tmp_path / "evidence")}


@pytest.fixture
def order(environment: dict[str, str]) -> Order:
    """The order that this environment gives."""
    return Order.from_environment(environment)


@pytest.fixture
def sent() -> Callable[..., list[Record]]:
    """What that many senders together send in a slot, by due time."""

    def send(order: Order, slot: int, senders: int = 1, **changes: Any) -> list[Record]:
        changed = replace(order, **changes)
        shares = [open_source(changed, Share(index, senders)) for index in range(senders)]
        return sorted(record for share in shares for record in records_of(changed, share, slot))

    return send


@pytest.fixture(scope="session")
def brokers() -> Iterator[str]:
    """Mocks for all tests."""
    with mock_brokers() as servers:
        yield servers


@pytest.fixture
def env(environment: Environment, brokers: str, tmp_path: Path) -> Environment:
    """An environment with brokers, topics of its own, two senders and slots of 50 ms."""
    return environment | {
        "BOOTSTRAP_SERVERS": brokers,
        "PARTITIONS": str(MOCK_PARTITIONS),
        "INPUT_TOPICS": f"flow={tmp_path.name}.flow,speed={tmp_path.name}.speed",
        "TEMPORAL_SCALE": "1200",
        "RATE": "2000",
        "PUBLISHERS": "2",
    }


@pytest.fixture
def start() -> Iterator[Callable[[Environment], Process]]:
    """Starts the program; what a failed test leaves running is ended."""
    processes: list[Process] = []

    def starting(env: Environment) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-m", "publisher"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **env},
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield starting
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def finish() -> Callable[[Process], tuple[int, list[str]]]:
    """Waits for the program's end: its exit code, and the lines on stderr."""

    def finishing(process: Process) -> tuple[int, list[str]]:
        _, errors = process.communicate(timeout=WAIT_S_MAX)
        return process.returncode, errors.splitlines()

    return finishing


@pytest.fixture
def appended(env: Environment) -> Iterator[Callable[[], int]]:
    """Tells how many records the topics hold."""
    consumer = Consumer(
        {"bootstrap.servers": env["BOOTSTRAP_SERVERS"], "group.id": "count", "log_level": 0}
    )
    topics = [pair.split("=")[1] for pair in env["INPUT_TOPICS"].split(",")]
    places = [TopicPartition(t, p) for t in topics for p in range(MOCK_PARTITIONS)]
    # asking makes them: a consumer remembers for long that a topic was not there
    producer = Producer({"bootstrap.servers": env["BOOTSTRAP_SERVERS"], "log_level": 0})
    for topic in topics:
        producer.list_topics(topic, timeout=WAIT_S_MAX)

    def counting() -> int:
        return sum(consumer.get_watermark_offsets(x, timeout=WAIT_S_MAX)[1] for x in places)

    yield counting
    consumer.close()


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """Waits until a condition gives something true, and gives that."""

    def waiting(condition: Callable[[], Any]) -> Any:
        deadline_s = time.monotonic() + WAIT_S_MAX
        while not (found := condition()):
            assert time.monotonic() < deadline_s, "waited too long"
            time.sleep(0.005)
        return found

    return waiting
