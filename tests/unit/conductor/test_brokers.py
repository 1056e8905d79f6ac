"""Where the brokers listen, what they are started with, and what is said when they are not ready.

What they make of it: tests/unit/images/test_kafka_entrypoint.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.brokers import EmbeddedBrokers, free_ports
from conductor.java import Java
from contract.errors import EnvironmentLacking, ServiceFailed
from tests.unit.conductor.fakes import ROOT, Clock, program, runs, until

ENTRYPOINT = ROOT / "images" / "kafka" / "entrypoint"


def test_free_ports_are_all_different() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(1024 <= port < 65536 for port in ports)


class Place:
    """Where a cluster of fake brokers lives: the image's own program, and a java that is none."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.java = folder, Java(folder / "java", "21")
        self.classes = folder / "classes"
        self.classes.mkdir()
        self.entrypoint = ENTRYPOINT
        self.clusters: list[EmbeddedBrokers] = []

    def cluster(self, count: int, script: str) -> EmbeddedBrokers:
        program(self.folder / "java" / "bin" / "java", script)
        made = EmbeddedBrokers(
            count,
            self.folder / "state",
            self.folder / "logs",
            self.entrypoint,
            self.folder / "jars",
            self.java,
            self.classes,
        )
        self.clusters.append(made)
        return made

    def state(self, number: int) -> Path:
        return self.folder / "state" / f"broker-{number}"

    def said(self, number: int, text: str) -> None:
        """Wait until that broker's java has said so."""
        log = self.folder / "logs" / f"broker-{number}.log"
        until(lambda: text in log.read_text())


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


def read_properties(path: Path) -> dict[str, str]:
    pairs = [line.split("=", 1) for line in path.read_text().splitlines()]
    return {pair[0]: pair[1] for pair in pairs}


def test_each_broker_gets_its_storage_its_settings_and_a_log(place: Place) -> None:
    cluster = place.cluster(3, 'for last do :; done\necho "$last"\nexec sleep 1000')
    cluster.start()
    ids, ports, voters = set(), set(), set()
    for number, child in enumerate(cluster.children, 1):
        settings = place.state(number) / "server.properties"
        place.said(number, f"{settings}\n")
        meta = read_properties(place.state(number) / "log" / "meta.properties")
        assert meta["node.id"] == str(number)
        ids.add(meta["cluster.id"])
        told = read_properties(settings)
        assert told["log.dirs"] == str(place.state(number) / "log")
        assert told["default.replication.factor"] == "3"
        address = cluster.bootstrap_servers.split(",")[number - 1]
        assert told["advertised.listeners"] == f"PLAINTEXT://{address}"
        assert address.startswith("127.0.0.1:")
        ports.add(address)
        voters.add(told["controller.quorum.voters"])
        assert child.name == f"broker-{number}"
    assert len(ids) == 1, "brokers of different clusters"
    assert len(ports) == 3
    (voter,) = voters
    assert voter.startswith("1@127.0.0.1:") and voter.partition("@")[2] not in ports
    pids = [child.pid for child in cluster.children]
    cluster.stop()
    assert cluster.children == []
    assert not any(runs(pid) for pid in pids)


def test_two_clusters_are_not_taken_for_one(place: Place) -> None:
    ids = []
    for _ in range(2):
        cluster = place.cluster(1, "echo ready\nexec sleep 1000")
        cluster.start()
        place.said(1, "ready")
        ids.append(read_properties(place.state(1) / "log" / "meta.properties")["cluster.id"])
        cluster.stop()
        (place.state(1) / "log" / "meta.properties").unlink()
        (place.folder / "logs" / "broker-1.log").unlink()
    assert ids[0] != ids[1]


def test_a_broker_is_told_nothing_by_the_users_environment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNEXPECTED", "yes")
    monkeypatch.setenv("KAFKA_OPTS", "-Dx=y")
    place.cluster(1, 'echo "[$UNEXPECTED$KAFKA_OPTS]"\nexec sleep 1000').start()
    place.said(1, "[]\n")


def test_the_class_path_is_noted_for_the_archive(place: Place) -> None:
    place.cluster(1, "exec sleep 1000").start()
    noted = (place.classes / "kafka.classpath").read_text()
    assert noted == f"{place.folder}/jars/*"


def test_a_broker_starts_from_the_archive_of_classes_or_notes_them_for_one(
    place: Place, tmp_path: Path
) -> None:
    place.classes = tmp_path / "two words"
    place.classes.mkdir()
    script = "printf '[%s]\\n' \"$@\"\nexec sleep 1000"
    first = place.cluster(1, script)
    first.start()
    place.said(1, f"[-XX:DumpLoadedClassList={place.classes}/kafka-1.classes]\n")
    first.stop()
    (place.classes / "kafka.jsa").touch()
    place.cluster(1, script).start()
    place.said(1, f"[-XX:SharedArchiveFile={place.classes}/kafka.jsa]\n")


def test_a_program_that_is_not_there_is_a_sentence(place: Place) -> None:
    place.entrypoint = place.folder / "none"
    with pytest.raises(EnvironmentLacking, match=r"^broker-1 cannot be started: .*No such file"):
        place.cluster(1, "exec sleep 1000").start()


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
    with pytest.raises(ServiceFailed, match=r"broker-1 ended .* code 3; .*\n  the disk is full"):
        cluster.wait_until_ready(lambda _: None)
