"""Topics are led by the clock, looked at, and asked for patiently; a failure is a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError, TopicAlreadyExistsError

from conductor.topics import ATTEMPTS, PREFERRED, TAIL_OFFSETS, Cluster
from contract.errors import ServiceFailed
from tests.unit.conductor.fakes import Clock

TYPE = "message.timestamp.type"


class FakeKafka:
    """A cluster's state, and every client that was connected to it."""

    def __init__(self) -> None:
        self.assignments: dict[str, dict[int, list[int]]] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.leaders: dict[tuple[str, int], int] = {}
        self.isr: dict[tuple[str, int], list[int]] = {}
        self.elected: list[tuple[int, list[str]]] = []
        #: an election changes leaders; False: the controller does not make it so
        self.elects = True
        #: failures to come, of requests and of connections
        self.failures: list[KafkaError] = []
        self.refusals: list[KafkaError] = []
        self.clients: list[FakeAdmin] = []
        #: what the next new topics look like
        self.first_leader: int | None = None

    def fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


class FakeAdmin:
    """Stands for kafka-python's KafkaAdminClient."""

    def __init__(self, kafka: FakeKafka, options: Mapping[str, Any]) -> None:
        if kafka.refusals:
            raise kafka.refusals.pop(0)
        self.kafka, self.options, self.closed = kafka, options, False
        kafka.clients.append(self)

    def _ask(self) -> None:
        assert not self.closed, "a closed client was asked"
        self.kafka.fail()

    def close(self) -> None:
        self.closed = True

    def describe_cluster(self) -> dict[str, Any]:
        self._ask()
        return {"brokers": [{"node_id": 1}, {"broker_id": "2"}]}

    def create_topics(self, wanted: Mapping[str, Any]) -> None:
        self._ask()
        for name, topic in wanted.items():
            if name in self.kafka.assignments:
                raise TopicAlreadyExistsError
            self.kafka.assignments[name] = topic["assignments"]
            self.kafka.configs[name] = topic["configs"]
            for partition, replicas in topic["assignments"].items():
                first = self.kafka.first_leader or replicas[0]
                self.kafka.leaders[name, partition] = first
                self.kafka.isr[name, partition] = list(replicas)

    def wait_for_topics(self, topics: Sequence[str], timeout_ms: int) -> None:
        assert timeout_ms > 0
        self._ask()
        assert set(topics) <= set(self.kafka.assignments)

    def describe_topics(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        self._ask()
        return [
            {
                "name": name,
                "partitions": [
                    {
                        "partition_index": partition,
                        "leader_id": self.kafka.leaders[name, partition],
                        "leader_epoch": 0,
                        "replica_nodes": replicas,
                        "isr_nodes": self.kafka.isr[name, partition],
                    }
                    for partition, replicas in reversed(self.kafka.assignments[name].items())
                ],
            }
            for name in reversed(topics)
        ]

    def elect_leaders(self, kind: int, topics: Sequence[str]) -> None:
        self.kafka.elected.append((kind, list(topics)))
        self._ask()
        for (topic, partition), _ in self.kafka.leaders.items():
            if topic in topics and self.kafka.elects:
                preferred = self.kafka.assignments[topic][partition][0]
                self.kafka.leaders[topic, partition] = preferred

    def describe_configs(self, resources: Sequence[Any], config_filter: str) -> dict[str, Any]:
        assert config_filter == "all"
        self._ask()
        return {
            "topic": {
                r.name: {TYPE: {"value": self.kafka.configs[r.name][TYPE]}} for r in resources
            }
        }

    def list_partition_offsets(self, wanted: Mapping[Any, int]) -> dict[Any, Any]:
        self._ask()
        assert set(wanted.values()) == {-1}, "the latest"
        return {place: SimpleNamespace(offset=10 + place.partition) for place in wanted}


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> FakeKafka:
    """A cluster that the conductor's client is connected to."""
    made = FakeKafka()
    monkeypatch.setattr(
        "conductor.topics.KafkaAdminClient", lambda **options: FakeAdmin(made, options)
    )
    monkeypatch.setattr("conductor.topics.time", clock)
    return made


@pytest.fixture
def cluster(kafka: FakeKafka) -> Cluster:
    """The conductor's view of it."""
    assert kafka.clients == []
    return Cluster("127.0.0.1:1,127.0.0.1:2")


def test_it_is_asked_at_all_its_brokers(cluster: Cluster, kafka: FakeKafka) -> None:
    assert kafka.clients[0].options["bootstrap_servers"] == ["127.0.0.1:1", "127.0.0.1:2"]
    assert cluster.broker_numbers() == {1, 2}
    cluster.close()
    assert kafka.clients[0].closed


def test_a_cluster_that_does_not_answer_is_a_sentence(kafka: FakeKafka) -> None:
    kafka.refusals = [KafkaConnectionError("refused")]
    with pytest.raises(ServiceFailed, match=r"no broker of 127\.0\.0\.1:1 answered: .*refused"):
        Cluster("127.0.0.1:1")


@given(partitions=st.integers(1, 12), brokers=st.integers(1, 9), data=st.data())
def test_the_clock_leads_every_partition_and_the_others_share_the_rest(
    partitions: int, brokers: int, data: st.DataObject
) -> None:
    clock_broker = data.draw(st.integers(1, brokers))
    replication = min(3, brokers)
    made = FakeKafka()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conductor.topics.KafkaAdminClient", lambda **o: FakeAdmin(made, o))
        patch.setattr("conductor.topics.time", Clock())
        Cluster("x").create(["a", "b"], partitions, replication, brokers, clock_broker)
    followed = dict.fromkeys(range(1, brokers + 1), 0)
    for name in ("a", "b"):
        assert list(made.assignments[name]) == list(range(partitions))
        for replicas in made.assignments[name].values():
            assert replicas[0] == clock_broker
            assert len(replicas) == len(set(replicas)) == replication
            assert set(replicas) <= set(range(1, brokers + 1))
            for follower in replicas[1:]:
                followed[follower] += 1
    del followed[clock_broker]
    if followed and partitions % len(followed) == 0:
        assert len(set(followed.values())) == 1, "one follower has more to do than another"


def test_topics_are_stamped_at_append_and_keep_all(cluster: Cluster, kafka: FakeKafka) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    assert kafka.configs["a"] == {TYPE: "LogAppendTime", "retention.ms": "-1"}
    assert cluster.timestamp_types(["a"]) == {"a": "LogAppendTime"}
    kafka.configs["a"][TYPE] = "CreateTime"
    assert cluster.timestamp_types(["a"]) == {"a": "CreateTime"}


@pytest.mark.parametrize("answer", [{}, {"a": {}}, {"a": {TYPE: {}}}])
def test_a_broker_that_has_not_heard_of_a_topic_is_asked_again(
    answer: dict[str, Any], cluster: Cluster, kafka: FakeKafka
) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    heard = FakeAdmin.describe_configs

    def not_at_first(admin: FakeAdmin, resources: Sequence[Any], config_filter: str) -> Any:
        told = heard(admin, resources, config_filter)
        return {"topic": answer} if len(kafka.clients) == 1 else told

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeAdmin, "describe_configs", not_at_first)
        assert cluster.timestamp_types(["a"]) == {"a": "LogAppendTime"}
    assert len(kafka.clients) == 2


