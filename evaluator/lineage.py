"""Which inputs an output was made from, by the data alone: no engine is asked."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from contract.workload import Stage
from evaluator.evidence import TimeAxis
from evaluator.workload import NO_SECOND


def lineage(records: DataFrame, stage: Stage) -> DataFrame:
    """For each group of inputs that an output could come from: when they were appended and due.

    An output's inputs are the records of its identity and second; for a stage that looks back
    those of its own second.
    """
    # a malformed record passes only where a stage passes records on as they are
    passing = records if not stage.fields else records.where("well_formed")
    return passing.groupBy(
        "bucket",
        *(_told(name, stage) for name in ("location", "lane", "kind")),
        "second",
        "token",
    ).agg(
        F.avg("timestamp_ms").alias("input_mean_ms"),
        F.max("timestamp_ms").alias("input_last_ms"),
        F.max("event_us").alias("event_last_us"),
    )


def _told(name: str, stage: Stage) -> Column:
    return F.col(name) if name in stage.identity else F.lit("").alias(name)


def slot_of(axis: TimeAxis) -> Column:
    """The slot of an identity; null where it has no event time, or one of another century."""
    second = F.col("second")
    return F.when(second != NO_SECOND, (second - axis.event_start_s).try_cast("int"))


def due_ms_of(axis: TimeAxis, *, same_machine: bool) -> Column:
    """When the last due input was due, on the wall; null where clock and publisher are apart."""
    if not same_machine:
        return F.lit(None).cast("double")
    since_ms = F.col("event_last_us") / 1000 - F.lit(axis.event_start_s * 1000.0)
    return F.lit(axis.first_due_ms) + since_ms / 1000 * F.lit(axis.slot_ms)


def awaited_slot_of(axis: TimeAxis) -> Column:
    """The slot by which an expected output is due: its own, or the one its input came in."""
    arrived = F.floor((F.col("input_last_ms") - axis.first_due_ms) / axis.slot_ms)
    return F.coalesce(F.col("slot"), arrived.cast("int"))
