"""Tell how records were appended: how many when, in which order, by which clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from evaluator.evidence import FloatArray, IntArray, TimeAxis
from evaluator.window_ends import WindowEnds
from evaluator.workload import NO_SECOND


@dataclass(frozen=True, slots=True)
class Appended:
    """The input topics by slot and millisecond."""

    of_slot: dict[int, int]
    malformed: int
    #: milliseconds in which inputs were appended, ascending
    at_ms: IntArray
    #: by how much event time fell behind what had been appended before, in ms of event time
    disorder_ms_max: float
    window_ends: WindowEnds

    @classmethod
    def none(cls) -> Appended:
        nothing = np.empty(0, np.int64)
        return cls({}, 0, nothing, 0.0, WindowEnds(nothing, nothing))


def appended(records: DataFrame, axis: TimeAxis) -> Appended:
    """From the records as the oracle reads them."""
    has_time = F.col("second") != NO_SECOND
    event_us = F.when(has_time, F.col("event_us"))
    rows = (
        records.groupBy("timestamp_ms", F.when(has_time, F.col("second")).alias("second"))
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.count_if(~F.col("well_formed")).alias("malformed"),
            F.min(event_us).alias("event_us_min"),
            F.max(event_us).alias("event_us_max"),
        )
        .toArrow()
        .sort_by("timestamp_ms")
    )
    timed = rows.filter(rows["second"].is_valid())
    slot, count = timed["second"].to_numpy() - axis.event_start_s, timed["count"].to_numpy()
    at_ms = timed["timestamp_ms"].to_numpy()
    slots, where = np.unique(slot, return_inverse=True)
    return Appended(
        dict(zip(slots.tolist(), np.bincount(where, count).astype(int).tolist(), strict=True)),
        int(np.sum(rows["malformed"].to_numpy())),
        np.unique(rows["timestamp_ms"].to_numpy()),
        disorder_ms(
            at_ms,
            timed["event_us_min"].to_numpy() / 1000,
            timed["event_us_max"].to_numpy() / 1000,
        ),
        WindowEnds.of(slot, at_ms),
    )


def disorder_ms(at_ms: IntArray, event_ms_min: FloatArray, event_ms_max: FloatArray) -> float:
    """How far a record's event time lay behind the latest one appended in an earlier millisecond.

    Within a millisecond the order over topics cannot be told, and is no disorder.
    """
    if not at_ms.size:
        return 0.0
    _, where = np.unique(at_ms, return_inverse=True)
    least, most = np.full(where.max() + 1, np.inf), np.full(where.max() + 1, -np.inf)
    np.minimum.at(least, where, event_ms_min)
    np.maximum.at(most, where, event_ms_max)
    seen = np.maximum.accumulate(most)
    return float(max(0.0, np.max(seen[:-1] - least[1:], initial=0.0)))


@dataclass(frozen=True, slots=True)
class AppendClock:
    """What the append timestamps say of the clock that gave them."""

    #: how far a timestamp fell back behind an earlier offset's of the same partition
    back_ms_max: int
    timestamp_types: tuple[int, ...]


def append_clock(partitions: DataFrame) -> AppendClock:
    """From topic, partition, offset and timestamp of all records."""
    earlier = Window.partitionBy("topic", "partition").orderBy("offset")
    back_ms = F.max("timestamp_ms").over(earlier) - F.col("timestamp_ms")
    row: Any = (
        partitions.select("timestamp_type", back_ms.alias("back_ms"))
        .agg(F.max("back_ms").alias("back_ms"), F.collect_set("timestamp_type").alias("types"))
        .first()
    )
    return AppendClock(int(row["back_ms"] or 0), tuple(sorted(row["types"])))