def test_a_topic_that_is_never_heard_of_is_said(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeAdmin, "describe_configs", lambda *_, **__: {"topic": {}})
    says = rf"the topics' settings could not be read: .*lacks a topic's {TYPE}"
    with pytest.raises(ServiceFailed, match=says):
        cluster.timestamp_types(["a"])


def test_leaders_are_told_in_order_with_what_a_run_is_judged_by(
    cluster: Cluster, kafka: FakeKafka
) -> None:
    cluster.create(["b", "a"], 2, 2, 3, 1)
    kafka.leaders["b", 1], kafka.isr["b", 1] = 3, [3]
    rows = cluster.leaders(["b", "a"])
    assert [(r["topic"], r["partition"]) for r in rows] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert rows[3] == {
        "topic": "b",
        "partition": 1,
        "leader": 3,
        "epoch": 0,
        "replicas": [1, 3],
        "isr": [3],
    }


def test_a_leader_that_is_astray_is_elected_back(cluster: Cluster, kafka: FakeKafka) -> None:
    kafka.first_leader = 2
    cluster.create(["b", "a"], 2, 3, 3, 1)
    assert kafka.elected == [(PREFERRED, ["a", "b"])]
    assert set(kafka.leaders.values()) == {1}


def test_an_election_that_fails_is_held_again(cluster: Cluster, kafka: FakeKafka) -> None:
    kafka.first_leader = 2
    elect = FakeAdmin.elect_leaders
    failures = [KafkaError("not yet"), KafkaError("not yet")]

    def fails_at_first(admin: FakeAdmin, kind: int, topics: Sequence[str]) -> None:
        kafka.failures = failures[:1]
        del failures[:1]
        elect(admin, kind, topics)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeAdmin, "elect_leaders", fails_at_first)
        cluster.create(["a"], 1, 3, 3, 1)
    assert len(kafka.elected) == 3
    assert set(kafka.leaders.values()) == {1}


