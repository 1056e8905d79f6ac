"""Measure each output: what its latency is by each measure; write latency.parquet."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from contract.results import LATENCY_COLUMNS, MEASURES
from evaluator.distribution import Distribution
from evaluator.evidence import FloatArray, TimeAxis
from evaluator.stalls import Stall, in_any
from evaluator.window_ends import WindowEnds

_ARROW_TYPES = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}
INPUT_OF = {"mean": "input_mean_ms", "last": "input_last_ms", "due": "due_ms"}
#: columns that are known only once all topics were looked through
_ADDED = ("window_end_ms", "in_stall")
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
    names = [name for name, _ in LATENCY_COLUMNS if name not in _ADDED]
    one = measured.select(*names).coalesce(1).sortWithinPartitions("slot", "output_ms")
    one.write.mode("overwrite").parquet(f"file:{draft.absolute()}")
    return draft


def _batches(draft: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    for file in sorted(draft.glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=columns):
            yield pa.Table.from_batches([batch])


def _ms(table: pa.Table, column: str) -> FloatArray:
    return np.asarray(table[column].cast("float64").to_numpy(), np.float64)


def measures_ms(table: pa.Table) -> dict[str, FloatArray]:
    """Of each output all of the contract's measures; not a number where one is unknown."""
    output_ms, last_ms = _ms(table, "output_ms"), _ms(table, "input_last_ms")
    # where no window's end is waited for there is none, and nothing resides
    may_answer_ms = np.fmax(last_ms, _ms(table, "window_end_ms"))
    return {
        **{name: output_ms - _ms(table, column) for name, column in INPUT_OF.items()},
        "gathering": last_ms - _ms(table, "input_mean_ms"),
        "residence": may_answer_ms - last_ms,
        "engine": output_ms - may_answer_ms,
    }


def last_of(draft: Path) -> Distribution:
    """The distribution of `last` over the measured outputs."""
    columns = ["output_ms", "input_last_ms"]
    return Distribution.merged(
        Distribution.of(_ms(table, "output_ms") - _ms(table, "input_last_ms"))
        for table in _batches(draft, columns)
    )


@dataclass(slots=True)
class Measured:
    """What the measured outputs say together."""

    of: dict[str, Distribution] = field(default_factory=dict)
    #: the distribution of `last` in each slot
    of_slot: dict[int, Distribution] = field(default_factory=dict)
    stalled: int = 0
    #: outputs that came before their window could close, and by how much at most
    hasty: int = 0
    hasty_ms_max: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As the `latency_ms` of run.json."""
        return {name: part.summary() for name, part in self.of.items()}


def write_latency(
    draft: Path | None, path: Path, stalls: Sequence[Stall], ends: WindowEnds | None = None
) -> Measured:
    """Write latency.parquet from the draft, whole or not at all; and sum it up on the way.

    `ends` is given where outputs wait for the ends of their windows.
    """
    unfinished = path.with_name(f".{path.name}.draft")
    parts: dict[str, list[Distribution]] = {name: [] for name in (*MEASURES, "last_outside_stalls")}
    slots: dict[int, list[Distribution]] = {}
    measured = Measured()
    schema = parquet_schema(LATENCY_COLUMNS)
    with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        for drafted in _batches(draft) if draft is not None else ():
            stalled = in_any(stalls, drafted["output_ms"].to_numpy())
            table = _with_added(drafted, stalled, ends).select(schema.names).cast(schema)
            writer.write_table(table)
            measured.stalled += int(stalled.sum())
            if ends is not None:
                _note_hasty(measured, table)
            found = measures_ms(table)
            for name in MEASURES:
                _add(parts[name], Distribution.of(found[name]))
            _add(parts["last_outside_stalls"], Distribution.of(found["last"][~stalled]))
            slot = table["slot"].to_numpy()
            for one in np.unique(slot):
                of_slot = Distribution.of(found["last"][slot == one])
                slots.setdefault(int(one), []).append(of_slot)
    unfinished.replace(path)
    if draft is not None:
        shutil.rmtree(draft)
    measured.of = {name: Distribution.merged(held) for name, held in parts.items()}
    measured.of_slot = {slot: Distribution.merged(held) for slot, held in slots.items()}
    return measured


def _with_added(
    drafted: pa.Table, stalled: npt.NDArray[np.bool_], ends: WindowEnds | None
) -> pa.Table:
    """The draft with the columns that Spark could not know."""
    rows = drafted.num_rows
    end_ms = pa.nulls(rows, pa.int64()) if ends is None else ends.after(drafted["slot"].to_numpy())
    added = (end_ms, pa.array(stalled))
    for name, column in zip(_ADDED, added, strict=True):
        drafted = drafted.append_column(name, column)
    return drafted


def _note_hasty(measured: Measured, table: pa.Table) -> None:
    """Count what came too early; a window that never could close is never kept."""
    early_ms = _ms(table, "window_end_ms") - _ms(table, "output_ms")
    measured.hasty += int((np.isnan(early_ms) | (early_ms > 0)).sum())
    most_ms = float(np.fmax.reduce(early_ms, initial=0.0))
    measured.hasty_ms_max = max(measured.hasty_ms_max, most_ms)


def _add(held: list[Distribution], part: Distribution) -> None:
    """Merge as we go: what is held stays as small as the number of distinct values."""
    held[:] = [Distribution.merged([*held, part])]
