"""An output's inputs are the records of its identity and second: as plain loops find them."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from pyspark.sql import SparkSession

from contract.workloads.traffic import WORKLOAD
from evaluator.evidence import TimeAxis
from evaluator.lineage import due_ms_of, lineage, slot_of
from evaluator.oracle import Oracle, Spread
from evaluator.workloads.traffic import JUDGE
from tests.unit.evaluator.synthetic import (
    EVENT_START_S,
    FIRST_DUE_MS,
    Plan,
    input_records,
    topic_table,
)

pytestmark = pytest.mark.spark

AXIS = TimeAxis(FIRST_DUE_MS, EVENT_START_S, 500.0, 5, 0, 5)


@pytest.mark.parametrize("stage", ["parse", "join", "sliding"])
@pytest.mark.parametrize("seed", [1, 2])
def test_lineage_is_what_plain_loops_find_whatever_the_order(
    spark: SparkSession, stage: str, seed: int
) -> None:
    rng = random.Random(seed)
    plan = Plan(slots=6, locations=3, lanes=3, slot_ms=500.0, late_ms=90.0, seed=seed)
    made = list(input_records(plan))
    rng.shuffle(made)
    groups = defaultdict(list)
    for record, says, due_ms in made:
        identity = {**says, "kind": record.kind}
        names = WORKLOAD.stage(stage).identity
        groups[(*(identity[n] for n in names), record.slot)].append((record.timestamp_ms, due_ms))

    table = topic_table([record for record, *_ in made])
    oracle = Oracle(JUDGE, WORKLOAD.stage(stage), Spread(2, 4))
    records = oracle.records(spark.createDataFrame(table))
    found = lineage(records, oracle.stage).withColumn("slot", slot_of(AXIS))
    rows = found.withColumn("due_ms", due_ms_of(AXIS, same_machine=True)).toArrow().to_pylist()

    assert len(rows) == len(groups)
    for row in rows:
        inputs = groups[(*(row[n] for n in oracle.stage.identity), row["slot"])]
        appended = [at for at, _ in inputs]
        assert row["input_last_ms"] == max(appended)
        assert row["input_mean_ms"] == pytest.approx(sum(appended) / len(appended), abs=1e-3)
        # event time is told to the millisecond, cut off
        assert row["due_ms"] == pytest.approx(max(due for _, due in inputs), abs=0.5)


def test_where_clock_and_publisher_are_apart_nothing_is_due(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr("1 as event_last_us")
    assert frame.select(due_ms_of(AXIS, same_machine=False)).first()[0] is None  # type: ignore[index]