def test_no_election_is_held_while_a_replica_lags(
    cluster: Cluster, kafka: FakeKafka, clock: Clock
) -> None:
    cluster.create(["a"], 1, 3, 3, 1)
    kafka.leaders["a", 0], kafka.isr["a", 0] = 2, [2, 3]

    def catches_up() -> None:
        assert kafka.elected == []
        kafka.isr["a", 0] = [2, 3, 1]

    clock.at(5, catches_up)
    cluster._settle(["a"], 1)
    assert kafka.elected == [(PREFERRED, ["a"])]
    assert kafka.leaders["a", 0] == 1


@pytest.mark.parametrize("trouble", ["astray", "lagging"])
def test_what_does_not_settle_in_its_time_is_said(
    trouble: str, cluster: Cluster, kafka: FakeKafka, clock: Clock
) -> None:
    cluster.create(["a", "b"], 2, 2, 2, 1)
    began_s = clock.now_s
    if trouble == "astray":
        kafka.leaders["b", 1], kafka.elects = 2, False
        says = "b partition 1 is led by broker 2, not 1"
    else:
        kafka.isr["b", 1] = [1]
        says = r"b partition 1 .* has only replicas \[1\] of \[1, 2\] in sync after 30 s"
    with pytest.raises(ServiceFailed, match=says):
        cluster._settle(["a", "b"], 1)
    assert 30 <= clock.now_s - began_s < 32


