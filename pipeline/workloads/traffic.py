"""The traffic stages as pure functions of DataFrames; they never read, write, count or start.

A stage takes the streams that its predecessor returns. The first gets one of both kinds when
eager; when windowed, one a kind, in the order of KINDS, so that its join reads nothing twice. From
join on there is one, and its rows carry `slot`: the window of one second of event time that they
belong to, whose watermark Spark carries along.

Which fields a row has is each function's closing `select`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from contract.errors import UsageError
from contract.workloads.traffic import LOOK_BACK_LONG_SLOTS, LOOK_BACK_SHORT_SLOTS
from pipeline.settings import Plan

Streams = tuple[DataFrame, ...]

SLOT = "1 second"
_RECORD = (
    "internalId string, lat double, long double, flow long, speed double, period long, "
    "accuracy long, timestamp timestamp, num_lanes long, broken string"
)
_TIMESTAMP_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSX"


def ingest(streams: Streams, plan: Plan) -> Streams:
    """What came, as it came."""
    return tuple(records.select("kind", "key", "value") for records in streams)


def parse(streams: Streams, plan: Plan) -> Streams:
    """Well-formed records as columns, on a watermark; the others are skipped."""
    return tuple(_parse(records, plan.watermark) for records in streams)


def join(streams: Streams, plan: Plan) -> Streams:
    """Flow and speed of a lane and slot in one row."""
    slotted = [rows.withColumn("slot", F.window("timestamp", SLOT)) for rows in streams]
    match plan.dialect:
        case "eager":
            return (_join_eagerly(*slotted),)
        case "windowed":
            return (_join_windowed(*slotted),)
    raise UsageError(f"no join for dialect {plan.dialect}")


def tumbling(streams: Streams, plan: Plan) -> Streams:
    """Sum of flow and mean of speed over all lanes of a location and slot."""
    (rows,) = streams
    if plan.dialect == "windowed":
        # the join lays rows by slot, location and lane; from here on they stay by location
        rows = rows.repartition("location")
    summed = rows.groupBy("slot", "location").agg(
        F.sum("flow").alias("flow"),
        F.avg("speed").alias("speed"),
        F.count("lane").alias("lanes"),
        F.max("num_lanes").alias("num_lanes"),
    )
    complete = summed.where("lanes = num_lanes")
    return (complete.select("slot", "location", "flow", "speed", "lanes"),)


def sliding(streams: Streams, plan: Plan) -> Streams:
    """The relative change of flow and speed against two earlier slots.

    A row takes part in its own slot's output and in those of the slots that look back at it; an
    output is there when all three have come, in whatever order.
    """
    (rows,) = streams
    now, short, long = 0, LOOK_BACK_SHORT_SLOTS, LOOK_BACK_LONG_SLOTS
    # Not `window`: it takes a row eleven times, of which three would be kept, and what lay by
    # location would be exchanged again.
    ages = F.explode(F.array(*map(_seconds, (now, short, long))))
    taking_part = rows.withColumn("age", ages)
    spread = taking_part.withColumn("slot", _later(rows, F.col("age")))
    gathered = spread.groupBy("slot", "location").agg(
        _at(now, "flow"),
        _at(now, "speed"),
        _at(now, "lanes"),
        _at(short, "flow"),
        _at(short, "speed"),
        _at(long, "flow"),
        _at(long, "speed"),
    )
    complete = gathered.where(
        F.col(f"flow_{now}").isNotNull()
        & F.col(f"flow_{short}").isNotNull()
        & F.col(f"flow_{long}").isNotNull()
    )
    changes = complete.select(
        "slot",
        "location",
        F.col(f"flow_{now}").alias("flow"),
        F.col(f"speed_{now}").alias("speed"),
        F.col(f"lanes_{now}").alias("lanes"),
        _change("flow", short).alias("flow_change_short"),
        _change("flow", long).alias("flow_change_long"),
        _change("speed", short).alias("speed_change_short"),
        _change("speed", long).alias("speed_change_long"),
    )
    return (changes,)


STAGES: tuple[tuple[str, Callable[[Streams, Plan], Streams]], ...] = (
    ("ingest", ingest),
    ("parse", parse),
    ("join", join),
    ("tumbling", tumbling),
    ("sliding", sliding),
)


def outputs(streams: Streams, stage: str) -> DataFrame:
    """A stage's rows as `key` and `value` of Kafka records."""
    rows = reduce(DataFrame.unionAll, streams)
    if stage == "ingest":
        return rows.select("key", "value")
    if "lane" in rows.columns:
        key = F.concat_ws("/", "location", "lane")
    else:
        key = F.col("location")
    instant = F.col("slot.start") if "slot" in rows.columns else F.col("timestamp")
    shown = [c for c in rows.columns if c not in ("kind", "slot", "timestamp")]
    value = F.to_json(
        F.struct(instant.alias("timestamp"), *shown), {"timestampFormat": _TIMESTAMP_FORMAT}
    )
    return rows.select(key.alias("key"), value.alias("value"))


