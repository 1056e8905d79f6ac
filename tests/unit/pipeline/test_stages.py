"""The stages in both dialects against the golden outputs: in batch, and as true streams."""

from __future__ import annotations

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from contract.engine import EngineOrder, EngineSpec, Place, engine_settings_for
from contract.errors import UsageError
from contract.settings import RunSettings
from contract.workloads.traffic import KINDS
from pipeline.job import rehearse
from pipeline.settings import PAIRS, Plan, Tuning, check, master_of, plan_of, spark_conf
from pipeline.workloads.traffic import STAGES, Streams, outputs
from tests.unit.pipeline.conftest import golden_input, golden_outputs

SCHEMA = StructType(
    [
        StructField("kind", StringType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
NAMES = [name for name, _ in STAGES]
TAIL_SLOTS = 3


def rows_of(records: list[dict[str, Any]]) -> list[tuple[str, bytes, bytes | None]]:
    return [
        (r["kind"], r["key"].encode(), None if r["value"] is None else r["value"].encode())
        for r in records
    ]


def prefix(records: DataFrame, stage: str, plan: Plan) -> DataFrame:
    streams: Streams = (records,)
    if plan.dialect == "windowed":
        streams = tuple(records.where(records["kind"] == kind) for kind in KINDS)
    for _, function in STAGES[: NAMES.index(stage) + 1]:
        streams = function(streams, plan)
    return outputs(streams, stage)


def comparable(key: Any, value: Any) -> tuple[Any, ...]:
    """An output as something that can be sorted and compared; nulls and absent fields alike."""
    key = bytes(key).decode() if isinstance(key, bytes | bytearray) else key
    if value is None or isinstance(value, bytes | bytearray):
        return (key, None if value is None else bytes(value).decode())
    fields = json.loads(value) if isinstance(value, str) else value
    known = {k: v for k, v in fields.items() if v is not None}
    instant = datetime.fromisoformat(known.pop("timestamp").replace("Z", "+00:00"))
    rounded = {k: round(v, 9) if isinstance(v, float) else v for k, v in known.items()}
    return (
        key,
        instant,
        tuple(sorted((k, float(v) if k == "speed" else v) for k, v in rounded.items())),
    )


def got(rows: list[Row]) -> list[tuple[Any, ...]]:
    return sorted((comparable(r["key"], r["value"]) for r in rows), key=repr)


def wanted(stage: str) -> list[tuple[Any, ...]]:
    if stage == "ingest":
        pairs = [(r["key"], r["value"]) for r in golden_outputs(stage)]
        return sorted(pairs, key=repr)
    return sorted((comparable(r["key"], r["value"]) for r in golden_outputs(stage)), key=repr)


@pytest.mark.spark
@pytest.mark.parametrize("dialect", ["eager", "windowed"])
@pytest.mark.parametrize("stage", NAMES)
def test_batch_gives_the_golden_outputs(spark: SparkSession, stage: str, dialect: str) -> None:
    records = rows_of(golden_input())
    random.Random(stage + dialect).shuffle(records)
    frame = spark.createDataFrame(records, SCHEMA)
    assert got(prefix(frame, stage, Plan(dialect, "10 seconds")).collect()) == wanted(stage)


def stream(
    spark: SparkSession, tmp_path: Path, batches: list[list[dict[str, Any]]], stage: str, plan: Plan
) -> tuple[list[Row], str]:
    """Feed the batches one after another to a real streaming query; what it put out, and how."""
    source = tmp_path / "source"
    for number, batch in enumerate(batches):
        frame = spark.createDataFrame(rows_of(batch), SCHEMA).coalesce(1)
        frame.write.mode("append").parquet(str(source / f"{number:04d}"))
    read = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .option("recursiveFileLookup", "true")
        .parquet(str(source))
    )
    name = f"out_{stage}_{plan.dialect}_{abs(hash(str(tmp_path)))}"
    query = (
        prefix(read, stage, plan)
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("append" if plan.dialect == "windowed" else "update")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(120), "the query did not end"
        explained = query._jsq.explainInternal(False)
    finally:
        query.stop()
    return spark.sql(f"select * from {name}").collect(), explained


@pytest.mark.spark
@pytest.mark.parametrize("stage", NAMES[2:])
def test_eager_streaming_takes_any_order_of_arrival(
    spark: SparkSession, tmp_path: Path, stage: str
) -> None:
    records = golden_input()
    random.Random(7).shuffle(records)
    batches = [records[i::3] for i in range(3)]
    rows, plan = stream(spark, tmp_path, batches, stage, Plan("eager", "60 seconds"))
    assert got(rows) == wanted(stage)
    assert plan.count("Exchange ") == plan.count("Exchange hashpartitioning(location") == 1


@pytest.mark.spark
@pytest.mark.parametrize("stage", NAMES[2:])
def test_windowed_streaming_closes_every_window_but_the_last(
    spark: SparkSession, tmp_path: Path, stage: str
) -> None:
    records = golden_input()
    third = len(records) // 3
    batches = [records[i : i + third + 1] for i in range(0, len(records), third + 1)]
    rows, plan = stream(spark, tmp_path, batches, stage, Plan("windowed", "200 milliseconds"))
    everything = wanted(stage)
    last = max(row[1] for row in everything)
    owed = [row for row in everything if (last - row[1]).total_seconds() >= TAIL_SLOTS]
    seen = got(rows)
    assert [row for row in seen if row in owed] == owed
    assert all(row in everything for row in seen)
    assert len(seen) == len(set(seen))
    located = 0 if stage == "join" else 1
    assert plan.count("Exchange ") - len(KINDS) == located
    assert plan.count("Exchange hashpartitioning(location") == located


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ('{"internalId":"a","x":{"y":[1,"}"]}}', True),
        (' {"internalId":"a"} ', True),
        ('{"internalId":"a"} {"internalId":"b"}', False),
        ('{"internalId":"a"},{"internalId":"b"}', False),
        ('{"internalId":"a"}] {}', False),
        ('{"internalId":"a"}} {}', False),
        ('{"internalId":"a"} x', False),
        ('[{"internalId":"a"}]', False),
    ],
)
def test_one_value_and_nothing_behind_it(spark: SparkSession, text: str, passes: bool) -> None:
    whole = text.replace(
        '{"internalId"',
        '{"lat":1,"long":1,"speed":1,"accuracy":1,"num_lanes":1,'
        '"timestamp":"2026-01-05T07:00:00Z","internalId"',
        1,
    )
    frame = spark.createDataFrame([("speed", b"a/lane1", whole.encode())], SCHEMA)
    assert (prefix(frame, "parse", Plan("eager", "1 second")).count() == 1) == passes


def order(**changes: Any) -> EngineOrder:
    toml = Path(__file__).resolve().parents[3] / "images/engines/spark/engine.toml"
    values: dict[str, Any] = {
        "run_id": "r",
        "workload": "traffic",
        "stage": "join",
        "mode": "real-time",
        "dialect": "eager",
        "bootstrap_servers": "127.0.0.1:1",
        "input_topics": {"flow": "f", "speed": "s"},
        "output_topic": "o",
        "parallelism": 2,
        "instances": 1,
        "state_dir": "/tmp/x",
        "workload_params": {},
        "engine_settings": engine_settings_for(EngineSpec.read(toml), RunSettings()),
    }
    return EngineOrder(**{**values, **changes})


@pytest.mark.spark
@pytest.mark.parametrize("dialect", ["eager", "windowed"])
@pytest.mark.parametrize("stage", NAMES)
def test_a_rehearsal_plans_the_query_and_runs_nothing(
    spark: SparkSession, stage: str, dialect: str
) -> None:
    def jobs() -> int:
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))

    before = jobs()
    rehearse(spark, order(stage=stage), 2, Plan(dialect, "10 seconds"))
    assert jobs() == before
    assert not spark.streams.active


