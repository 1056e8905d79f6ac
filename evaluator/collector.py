"""Bring a run's topics from Kafka into Parquet files, record by record; compute nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from contract.errors import ServiceFailed

#: a broker that does not answer in this time is taken for dead
_CONNECT_S = 3.0
#: what reading gives up after: a dead leader must not hold the evaluation
_GIVE_UP_S = 15.0
_POLL_S = 0.25
#: what is taken from Kafka's client at once
_MESSAGES = 20_000
#: what is written at once
_ROWS_PER_GROUP = 50_000

_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp_ms", pa.int64()),
        #: as Kafka numbers them: -1 none, 0 the time of creation, 1 of appending
        ("timestamp_type", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
_KIND = pa.field("kind", pa.string())
#: Kafka's client numbers them from 0
_FIRST_TYPE = -1
_SETTINGS = {
    "group.id": "tollgate-evaluator",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    # records that are gone are to be told of, not skipped
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "check.crcs": True,
    # a queue that is full for a moment would be a second's pause
    "fetch.queue.backoff.ms": 5,
    "queued.max.messages.kbytes": 65_536,
    "fetch.message.max.bytes": 8_388_608,
    "socket.timeout.ms": int(_GIVE_UP_S * 1000) // 2,
    # what goes wrong is raised, and an unreachable broker would fill the log
    "log_level": 2,
}


@dataclass(slots=True)
class _Part:
    """One partition's records on their way into its file."""

    place: TopicPartition
    kind: str | None
    writer: pq.ParquetWriter
    messages: list[Message] = field(default_factory=list)

    def add(self, messages: list[Message]) -> None:
        """Some more, in the order of their offsets."""
        self.messages += messages
        if len(self.messages) >= _ROWS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write what has come together."""
        messages, self.messages = self.messages, []
        count = len(messages)
        stamps = [message.timestamp() for message in messages]
        columns = [
            pa.repeat(self.place.topic, count),
            pa.repeat(pa.scalar(self.place.partition, pa.int32()), count),
            pa.array([message.offset() for message in messages], pa.int64()),
            pa.array([at_ms for _, at_ms in stamps], pa.int64()),
            pa.array([_FIRST_TYPE + number for number, _ in stamps], pa.int32()),
            pa.array([message.key() for message in messages], pa.binary()),
            pa.array([message.value() for message in messages], pa.binary()),
        ]
        if self.kind is not None:
            columns.append(pa.repeat(self.kind, count))
        self.writer.write_table(pa.Table.from_arrays(columns, schema=self.writer.schema))


def collect(conditions: dict[str, Any], folder: Path) -> None:
    """Read the run's topics from their beginning to their end, into `inputs` and `outputs`."""
    if not conditions.get("bootstrap_servers") or not conditions.get("topics"):
        raise ServiceFailed("the run ended before it had topics")
    servers = str(conditions["bootstrap_servers"])
    _need_a_broker(servers)
    kinds: dict[str, str | None] = {
        topic: kind for kind, topic in conditions["topics"]["inputs"].items()
    }
    kinds[conditions["topics"]["output"]] = None
    consumer = Consumer({**_SETTINGS, "bootstrap.servers": servers})
    try:
        _collect(consumer, kinds, folder)
    except KafkaException as error:
        raise ServiceFailed(f"reading the topics failed: {error.args[0].str()}") from error
    finally:
        consumer.close()


def _collect(consumer: Consumer, kinds: dict[str, str | None], folder: Path) -> None:
    with ExitStack() as files:
        parts = {
            (part.place.topic, part.place.partition): part
            for part in _parts(consumer, kinds, folder, files)
        }
        _read(consumer, parts)
        for part in parts.values():
            part.flush()


def _parts(
    consumer: Consumer, kinds: dict[str, str | None], folder: Path, files: ExitStack
) -> Iterator[_Part]:
    for topic, kind in kinds.items():
        told = consumer.list_topics(topic, timeout=_GIVE_UP_S).topics[topic]
        if told.error is not None:
            raise ServiceFailed(f"reading the topics failed: {topic}: {told.error.str()}")
        schema = _SCHEMA if kind is None else _SCHEMA.append(_KIND)
        for partition in sorted(told.partitions):
            name = f"part-{topic}-{partition:05d}.parquet"
            path = folder / ("outputs" if kind is None else "inputs") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(
                path,
                schema,
                compression="zstd",
                # of keys and values hardly any comes twice
                use_dictionary=["topic", "partition", "timestamp_type", "kind"],
            )
            yield _Part(
                TopicPartition(topic, partition, OFFSET_BEGINNING),
                kind,
                files.enter_context(writer),
            )


def _read(consumer: Consumer, parts: dict[tuple[str, int], _Part]) -> None:
    """Until each partition has said that it has no more."""
    consumer.assign([part.place for part in parts.values()])
    ended: set[tuple[str, int]] = set()
    moved_s = time.monotonic()
    while len(ended) < len(parts):
        messages = consumer.consume(_MESSAGES, _POLL_S)
        if messages:
            moved_s = time.monotonic()
        elif time.monotonic() - moved_s > _GIVE_UP_S:
            left = ", ".join(f"{topic}-{number}" for topic, number in sorted(parts.keys() - ended))
            raise ServiceFailed(
                f"reading the topics failed: no record of {left} for {_GIVE_UP_S:.0f} s"
            )
        found: dict[tuple[str, int], list[Message]] = {}
        for message in messages:
            place = (str(message.topic()), int(message.partition() or 0))
            error = message.error()
            if error is None:
                found.setdefault(place, []).append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(place)
            else:
                raise ServiceFailed(f"reading the topics failed: {error.str()}")
        for place, come in found.items():
            parts[place].add(come)


def _need_a_broker(servers: str) -> None:
    refused = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host, int(port)), _CONNECT_S).close()
        except OSError as error:
            refused.append(f"{server}: {error.strerror or error}")
        else:
            return
    raise ServiceFailed(f"no broker answers ({'; '.join(refused)})")
