"""Read Kafka, run the stages up to the one asked for, write Kafka: the only I/O of the engine."""

from __future__ import annotations

import importlib
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from contract.engine import EngineOrder
from contract.errors import UsageError
from contract.workload import load_workload
from pipeline.settings import Plan, Tuning

STATELESS = ("ingest", "parse")


def start(spark: SparkSession, order: EngineOrder, tuning: Tuning, plan: Plan) -> StreamingQuery:
    """Start the query that runs the prefix ending in the asked stage."""
    return _publish(_outputs(_records(spark, order), order, plan), order, tuning)


def rehearse(spark: SparkSession, order: EngineOrder, times: int, plan: Plan) -> None:
    """Have the same query planned so often, over one record of nothing, and run it never.

    A streaming query is planned anew for each batch. The JVM compiles what it has done often: a
    query that checkpoints every ten seconds has done so after minutes.
    """
    if not times:
        return
    session: Any = spark._jsparkSession
    mode: Any = spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode  # type: ignore[union-attr]
    nothing = F.col("id").cast("string").cast("binary")
    kinds = load_workload(order.workload).kinds
    streams = tuple(
        spark.range(1).select(
            F.lit(kind).alias("kind"), nothing.alias("key"), nothing.alias("value")
        )
        for kind in (kinds if plan.dialect == "windowed" else kinds[:1])
    )
    asked = _outputs(streams, order, plan)._jdf.queryExecution().logical()
    for _ in range(times):
        session.sessionState().executePlan(asked, mode.SKIP()).toRdd()


def _outputs(streams: tuple[DataFrame, ...], order: EngineOrder, plan: Plan) -> DataFrame:
    workload = importlib.import_module(f"pipeline.workloads.{order.workload}")
    names = [name for name, _ in workload.STAGES]
    for _, stage in workload.STAGES[: names.index(order.stage) + 1]:
        streams = stage(streams, plan)
    outputs: DataFrame = workload.outputs(streams, order.stage)
    return outputs


def _records(spark: SparkSession, order: EngineOrder) -> tuple[DataFrame, ...]:
    """The input records: one stream of all kinds when eager, one a kind when windowed."""
    topics = order.input_topics
    if order.dialect == "windowed":
        kinds = load_workload(order.workload).kinds
        return tuple(_source(spark, order, topics[kind], F.lit(kind)) for kind in kinds)
    kind = F.lit(None).cast("string")
    for name, topic in topics.items():
        kind = F.when(F.col("topic") == topic, name).otherwise(kind)
    return (_source(spark, order, ",".join(topics.values()), kind),)


def _source(spark: SparkSession, order: EngineOrder, topics: str, kind: Column) -> DataFrame:
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", order.bootstrap_servers)
        .option("subscribe", topics)
        .option("startingOffsets", "earliest")
        .option("kafka.client.id", order.run_id)
    )
    return source.load().select(kind.alias("kind"), "key", "value")


def _publish(outputs: DataFrame, order: EngineOrder, tuning: Tuning) -> StreamingQuery:
    writer = (
        outputs.writeStream.format("kafka")
        .queryName("tollgate")
        .option("kafka.bootstrap.servers", order.bootstrap_servers)
        .option("topic", order.output_topic)
        .option("checkpointLocation", f"{order.state_dir}/checkpoint")
        .option("kafka.linger.ms", str(tuning.linger_ms))
        .outputMode("append" if order.dialect == "windowed" else "update")
    )
    match order.mode:
        case "real-time":
            # PySpark's type hints do not know this trigger yet.
            every = f"{tuning.checkpoint_s:g} seconds"
            writer = writer.trigger(realTime=every)  # type: ignore[call-overload]
        case "micro-batch":
            writer = writer.trigger(processingTime=f"{tuning.trigger_ms} milliseconds")
            if tuning.async_progress and order.stage in STATELESS:
                interval_ms = str(round(tuning.checkpoint_s * 1000))
                writer = writer.option("asyncProgressTrackingEnabled", "true").option(
                    "asyncProgressTrackingCheckpointIntervalMs", interval_ms
                )
        case other:
            raise UsageError(f"no trigger for mode {other}")
    return writer.start()
