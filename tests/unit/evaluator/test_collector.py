"""Topics are collected record by record, as they are; what stands in the way is said."""

from __future__ import annotations

import ctypes
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer, cimpl

from contract.errors import ServiceFailed
from evaluator import collector
from evaluator.collector import collect
from evaluator.topics import Topic
from publisher import librdkafka
from tests.mock_brokers import MOCK_PARTITIONS, mock_brokers

WAIT_S = 30.0
CREATE_TIME = 0
#: of Kafka's protocol
FETCH, OUT_OF_RANGE = 1, 1


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    """Mocks for all tests."""
    with mock_brokers() as servers:
        yield servers


def conditions(servers: str, name: str) -> dict[str, Any]:
    """What the conductor says of a run's topics."""
    inputs = {kind: f"{name}.{kind}" for kind in ("flow", "speed")}
    topics = {"inputs": inputs, "output": f"{name}.out"}
    return {"bootstrap_servers": servers, "topics": topics}


def filled(servers: str, name: str, counts: dict[str, int]) -> list[tuple[Any, ...]]:
    """Topics with so many records: topic, partition, offset, time, type, key and value of each."""
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    expected = []
    for part, count in counts.items():
        topic = f"{name}.{part}"
        producer.list_topics(topic, timeout=WAIT_S)
        for number in range(count):
            key = None if number % 5 == 1 else b"%d" % number
            value = (None, b"", b"\xff{", b"v" * number)[number % 4]
            at_ms = 1_767_596_400_000 + number
            producer.produce(topic, value, key, number % MOCK_PARTITIONS, timestamp=at_ms)
            place = (topic, number % MOCK_PARTITIONS, number // MOCK_PARTITIONS)
            expected.append((*place, at_ms, CREATE_TIME, key, value))
    assert producer.flush(WAIT_S) == 0
    return expected


def collected(folder: Path) -> list[tuple[Any, ...]]:
    tables = [pq.read_table(file) for file in Topic.in_folder(folder).files]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize("at_once", [3, collector._ROWS_PER_GROUP])
def test_all_records_are_kept_as_they_are(
    brokers: str, tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "_ROWS_PER_GROUP", at_once)
    name = tmp_path.name
    expected = filled(brokers, name, {"flow": 103, "speed": 40, "out": 57})
    collect(conditions(brokers, name), tmp_path)
    outputs = collected(tmp_path / "outputs")
    inputs = collected(tmp_path / "inputs")
    assert sorted(outputs) == sorted(row for row in expected if row[0].endswith(".out"))
    assert sorted(row[:-1] for row in inputs) == sorted(
        row for row in expected if not row[0].endswith(".out")
    )
    assert all(row[0] == f"{name}.{row[-1]}" for row in inputs), "the kind is the topic's"
    for rows in (inputs, outputs):
        places = [row[:3] for row in rows]
        assert places == sorted(places), "a file a partition, in the order of its offsets"


def test_an_empty_topic_has_files_with_its_columns(brokers: str, tmp_path: Path) -> None:
    filled(brokers, tmp_path.name, {"flow": 4, "speed": 0, "out": 0})
    collect(conditions(brokers, tmp_path.name), tmp_path)
    outputs = Topic.in_folder(tmp_path / "outputs")
    assert outputs.records == 0
    assert [pq.read_schema(file).names for file in outputs.files] == [
        ["topic", "partition", "offset", "timestamp_ms", "timestamp_type", "key", "value"]
    ] * MOCK_PARTITIONS
    assert Topic.in_folder(tmp_path / "inputs").records == 4


def test_where_no_broker_answers_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ServiceFailed, match=r"no broker answers \(127\.0\.0\.1:1: "):
        collect(conditions("127.0.0.1:1", "x"), tmp_path)


def test_a_run_without_topics_has_nothing_to_collect(tmp_path: Path) -> None:
    with pytest.raises(ServiceFailed, match="before it had topics"):
        collect({"bootstrap_servers": None, "topics": None}, tmp_path)


def test_a_partition_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        """A client that hears nothing."""

        def __init__(self, *_: object) -> None:
            pass

        def assign(self, _places: object) -> None:
            """As a consumer's."""

        def consume(self, *_: object) -> list[Any]:
            """As a consumer's."""
            return []

    monkeypatch.setattr(collector, "_GIVE_UP_S", 0.0)
    part: Any = type("Part", (), {"place": None})()
    with pytest.raises(ServiceFailed, match="no record of a-0, b-1 for 0 s"):
        collector._read(Silent(), {("b", 1): part, ("a", 0): part})  # type: ignore[arg-type]


def test_a_broker_that_hangs_is_a_failure_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "_GIVE_UP_S", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as deaf,
        pytest.raises(ServiceFailed, match="reading the topics failed: "),
    ):
        collect(conditions(f"127.0.0.1:{deaf.getsockname()[1]}", "x"), tmp_path)


def test_records_that_are_gone_are_told_of_and_not_skipped(tmp_path: Path) -> None:
    library = ctypes.CDLL(cimpl.__file__)
    library.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    mocks = librdkafka.Producer({"test.mock.num.brokers": 1, "log_level": 0}, [])
    handle = library.rd_kafka_handle_mock_cluster(ctypes.c_void_p(mocks._client))
    cluster = ctypes.c_void_p(handle)
    servers = library.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    filled(servers, "x", dict.fromkeys(("flow", "speed", "out"), 40))
    codes = (ctypes.c_int * 50)(*[OUT_OF_RANGE] * 50)
    library.rd_kafka_mock_push_request_errors_array(cluster, FETCH, ctypes.c_size_t(50), codes)
    with pytest.raises(ServiceFailed, match=r"reading the topics failed: .*[Oo]ffset"):
        collect(conditions(servers, "x"), tmp_path)
    mocks.close()
