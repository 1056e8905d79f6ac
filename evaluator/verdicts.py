"""Give each output a verdict: compare what came with what had to come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from contract.workload import FieldType, Stage
from evaluator.evidence import TimeAxis
from evaluator.lineage import awaited_slot_of, due_ms_of, lineage, slot_of
from evaluator.oracle import KEYS, Oracle

#: so many outputs at fault are told
AT_FAULT_MAX = 5
DOUBLE_RELATIVE_MAX = 1e-9
#: a change is the difference of two sums, which may round differently: near 0 their last
#: bits are all there is, and no relative tolerance forgives them
DOUBLE_ABSOLUTE_MAX = 1e-12

VERDICTS_SCHEMA = (
    "location string, lane string, kind string, slot int, token string, verdict string, "
    "partition int, offset long, output_ms long, detail string, awaited_slot int, "
    "expected_copies long, lacking long, incomplete long, input_mean_ms double, "
    "input_last_ms long, due_ms double"
)
_COLUMNS = [part.split()[0] for part in VERDICTS_SCHEMA.split(", ")]


def differs(expected: Column, got: Column, kind: FieldType) -> Column:
    """Whether a field's value is not what it must be; a null equals only a null."""
    same = expected.eqNullSafe(got)
    if kind == "double":
        larger = F.greatest(F.abs(expected), F.abs(got))
        allowed = F.greatest(larger * DOUBLE_RELATIVE_MAX, F.lit(DOUBLE_ABSOLUTE_MAX))
        same = same | F.coalesce(F.abs(expected - got) <= allowed, F.lit(False))
    return ~same


def _detail(name: str, kind: FieldType) -> Column:
    expected, got = F.col(f"expected_{name}"), F.col(f"got_{name}")
    told = [
        F.coalesce(
            (F.timestamp_micros(c) if kind == "timestamp" else c).cast("string"), F.lit("null")
        )
        for c in (expected, got)
    ]
    says = F.concat(F.lit(f"{name}: expected "), told[0], F.lit(", got "), told[1])
    return F.when(differs(expected, got, kind), says)


def _ordered(outputs: DataFrame) -> DataFrame:
    """Outputs with their place among those of the same identity, by when they were appended."""
    same = Window.partitionBy(*KEYS)
    appended = same.orderBy("timestamp_ms", "partition", "offset")
    return outputs.withColumns(
        {"ordinal": F.row_number().over(appended), "came": F.count(F.lit(1)).over(same)}
    )


def judge(
    records: DataFrame, outputs: DataFrame, oracle: Oracle, axis: TimeAxis, *, same_machine: bool
) -> DataFrame:
    """A row for each output, each missing one, and each group of inputs that stayed incomplete."""
    stage = oracle.stage
    base = lineage(records, stage).join(oracle.expected(records), list(KEYS), "left")
    came = _ordered(oracle.outputs(outputs)).withColumnRenamed("timestamp_ms", "output_ms")
    judged = base.join(came, list(KEYS), "full_outer").withColumn("slot", slot_of(axis))
    return (
        _with_verdict(judged, stage)
        .withColumns(
            {
                "awaited_slot": awaited_slot_of(axis),
                "due_ms": due_ms_of(axis, same_machine=same_machine),
                **{
                    name: F.when(F.col(name) != "", F.col(name))
                    for name in ("location", "lane", "kind", "token")
                },
            }
        )
        .select(*_COLUMNS)
    )


def _with_verdict(judged: DataFrame, stage: Stage) -> DataFrame:
    came = F.col("ordinal").isNotNull()
    is_expected = F.col("copies").isNotNull()
    details = [_detail(name, kind) for name, kind in stage.fields]
    faults = F.concat_ws("; ", F.col("flaw"), *details)
    verdict = (
        F.when(~came & is_expected, "missing")
        .when(~came, "incomplete")
        .when(~is_expected, "unexpected")
        .when(F.col("ordinal") > F.col("copies"), "duplicate")
        .when(faults != "", "wrong")
        .otherwise("correct")
    )
    known = F.col("input_last_ms").isNotNull()
    why_unexpected = F.concat_ws(
        "; ",
        F.col("flaw"),
        F.when(known, "its inputs are not all there").otherwise("no input has this identity"),
    )
    first = ~came | (F.col("ordinal") == 1)
    lacking = F.when(~came, F.col("copies")).when(
        first, F.greatest(F.col("copies") - F.col("came"), F.lit(0))
    )
    return judged.withColumn("verdict", verdict).withColumns(
        {
            "detail": F.when(F.col("verdict") == "wrong", faults).when(
                F.col("verdict") == "unexpected", why_unexpected
            ),
            "expected_copies": F.when(first & is_expected, F.col("copies")).otherwise(0),
            "lacking": F.coalesce(lacking, F.lit(0)).cast("long"),
            "incomplete": (first & ~is_expected & known).cast("long"),
        }
    )


def at_fault(verdicts: DataFrame, last_slot: int) -> list[dict[str, Any]]:
    """The first few outputs that are not as they must be: where to look."""
    owed = (F.col("verdict") == "missing") & (F.col("awaited_slot") <= last_slot)
    bad = owed | F.col("verdict").isin("duplicate", "wrong", "unexpected")
    names = ("verdict", "location", "lane", "kind", "slot", "detail")
    rows = (
        verdicts.where(bad)
        .orderBy("slot", "location", "lane", "kind", "token")
        .limit(AT_FAULT_MAX)
        .select(*names)
        .collect()
    )
    return [row.asDict() for row in rows]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many outputs got which verdict."""

    expected: int | None
    correct: int
    missing: int | None
    duplicate: int
    wrong: int
    unexpected: int
    malformed_inputs: int
    incomplete: int

    @property
    def faults(self) -> int:
        """How many outputs are not as they must be."""
        return (self.missing or 0) + self.duplicate + self.wrong + self.unexpected

    def to_json(self) -> dict[str, Any]:
        """As the `outputs` of run.json."""
        return {name: getattr(self, name) for name in self.__slots__}


def tally(rows: list[dict[str, Any]], stage: Stage, axis: TimeAxis, malformed: int) -> Tally:
    """Count verdicts, from the sums by slot and verdict.

    What is awaited is what belongs to the slots up to the end of the measured window; without
    a window nothing is called missing. Outputs of the tail need not come, but must be right.
    """
    measured = axis.last_measured is not None
    whole = axis.last_slot - 1 if axis.last_slot is not None else -1
    last = axis.last_measured if axis.last_measured is not None else whole
    awaited = [r for r in rows if r["awaited_slot"] is not None and r["awaited_slot"] <= last]

    def count(among: list[dict[str, Any]], verdict: str) -> int:
        return sum(r["count"] for r in among if r["verdict"] == verdict)

    complete = [r for r in awaited if r["awaited_slot"] >= stage.look_back_slots]
    return Tally(
        sum(r["expected_copies"] for r in awaited) if measured else None,
        count(awaited, "correct"),
        sum(r["lacking"] for r in awaited) if measured else None,
        count(rows, "duplicate"),
        count(rows, "wrong"),
        count(rows, "unexpected"),
        malformed,
        sum(r["incomplete"] for r in complete),
    )
