"""Real brokers: what the conductor asks of a cluster is what a cluster does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import TopicPartition

from conductor.brokers import CLOCK_BROKER
from conductor.topics import Cluster
from tests.brokers import brokers_in
from tests.unit.conductor.fakes import until

pytestmark = pytest.mark.brokers

PARTITIONS = 4
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
