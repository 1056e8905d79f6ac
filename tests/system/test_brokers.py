"""Real brokers: what conductor and evaluator ask of a cluster is what a cluster does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from kafka import TopicPartition

from conductor.brokers import CLOCK_BROKER
from conductor.topics import Cluster
from evaluator.collector import collect
from evaluator.topics import Topic
from tests.brokers import brokers_in
from tests.unit.conductor.fakes import until

pytestmark = pytest.mark.brokers

PARTITIONS = 4
LOG_APPEND_TIME = 1
BROKERS = 3
HOME_ORDER = [1, 2, 3]
ASTRAY_ORDER = [2, 1, 3]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A client of three brokers of the test's own."""
    with brokers_in(tmp_path, BROKERS) as client:
        yield client


def prefer(cluster: Cluster, replicas: list[int]) -> None:
    """Put every partition's replicas in that order; whoever leads goes on leading."""
    places = {TopicPartition("a", p): replicas for p in range(PARTITIONS)}
    cluster._admin.alter_partition_reassignments(places)
    until(lambda: all(row["replicas"] == replicas for row in cluster.leaders(["a"])))


def leaders(cluster: Cluster) -> set[int]:
    return {row["leader"] for row in cluster.leaders(["a"])}


def test_the_clock_leads_again_after_leadership_went_astray(cluster: Cluster) -> None:
    cluster.create(["a"], PARTITIONS, BROKERS, BROKERS, CLOCK_BROKER)
    assert leaders(cluster) == {CLOCK_BROKER}
    prefer(cluster, ASTRAY_ORDER)
    cluster._elect(["a"])
    until(lambda: leaders(cluster) == {ASTRAY_ORDER[0]})
    prefer(cluster, HOME_ORDER)
    assert leaders(cluster) == {ASTRAY_ORDER[0]}, "it is not astray when it is to be settled"
    cluster._settle(["a"], CLOCK_BROKER)
    rows = cluster.leaders(["a"])
    assert [row["leader"] for row in rows] == [CLOCK_BROKER] * PARTITIONS
    assert all(len(row["isr"]) == BROKERS for row in rows)


def test_only_what_was_committed_is_collected_and_an_open_transaction_holds_nothing_up(
    cluster: Cluster, tmp_path: Path
) -> None:
    names = ["r.flow", "r.speed", "r.out"]
    cluster.create(names, 1, BROKERS, BROKERS, CLOCK_BROKER)
    servers = cluster.bootstrap_servers
    plain = Producer({"bootstrap.servers": servers})
    plain.produce("r.flow", b"input")
    assert plain.flush(30) == 0
    for fate in ("abort", "commit", "leave"):
        engine = Producer({"bootstrap.servers": servers, "transactional.id": fate})
        engine.init_transactions(30)
        engine.begin_transaction()
        for number in range(3):
            engine.produce("r.out", f"{fate} {number}".encode())
        assert engine.flush(30) == 0
        if fate == "abort":
            engine.abort_transaction(30)
        if fate == "commit":
            engine.commit_transaction(30)
    topics = {"inputs": {"flow": names[0], "speed": names[1]}, "output": names[2]}
    collect({"bootstrap_servers": servers, "topics": topics}, tmp_path / "collected")
    (file,) = Topic.in_folder(tmp_path / "collected" / "outputs").files
    outputs = pq.read_table(file)
    assert outputs["value"].to_pylist() == [b"commit 0", b"commit 1", b"commit 2"]
    # three that were aborted and the mark that says so stand before them
    assert outputs["offset"].to_pylist() == [4, 5, 6]
    assert outputs["timestamp_type"].unique().to_pylist() == [LOG_APPEND_TIME]
