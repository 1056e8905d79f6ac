"""Create a run's topics, look at leaders, timestamp types and ends; reads no records but a tail."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError, TopicAlreadyExistsError

from contract.errors import ServiceFailed

REQUEST_MS_MAX = 10_000
TAIL_MS_MAX = 300
#: at the very end may stand what is no record: an engine's commit markers
TAIL_OFFSETS = 8
SETTLE_S_MAX = 30
ATTEMPTS = 5
#: so much is told of a failure that has no message of a broker
SAID_MAX = 200
#: Kafka's number for: make the first replica leader
PREFERRED = 0

# The client logs each refused connection of a broker that is still starting.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


class Cluster:
    """What the conductor asks a Kafka cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = self._connect()
        self._tail: KafkaConsumer | None = None

    def _connect(self) -> KafkaAdminClient:
        try:
            return KafkaAdminClient(
                bootstrap_servers=self.bootstrap_servers.split(","),
                client_id="tollgate-conductor",
                request_timeout_ms=REQUEST_MS_MAX,
                bootstrap_timeout_ms=2000,
            )
        except KafkaError as error:
            raise ServiceFailed(
                f"no broker of {self.bootstrap_servers} answered: {_brief(error)}"
            ) from None

    def close(self) -> None:
        """Give the connections back."""
        self._admin.close()
        self._forget_tail()

    def broker_numbers(self) -> set[int]:
        """The brokers that are in the cluster now."""
        try:
            told = self._admin.describe_cluster()
        except KafkaError as error:
            raise ServiceFailed(f"the cluster did not describe itself: {_brief(error)}") from None
        return {int(_first(broker, "node_id", "broker_id")) for broker in told["brokers"]}

    def create(
        self, topics: Sequence[str], partitions: int, replication: int, brokers: int, clock: int
    ) -> None:
        """Create measured topics: every partition led by the clock, stamped at append."""
        numbers = sorted(range(1, brokers + 1), key=lambda n: (n != clock, n))
        assignments = {}
        for partition in range(partitions):
            others = numbers[1:]
            if others:
                turn = partition % len(others)
                others = others[turn:] + others[:turn]
            assignments[partition] = [clock, *others][:replication]
        configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}
        wanted = {name: {"assignments": assignments, "configs": configs} for name in topics}

        def create() -> None:
            try:
                self._admin.create_topics(wanted)
            except TopicAlreadyExistsError:
                pass  # an earlier attempt whose answer was lost; names are never used twice
            self._admin.wait_for_topics(list(topics), timeout_ms=REQUEST_MS_MAX)

        self._patiently(create, "topics could not be created")
        self._settle(topics, clock)

    def _settle(self, topics: Sequence[str], clock: int) -> None:
        """Until all replicas are in sync and the clock leads.

        A broker that the controller held for dead at that moment (it had no processor for its
        heartbeats) is not made leader; once it is back, the topics are still empty and an election
        hurts nobody.
        """
        deadline = time.monotonic() + SETTLE_S_MAX
        while True:
            rows = self.leaders(topics)
            lagging = [r for r in rows if len(r["isr"]) < len(r["replicas"])]
            astray = [r for r in rows if r["leader"] != clock]
            if not lagging and not astray:
                return
            if time.monotonic() > deadline:
                row = (lagging or astray)[0]
                raise ServiceFailed(
                    f"{row['topic']} partition {row['partition']} is led by broker "
                    f"{row['leader']}, not {clock}, or has only replicas {row['isr']} of "
                    f"{row['replicas']} in sync after {SETTLE_S_MAX} s"
                )
            if not lagging:
                self._elect(sorted({r["topic"] for r in astray}))
            time.sleep(0.1)

    def _elect(self, topics: list[str]) -> None:
        try:
            self._admin.elect_leaders(PREFERRED, topics)
        except KafkaError:
            return  # looked at again, within the deadline

    def leaders(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        """Leader, leader epoch, replicas and in-sync replicas of every partition."""
        told = self._patiently(
            lambda: self._admin.describe_topics(list(topics)), "the leaders could not be read"
        )
        rows = []
        for topic in told:
            for part in topic["partitions"]:
                rows.append(
                    {
                        "topic": _first(topic, "name", "topic"),
                        "partition": int(_first(part, "partition_index", "partition")),
                        "leader": int(_first(part, "leader_id", "leader")),
                        "epoch": int(part["leader_epoch"]),
                        "replicas": list(_first(part, "replica_nodes", "replicas")),
                        "isr": list(_first(part, "isr_nodes", "isr")),
                    }
                )
        return sorted(rows, key=lambda row: (row["topic"], row["partition"]))

    def timestamp_types(self, topics: Sequence[str]) -> dict[str, str]:
        """`message.timestamp.type` of each topic, as the broker holds it."""
        key = "message.timestamp.type"
        resources = [ConfigResource(ConfigResourceType.TOPIC, name, {key: ""}) for name in topics]

        def read() -> dict[str, str]:
            told = self._admin.describe_configs(resources, config_filter="all")
            by_name = next(iter(told.values()))
            try:
                return {name: str(by_name[name][key]["value"]) for name in topics}
            except KeyError:
                # the broker that was asked has not heard of the topic yet
                raise KafkaError(f"the answer lacks a topic's {key}") from None

        types: dict[str, str] = self._patiently(read, "the topics' settings could not be read")
        return types

    def ends(self, topics: Sequence[str], partitions: int) -> dict[str, int]:
        """How many records each topic holds; asks for offsets only."""
        wanted = {TopicPartition(t, p): -1 for t in topics for p in range(partitions)}
        told = self._patiently(
            lambda: self._admin.list_partition_offsets(wanted), "the topics' ends could not be read"
        )
        ends = dict.fromkeys(topics, 0)
        for place, found in told.items():
            ends[place.topic] += int(found.offset)
        return ends

    def tail(self, topic: str, partitions: int) -> list[bytes]:
        """The newest value of each partition; used only before measuring begins."""
        places = [TopicPartition(topic, p) for p in range(partitions)]
        try:
            return self._newest(places)
        except KafkaError:
            # a leader may have moved: this client would go on asking the old one
            self._forget_tail()
        try:
            return self._newest(places)
        except KafkaError as error:
            raise ServiceFailed(f"the newest outputs could not be read: {_brief(error)}") from None

    def _newest(self, places: list[TopicPartition]) -> list[bytes]:
        if self._tail is None:
            self._tail = self._consumer()
        self._tail.assign(places)
        for place, end in self._tail.end_offsets(places).items():
            self._tail.seek(place, max(0, end - TAIL_OFFSETS))
        polled = self._tail.poll(timeout_ms=TAIL_MS_MAX)
        newest = (records[-1].value for records in polled.values() if records)
        return [value for value in newest if value is not None]

    def _forget_tail(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _consumer(self) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers.split(","),
            enable_auto_commit=False,
            isolation_level="read_committed",
            fetch_max_wait_ms=100,
            request_timeout_ms=REQUEST_MS_MAX,
            auto_offset_reset="earliest",
        )

    def _patiently(self, ask: Callable[[], Any], trouble: str) -> Any:
        """Ask again with a new client: one that met the cluster early may keep a wrong picture."""
        attempt = 1
        while True:
            try:
                return ask()
            except KafkaError as error:
                if attempt >= ATTEMPTS:
                    raise ServiceFailed(f"{trouble}: {_brief(error)}") from None
            attempt += 1
            time.sleep(0.3)
            try:
                fresh = self._connect()
            except ServiceFailed:
                if attempt >= ATTEMPTS:
                    raise
            else:
                self._admin.close()
                self._admin = fresh


def _brief(error: KafkaError) -> str:
    """What the broker said of it; the client repeats the whole request and the whole response."""
    said = re.search(r"error_message=(['\"])(.+?)\1,", str(error))
    return f"{type(error).__name__}: {said[2]}" if said else str(error)[:SAID_MAX]


def _first(mapping: dict[str, Any], *names: str) -> Any:
    """The value of the first of these keys that is there: the client's names vary by API."""
    for name in names:
        if name in mapping:
            return mapping[name]
    raise KeyError(f"none of {names} in {sorted(mapping)}")
