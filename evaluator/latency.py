"""Measure each output: append time less that of its inputs, three ways; write latency.parquet."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from contract.results import ATTRIBUTIONS, LATENCY_COLUMNS
from evaluator.distribution import Distribution
from evaluator.evidence import FloatArray, TimeAxis
from evaluator.stalls import Stall, in_any

_ARROW_TYPES = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}
INPUT_OF = {"mean": "input_mean_ms", "last": "input_last_ms", "due": "due_ms"}
_BATCH_ROWS = 1 << 18


def parquet_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    """The Arrow schema of one of the contract's tables."""
    return pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in columns])


def write_draft(verdicts: DataFrame, axis: TimeAxis, run_dir: Path) -> Path:
    """The measured outputs, sorted by slot and append time, in one file that Spark writes."""
    draft = run_dir / ".latency-draft"
    first, last = axis.first_measured, axis.last_measured
    inside = F.lit(False)
    if first is not None and last is not None:
        inside = F.col("slot").between(first, last)
    measured = verdicts.where(F.col("verdict").isin("correct", "wrong") & inside)
    names = [name for name, _ in LATENCY_COLUMNS if name != "in_stall"]
    one = measured.select(*names).coalesce(1).sortWithinPartitions("slot", "output_ms")
    one.write.mode("overwrite").parquet(f"file:{draft.absolute()}")
    return draft


def _batches(draft: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    for file in sorted(draft.glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=columns):
            yield pa.Table.from_batches([batch])


def _latency_ms(table: pa.Table, attribution: str) -> FloatArray:
    told = pc.subtract(
        table["output_ms"].cast("float64"), table[INPUT_OF[attribution]].cast("float64")
    )
    return np.asarray(told.to_numpy(), np.float64)


def last_of(draft: Path) -> Distribution:
    """The distribution of `last` over the measured outputs."""
    columns = ["output_ms", "input_last_ms"]
    return Distribution.merged(
        Distribution.of(_latency_ms(table, "last")) for table in _batches(draft, columns)
    )


@dataclass(slots=True)
class Measured:
    """What the measured outputs say together."""

    of: dict[str, Distribution] = field(default_factory=dict)
    #: the distribution of `last` in each slot
    of_slot: dict[int, Distribution] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As the `latency_ms` of run.json."""
        return {name: part.summary() for name, part in self.of.items()}


def write_latency(draft: Path | None, path: Path, stalls: Sequence[Stall]) -> Measured:
    """Write latency.parquet from the draft, whole or not at all; and sum it up on the way."""
    unfinished = path.with_name(f".{path.name}.draft")
    parts: dict[str, list[Distribution]] = {
        name: [] for name in (*ATTRIBUTIONS, "last_outside_stalls")
    }
    slots: dict[int, list[Distribution]] = {}
    schema = parquet_schema(LATENCY_COLUMNS)
    with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        for table in _batches(draft) if draft is not None else ():
            stalled = in_any(stalls, table["output_ms"].to_numpy())
            table = table.append_column("in_stall", pa.array(stalled))
            writer.write_table(table.select(schema.names).cast(schema))
            for name in ATTRIBUTIONS:
                _add(parts[name], Distribution.of(_latency_ms(table, name)))
            last_ms = _latency_ms(table, "last")
            _add(parts["last_outside_stalls"], Distribution.of(last_ms[~stalled]))
            slot = table["slot"].to_numpy()
            for one in np.unique(slot):
                found = Distribution.of(last_ms[slot == one])
                slots.setdefault(int(one), []).append(found)
    unfinished.replace(path)
    if draft is not None:
        shutil.rmtree(draft)
    return Measured(
        {name: Distribution.merged(held) for name, held in parts.items()},
        {slot: Distribution.merged(held) for slot, held in slots.items()},
    )


def _add(held: list[Distribution], part: Distribution) -> None:
    """Merge as we go: what is held stays as small as the number of distinct values."""
    held[:] = [Distribution.merged([*held, part])]
