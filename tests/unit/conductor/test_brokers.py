"""What the brokers are told, where they listen, and what is said when they do not get ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.brokers import BrokerPlan, EmbeddedBrokers, broker_properties, free_ports
from conductor.java import Java
from contract.errors import ServiceFailed
from tests.unit.conductor.fakes import Clock, program, runs, until


def properties(number: int, brokers: int) -> dict[str, str]:
    text = broker_properties(BrokerPlan(number, 9000 + number), 9999, brokers, Path("/state"))
    pairs = [line.split("=", 1) for line in text.splitlines()]
    assert len({name for name, _ in pairs}) == len(pairs)
    return {pair[0]: pair[1] for pair in pairs}


@given(brokers=st.integers(1, 9))
def test_three_hold_each_partition_and_one_of_them_may_be_away(brokers: int) -> None:
    held = min(3, brokers)
    for number in range(1, brokers + 1):
        told = properties(number, brokers)
        assert told["default.replication.factor"] == str(held)
        assert told["offsets.topic.replication.factor"] == str(held)
        assert told["transaction.state.log.replication.factor"] == str(held)
        assert told["min.insync.replicas"] == str(max(1, held - 1))
        assert told["transaction.state.log.min.isr"] == str(max(1, held - 1))


@given(brokers=st.integers(1, 9))
def test_the_clock_is_the_only_controller_and_all_know_where_it_is(brokers: int) -> None:
    told = {number: properties(number, brokers) for number in range(1, brokers + 1)}
    controllers = [n for n, each in told.items() if "controller" in each["process.roles"]]
    assert controllers == [1]
    assert [n for n, each in told.items() if "CONTROLLER://" in each["listeners"]] == [1]
    assert {each["controller.quorum.voters"] for each in told.values()} == {"1@127.0.0.1:9999"}
    assert [each["node.id"] for each in told.values()] == [str(n) for n in told]


def test_nothing_listens_but_on_loopback() -> None:
    for number in (1, 2, 3):
        told = properties(number, 3)
        for listener in [*told["listeners"].split(","), told["advertised.listeners"]]:
            assert listener.split("://")[1].startswith("127.0.0.1:"), listener
        assert told["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:{9000 + number}"


def test_leaders_stay_where_they_are_put_and_topics_are_made_by_us_alone() -> None:
    told = properties(2, 3)
    for name in (
        "auto.create.topics.enable",
        "auto.leader.rebalance.enable",
        "unclean.leader.election.enable",
    ):
        assert told[name] == "false"


def test_free_ports_are_all_different() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(1024 <= port < 65536 for port in ports)


class Place:
    """Where a cluster of fake brokers lives."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.java = folder, Java(folder / "java", "21")
        (folder / "classes").mkdir()
        self.clusters: list[EmbeddedBrokers] = []

    def cluster(self, count: int, script: str) -> EmbeddedBrokers:
        program(self.folder / "java" / "bin" / "java", script)
        made = EmbeddedBrokers(
            count,
            self.folder / "state",
            self.folder / "logs",
            self.folder / "jars",
            self.java,
            self.folder / "classes",
        )
        self.clusters.append(made)
        return made


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Its brokers are ended with the test."""
    made = Place(tmp_path)
    yield made
    for cluster in made.clusters:
        cluster.stop()


class FakeClients:
    """Stands for the class `Cluster`: what each attempt sees; None: no broker answers it."""

    def __init__(self, *sights: set[int] | ServiceFailed | None) -> None:
        self._sights = list(sights)
        self.closed = 0

    def __call__(self, _servers: str) -> FakeClients:
        if len(self._sights) > 1 and self._sights[0] is None:
            self._sights.pop(0)
            raise ServiceFailed("no broker of 127.0.0.1:1 answered")
        return self

    def broker_numbers(self) -> set[int]:
        seen = self._sights[0] if len(self._sights) == 1 else self._sights.pop(0)
        assert seen is not None
        if isinstance(seen, ServiceFailed):
            raise seen
        return seen

    def close(self) -> None:
        self.closed += 1


def test_each_broker_gets_its_storage_its_settings_and_a_log(place: Place) -> None:
    cluster = place.cluster(3, 'for last do :; done\necho "$last"\nexec sleep 1000')
    cluster.start()
    ids, ports = set(), set()
    for number, child in enumerate(cluster.children, 1):
        state = place.folder / "state" / f"broker-{number}"
        meta = dict(
            line.split("=", 1) for line in (state / "meta.properties").read_text().splitlines()
        )
        assert meta["node.id"] == str(number)
        ids.add(meta["cluster.id"])
        settings = place.folder / "state" / f"broker-{number}.properties"
        assert f"log.dirs={state}\n" in settings.read_text()
        log = place.folder / "logs" / f"broker-{number}.log"
        until(lambda log=log, end=str(settings): end in log.read_text())  # type: ignore[misc]
        ports.add(cluster.bootstrap_servers.split(",")[number - 1])
        assert child.name == f"broker-{number}"
    assert len(ids) == 1, "brokers of different clusters"
    assert len(ports) == 3
    pids = [child.pid for child in cluster.children]
    cluster.stop()
    assert cluster.children == []
    assert not any(runs(pid) for pid in pids)


def test_the_class_path_is_noted_for_the_archive(place: Place) -> None:
    place.cluster(1, "exec sleep 1000").start()
    noted = (place.folder / "classes" / "kafka.classpath").read_text()
    assert noted == f"{place.folder}/jars/*"


def test_ready_is_when_every_broker_is_there(
    place: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients, said = FakeClients(None, {1}, {1, 2}), list[str]()
    monkeypatch.setattr("conductor.brokers.Cluster", clients)
    monkeypatch.setattr("conductor.brokers.time", clock)
    cluster = place.cluster(2, "exec sleep 1000")
    cluster.start()
    assert cluster.wait_until_ready(said.append) is clients  # type: ignore[comparison-overlap]
    assert said == ["no broker of 127.0.0.1:1 answered", "only brokers [1] of 2 have joined"]
    assert clients.closed == 1, "the client that saw too few was left open"


def test_a_client_that_is_not_told_of_the_cluster_is_closed_and_another_one_tries(
    place: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients, said = FakeClients(ServiceFailed("it did not describe itself"), {1}), list[str]()
    monkeypatch.setattr("conductor.brokers.Cluster", clients)
    monkeypatch.setattr("conductor.brokers.time", clock)
    cluster = place.cluster(1, "exec sleep 1000")
    cluster.start()
    assert cluster.wait_until_ready(said.append) is clients  # type: ignore[comparison-overlap]
    assert said == ["it did not describe itself"]
    assert clients.closed == 1


def test_the_last_thing_seen_is_said_when_time_is_up(
    place: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.brokers.Cluster", FakeClients({1, 3}))
    monkeypatch.setattr("conductor.brokers.time", clock)
    cluster = place.cluster(3, "exec sleep 1000")
    cluster.start()
    with pytest.raises(ServiceFailed, match=r"not ready after 90 s: only brokers \[1, 3\] of 3"):
        cluster.wait_until_ready(lambda _: None)


def test_a_broker_that_died_is_named_with_the_end_of_its_log(place: Place) -> None:
    cluster = place.cluster(1, "echo the disk is full >&2\nexit 3")
    cluster.start()
    until(lambda: cluster.children[0].exit_code() is not None)
    with pytest.raises(ServiceFailed, match=r"broker-1 died .* code 3.*\n  the disk is full"):
        cluster.wait_until_ready(lambda _: None)