def test_a_topic_whose_making_was_not_confirmed_is_not_made_twice(
    cluster: Cluster, kafka: FakeKafka
) -> None:
    made = FakeAdmin.create_topics

    def answer_is_lost(admin: FakeAdmin, wanted: Mapping[str, Any]) -> None:
        made(admin, wanted)
        if len(kafka.clients) == 1:
            raise KafkaConnectionError("lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeAdmin, "create_topics", answer_is_lost)
        cluster.create(["a"], 1, 1, 1, 1)
    assert len(kafka.clients) == 2


ASKED: list[tuple[str, Callable[[Cluster], object]]] = [
    ("the leaders could not be read", lambda c: c.leaders(["a"])),
    ("the topics' settings could not be read", lambda c: c.timestamp_types(["a"])),
    ("the topics' ends could not be read", lambda c: c.ends(["a"], 1)),
    ("topics could not be created", lambda c: c.create(["new"], 1, 1, 1, 1)),
]


@pytest.mark.parametrize(("trouble", "ask"), ASKED)
def test_a_failed_request_is_made_again_by_a_new_client(
    trouble: str, ask: Callable[[Cluster], object], cluster: Cluster, kafka: FakeKafka
) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    kafka.failures = [KafkaError(trouble)] * (ATTEMPTS - 1)
    ask(cluster)
    assert kafka.failures == []
    assert len(kafka.clients) == ATTEMPTS
    assert [client.closed for client in kafka.clients] == [True] * (ATTEMPTS - 1) + [False]


@pytest.mark.parametrize(("trouble", "ask"), ASKED)
def test_patience_ends_with_what_was_asked_for_and_what_was_seen(
    trouble: str, ask: Callable[[Cluster], object], cluster: Cluster, kafka: FakeKafka
) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    kafka.failures = [KafkaError(f"failure {i}") for i in range(1, ATTEMPTS + 1)]
    with pytest.raises(ServiceFailed, match=f"{trouble}: .*failure {ATTEMPTS}"):
        ask(cluster)


def test_of_a_long_failure_the_brokers_own_words_are_told(
    cluster: Cluster, kafka: FakeKafka
) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    said = "The manual partition assignment includes broker 2, but no such broker is registered."
    long = (
        f"Request '{'x' * 900}' failed with '(error_code=39, error_message='{said}', y={'y' * 900}'"
    )
    kafka.failures = [KafkaError(long)] * ATTEMPTS
    with pytest.raises(ServiceFailed) as raised:
        cluster.ends(["a"], 1)
    assert str(raised.value) == f"the topics' ends could not be read: KafkaError: {said}"
    kafka.failures = [KafkaError("z" * 900)] * ATTEMPTS
    with pytest.raises(ServiceFailed) as raised:
        cluster.ends(["a"], 1)
    assert len(str(raised.value)) < 300


def test_a_new_client_that_is_refused_leaves_the_old_one_to_ask_with(
    cluster: Cluster, kafka: FakeKafka
) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    kafka.failures = [KafkaError("no answer")]
    kafka.refusals = [KafkaConnectionError("refused")]
    assert cluster.ends(["a"], 1) == {"a": 10}
    assert (kafka.failures, kafka.refusals) == ([], [])
    assert [client.closed for client in kafka.clients] == [False]


def test_patience_ends_when_no_new_client_gets_through(cluster: Cluster, kafka: FakeKafka) -> None:
    cluster.create(["a"], 1, 1, 1, 1)
    kafka.failures = [KafkaError("no answer")] * ATTEMPTS
    kafka.refusals = [KafkaConnectionError("refused")] * ATTEMPTS
    with pytest.raises(ServiceFailed, match="refused"):
        cluster.ends(["a"], 1)


def test_a_defect_is_not_taken_for_a_failure_of_the_cluster(cluster: Cluster) -> None:
    with pytest.raises(ZeroDivisionError):
        cluster._patiently(lambda: 1 / 0, "never")


def test_ends_are_counted_over_partitions(cluster: Cluster) -> None:
    assert cluster.ends(["a", "b"], 3) == {"a": 33, "b": 33}
    assert cluster.ends(["a"], 1) == {"a": 10}


#: stands at an offset and is no record: a transaction was committed there
MARKER = b"marker"


class FakeConsumer:
    """Stands for kafka-python's KafkaConsumer: reads from where it was told to."""

    def __init__(self, logs: dict[Any, list[bytes | None]], options: Mapping[str, Any]) -> None:
        self.logs, self.options = logs, options
        self.positions: dict[Any, int] = {}
        self.closed = False
        self.failure: KafkaError | None = None

    def assign(self, places: Sequence[Any]) -> None:
        self.positions = dict.fromkeys(places, 0)

    def end_offsets(self, places: Sequence[Any]) -> dict[Any, int]:
        return {place: len(self.logs[place]) for place in places}

    def seek(self, place: Any, offset: int) -> None:
        assert offset >= 0
        self.positions[place] = offset

    def poll(self, timeout_ms: int) -> dict[Any, list[Any]]:
        assert timeout_ms > 0
        if self.failure:
            raise self.failure
        read = {
            place: [value for value in self.logs[place][at:] if value != MARKER]
            for place, at in self.positions.items()
        }
        return {
            place: [SimpleNamespace(value=value) for value in values]
            for place, values in read.items()
            if values
        }

    def close(self) -> None:
        self.closed = True


def test_the_tail_is_the_newest_committed_value_of_each_partition(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs: dict[Any, list[bytes | None]] = {
        TopicPartition("out", 0): [b"a", b"b", b"newest"],
        TopicPartition("out", 1): [],
        TopicPartition("out", 2): [b"only"],
        TopicPartition("out", 3): [b"a", None],
    }
    made: list[FakeConsumer] = []
    failing: list[KafkaError] = []

    def consumer(**options: Any) -> FakeConsumer:
        made.append(FakeConsumer(logs, options))
        if failing:
            made[-1].failure = failing[0]
        return made[-1]

    monkeypatch.setattr("conductor.topics.KafkaConsumer", consumer)
    assert cluster.tail("out", 4) == [b"newest", b"only"]
    logs[TopicPartition("out", 0)].append(b"newer")
    assert cluster.tail("out", 4) == [b"newer", b"only"]
    assert len(made) == 1, "one consumer is enough"
    assert made[0].options["isolation_level"] == "read_committed"
    assert made[0].options["enable_auto_commit"] is False
    made[0].failure = KafkaError("it asks the old leader")
    assert cluster.tail("out", 4) == [b"newer", b"only"]
    assert len(made) == 2 and made[0].closed, "another one knows who leads now"
    failing.append(KafkaError("gone"))
    made[1].failure = KafkaError("gone")
    with pytest.raises(ServiceFailed, match=r"the newest outputs could not be read: .*gone"):
        cluster.tail("out", 4)
    cluster.close()
    assert all(each.closed for each in made)


@pytest.mark.parametrize(
    ("markers", "newest"), [(0, [b"newest"]), (TAIL_OFFSETS - 1, [b"newest"]), (TAIL_OFFSETS, [])]
)
def test_the_tail_looks_past_the_markers_of_commits_and_no_further_than_it_must(
    markers: int, newest: list[bytes], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = TopicPartition("out", 0)
    log: list[bytes | None] = [*[b"old"] * 100, b"newest", *[MARKER] * markers]
    consumer = FakeConsumer({place: log}, {})
    monkeypatch.setattr("conductor.topics.KafkaConsumer", lambda **_: consumer)
    assert cluster.tail("out", 1) == newest
    assert consumer.positions == {place: len(log) - TAIL_OFFSETS}
