"""Look into a run's topics: verdicts, latency, stalls; and write latency.parquet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.results import RunFolder
from contract.workload import load_workload
from evaluator.appended import AppendClock, Appended, append_clock, appended
from evaluator.evidence import Evidence
from evaluator.latency import Measured, last_of, write_draft, write_latency
from evaluator.oracle import Oracle, Spread
from evaluator.stalls import Outputs, Stall, find_stalls
from evaluator.store import Store
from evaluator.verdicts import VERDICTS_SCHEMA, judge
from evaluator.workload import load_judge


@dataclass(frozen=True, slots=True)
class Findings:
    """What the topics of a run say."""

    appended: Appended
    clock: AppendClock
    #: counts by slot, verdict and millisecond of the output
    verdicts: list[dict[str, Any]]
    stalls: list[Stall]
    measured: Measured
    #: the smallest `last` of any output, measured or not
    last_ms_min: float | None
    #: milliseconds of outputs, ascending, and how many there were in each
    output_ms: tuple[Any, Any]

    @classmethod
    def none(cls, measured: Measured) -> Findings:
        """Of topics that could not be collected."""
        nothing = np.empty(0, np.int64)
        clock = AppendClock(0, ())
        return cls(Appended.none(), clock, [], [], measured, None, (nothing, nothing))

    def put_out_within(self, span_ms: tuple[float, float]) -> int:
        """How many outputs, of whatever slot, were appended within the span."""
        at_ms, came = self.output_ms
        start, end = np.searchsorted(at_ms, span_ms)
        return int(came[start:end].sum())


def look(spark: SparkSession, evidence: Evidence, store: Store, run: RunFolder) -> Findings:
    """Judge the outputs, keep the verdicts, and measure."""
    told, axis = evidence.conditions, evidence.axis
    stage = load_workload(told["workload"]).stage(told["stage"])
    cores = spark.sparkContext.defaultParallelism
    spread = Spread.over(evidence.records_about, cores)
    oracle = Oracle(load_judge(told["workload"]), stage, spread)
    records = oracle.records(store.inputs()).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        same_machine = bool(told.get("same_machine"))
        store.write_verdicts(
            judge(records, store.outputs(), oracle, axis, same_machine=same_machine)
        )
        inputs = appended(records, axis)
    finally:
        records.unpersist()
    clock = append_clock(store.partitions())
    verdicts = store.verdicts(VERDICTS_SCHEMA)
    counts = _count(verdicts)
    draft = write_draft(verdicts, axis, run.path)
    outputs, came, last_ms_min = _by_millisecond(counts)
    stalls: list[Stall] = []
    last = last_of(draft)
    if axis.span_ms is not None and last.count:
        stalls = find_stalls(outputs, inputs.at_ms, axis.span_ms, last.quantile(0.5))
    waits = stage.windowed and told.get("dialect") == "windowed"
    ends = inputs.window_ends if waits else None
    measured = write_latency(draft, run.latency, stalls, ends)
    return Findings(
        inputs,
        clock,
        _by_slot(counts),
        stalls,
        measured,
        last_ms_min,
        (outputs.at_ms, came),
    )


def _count(verdicts: DataFrame) -> pa.Table:
    """One row a slot, verdict and millisecond: bounded by the run's length, not its rate."""
    last_ms = F.col("output_ms") - F.col("input_last_ms")
    return (
        verdicts.groupBy("slot", "awaited_slot", "verdict", "output_ms")
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.sum("expected_copies").alias("expected_copies"),
            F.sum("lacking").alias("lacking"),
            F.sum("incomplete").alias("incomplete"),
            F.min(last_ms).alias("last_ms_min"),
            F.max(last_ms).alias("last_ms_max"),
        )
        .toArrow()
    )


def _by_millisecond(counts: pa.Table) -> tuple[Outputs, Any, float | None]:
    came = counts.filter(counts["output_ms"].is_valid())
    of_ms = came.group_by("output_ms").aggregate(
        [("count", "sum"), ("last_ms_max", "max"), ("last_ms_min", "min")]
    )
    of_ms = of_ms.sort_by("output_ms")
    at_ms = of_ms["output_ms"].to_numpy()
    # an output without inputs waited for nobody knows what
    last_ms = of_ms["last_ms_max_max"].cast("float64").fill_null(0.0).to_numpy()
    least = [ms for ms in of_ms["last_ms_min_min"].to_pylist() if ms is not None]
    return Outputs(at_ms, last_ms), of_ms["count_sum"].to_numpy(), min(least, default=None)


def _by_slot(counts: pa.Table) -> list[dict[str, Any]]:
    """Counts by slot and verdict; `came` tells outputs from what is missing."""
    with_came = counts.append_column("came", counts["output_ms"].is_valid())
    summed = with_came.group_by(["slot", "awaited_slot", "verdict", "came"]).aggregate(
        [("count", "sum"), ("expected_copies", "sum"), ("lacking", "sum"), ("incomplete", "sum")]
    )
    names = [name.removesuffix("_sum") for name in summed.column_names]
    rows: list[dict[str, Any]] = summed.rename_columns(names).to_pylist()
    return rows
