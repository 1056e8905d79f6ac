"""Bring a run's topics from Kafka into the store, record by record; compute nothing."""

from __future__ import annotations

import socket
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.errors import ServiceFailed
from evaluator.store import Store

#: a broker that does not answer in this time is taken for dead
_CONNECT_S = 3.0
#: what reading gives up after: a dead leader must not hold the evaluation
_GIVE_UP_MS = 15_000


def collect(spark: SparkSession, conditions: dict[str, Any], store: Store) -> None:
    """Read the run's topics from the earliest offset to the latest and keep them."""
    if not conditions.get("bootstrap_servers") or not conditions.get("topics"):
        raise ServiceFailed("the run ended before it had topics")
    servers = str(conditions["bootstrap_servers"])
    _need_a_broker(servers)
    inputs: dict[str, str] = conditions["topics"]["inputs"]
    kind = F.coalesce(
        *(F.when(F.col("topic") == topic, F.lit(k)) for k, topic in inputs.items())
    ).alias("kind")
    try:
        store.write_inputs(_topics(spark, servers, list(inputs.values())).select("*", kind))
        store.write_outputs(_topics(spark, servers, [conditions["topics"]["output"]]))
    except (PySparkException, Py4JJavaError) as error:
        raise ServiceFailed(f"reading the topics failed: {_cause(error)}") from error


def _cause(error: PySparkException | Py4JJavaError) -> str:
    """The line that says why: the JVM's, where py4j only says that a call failed."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getMessage())[:300]
    return str(error).splitlines()[0][:300]


def _topics(spark: SparkSession, servers: str, topics: list[str]) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": ",".join(topics),
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
        "failOnDataLoss": "true",
        "fetchOffset.numRetries": "1",
        "fetchOffset.retryIntervalMs": "200",
        "kafkaConsumer.pollTimeoutMs": str(_GIVE_UP_MS),
        "kafka.isolation.level": "read_committed",
        "kafka.request.timeout.ms": str(_GIVE_UP_MS // 2),
        "kafka.default.api.timeout.ms": str(_GIVE_UP_MS),
    }
    records = spark.read.format("kafka").options(**options).load()
    return records.select(
        "topic",
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("timestamp_ms"),
        F.col("timestampType").alias("timestamp_type"),
        "key",
        "value",
    )


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