def test_refusals_name_the_nearest() -> None:
    check(order())
    for changes in ({"stage": "jion"}, {"mode": "realtime"}, {"workload": "trafic"}):
        with pytest.raises(UsageError, match="did you mean"):
            check(order(**changes))
    with pytest.raises(UsageError, match="unknown dialect"):
        check(order(dialect="windowed"))


def test_engine_toml_declares_exactly_what_the_job_takes() -> None:
    tuning = Tuning.of(order().engine_settings)
    assert plan_of(order(), tuning).watermark == f"{tuning.state_kept_ms} milliseconds"
    with pytest.raises(UsageError, match="lacks"):
        Tuning.of({})
    with pytest.raises(UsageError, match="did you mean linger_ms"):
        Tuning.of({**order().engine_settings, "lingerms": 1})
    with pytest.raises(UsageError, match="did you mean rocksdb"):
        Tuning.of({**order().engine_settings, "state_store": "rocksbd"})


def test_engine_toml_claims_the_pairs_that_the_job_runs() -> None:
    toml = Path(__file__).resolve().parents[3] / "images/engines/spark/engine.toml"
    spec = EngineSpec.read(toml)
    claimed = {(e.mode, e.dialect) for e in spec.executions}
    assert claimed == {(mode, d) for mode, dialects in PAIRS.items() for d in dialects}
    assert list(spec.stages["traffic"]) == NAMES


ALONE = Place("spark", 1, {"spark": ("127.0.0.1:7000",)})


def test_real_time_has_a_thread_for_every_task_and_takes_rocksdb() -> None:
    tuning = Tuning.of({**order().engine_settings, "state_store": "memory"})
    conf = spark_conf(order(), tuning, ALONE, Path("/nowhere"))
    assert "RocksDB" in conf["spark.sql.streaming.stateStore.providerClass"]
    assert conf["spark.sql.streaming.join.stateFormatVersion"] == "3"
    assert master_of(order(mode="micro-batch"), tuning, ALONE) == "local[2]"
    assert int(master_of(order(), tuning, ALONE)[6:-1]) > 100