def _parse(records: DataFrame, watermark: str) -> DataFrame:
    text = F.col("value").cast("string")
    options = {"columnNameOfCorruptRecord": "broken", "mode": "PERMISSIVE"}
    key = F.col("key").cast("string")
    cut = F.length(key) - F.length(F.substring_index(key, "/", -1))
    fields = F.from_json(text, _RECORD, options)
    rows = records.where(_is_one_value(text)).select(
        "kind", key.alias("key"), cut.alias("cut"), fields.alias("record")
    )
    rows = rows.select("kind", "key", "cut", "record.*").where(_is_well_formed())
    rows = rows.select(
        "kind",
        F.expr("substring(key, 1, cut - 1)").alias("location"),
        F.expr("substring(key, cut + 1)").alias("lane"),
        "timestamp",
        "lat",
        "long",
        "flow",
        "speed",
        "period",
        "accuracy",
        "num_lanes",
    )
    return rows.withWatermark("timestamp", watermark)


def _is_one_value(text: Column) -> Column:
    # Spark's parser stops after the first JSON value and does not see what follows it. A flat
    # object is known by its look; others must also parse with something set around them: what
    # follows an object and closes an array early breaks the object around it, and the reverse.
    flat = text.rlike(r"^\s*\{[^{}\[\]]*\}\s*$")
    in_array = F.from_json(
        F.concat(F.lit("["), text, F.lit("]")), "array<struct<internalId string>>"
    )
    in_object = F.from_json(
        F.concat(F.lit('{"whole":'), text, F.lit("}")),
        "whole struct<internalId string>, broken string",
        {"columnNameOfCorruptRecord": "broken"},
    )
    return flat | ((F.size(in_array) == 1) & in_object["broken"].isNull())


def _is_well_formed() -> Column:
    always = ("internalId", "lat", "long", "accuracy", "timestamp", "num_lanes")
    there = F.col("broken").isNull() & (F.col("cut") > 1) & (F.length("key") > F.col("cut"))
    for name in always:
        there = there & F.col(name).isNotNull()
    flow = (F.col("kind") == "flow") & F.col("flow").isNotNull() & F.col("period").isNotNull()
    speed = (F.col("kind") == "speed") & F.col("speed").isNotNull()
    return there & (flow | speed)


def _join_eagerly(rows: DataFrame) -> DataFrame:
    # A plain aggregation: it emits when the second record arrives, whichever that is, and runs in
    # real-time mode, where stream-stream joins do not.
    def of(kind: str, name: str) -> Column:
        return F.max(F.when(F.col("kind") == kind, F.col(name))).alias(name)

    # The one exchange of all eager stages: what they group by holds the location, so rows that lie
    # by location need no other.
    located = rows.repartition("location")
    joined = located.groupBy("slot", "location", "lane").agg(
        of("flow", "lat"),
        of("flow", "long"),
        of("flow", "flow"),
        of("speed", "speed"),
        of("flow", "period"),
        F.min("accuracy").alias("accuracy"),
        of("flow", "num_lanes"),
    )
    return joined.where("flow IS NOT NULL AND speed IS NOT NULL").select(
        "slot",
        "location",
        "lane",
        "lat",
        "long",
        "flow",
        "speed",
        "period",
        "accuracy",
        "num_lanes",
    )


def _join_windowed(flows: DataFrame, speeds: DataFrame) -> DataFrame:
    same = "f.slot = s.slot AND f.location = s.location AND f.lane = s.lane"
    return (
        flows.alias("f")
        .join(speeds.alias("s"), F.expr(same), "inner")
        .select(
            "f.slot",
            "f.location",
            "f.lane",
            "f.lat",
            "f.long",
            "f.flow",
            "s.speed",
            "f.period",
            F.least("f.accuracy", "s.accuracy").alias("accuracy"),
            "f.num_lanes",
        )
    )


def _seconds(count: int) -> Column:
    return F.expr(f"INTERVAL '{count}' SECOND")


def _later(rows: DataFrame, after: Column) -> Column:
    """The slot that is so much later; its watermark is that of the rows' own."""
    ends = [(F.col(f"slot.{end}") + after).alias(end) for end in ("start", "end")]
    return F.struct(*ends).alias("slot", metadata=rows.schema["slot"].metadata)


def _at(age: int, name: str) -> Column:
    return F.max(F.when(F.col("age") == _seconds(age), F.col(name))).alias(f"{name}_{age}")


def _change(name: str, age: int) -> Column:
    then = F.nullif(F.col(f"{name}_{age}"), F.lit(0))
    return (F.col(f"{name}_0") - then) / then
