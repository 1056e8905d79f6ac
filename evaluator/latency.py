"""Measure each output: what its latency is by each measure; write latency.parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contract.results import LATENCY_COLUMNS, MEASURES
from evaluator.arrays import FloatArray, IntArray
from evaluator.distribution import Distribution
from evaluator.evidence import TimeAxis
from evaluator.piles import Piles
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
#: measured outputs that are sorted and written at once
_SPAN_ROWS = 1 << 18


def parquet_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    """The Arrow schema of one of the contract's tables."""
    return pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in columns])


_DRAFTED = parquet_schema([(n, kind) for n, kind in LATENCY_COLUMNS if n not in _ADDED])


class Draft:
    """The measured outputs, laid down a table at a time; taken by slot and append time."""

    def __init__(self, axis: TimeAxis, records: int, scratch: Path) -> None:
        self._first, self._last = axis.first_measured, axis.last_measured
        spans = records // _SPAN_ROWS + 1
        self._piles = Piles("measured", _DRAFTED, spans, scratch)
        #: the distribution of `last`
        self.last = Distribution.merged([])

    def add(self, verdicts: pa.Table) -> None:
        """Keep what is measured of these verdicts."""
        if self._first is None or self._last is None:
            return
        slot = verdicts["slot"]
        inside = pc.and_(pc.greater_equal(slot, self._first), pc.less_equal(slot, self._last))
        lawful = pc.is_in(verdicts["verdict"], pa.array(["correct", "wrong"]))
        rows = verdicts.filter(pc.and_(inside, lawful)).select(_DRAFTED.names)
        last = Distribution.of(_ms(rows, "output_ms") - _ms(rows, "input_last_ms"))
        self.last = Distribution.merged([self.last, last])
        self._piles.lay(rows, self._spans(rows))

    def tables(self) -> Iterator[pa.Table]:
        """All of it, some slots at a time; it is gone then."""
        for span in range(self._piles.number):
            rows = self._piles.take(span)
            yield rows.sort_by([("slot", "ascending"), ("output_ms", "ascending")])

    def _spans(self, rows: pa.Table) -> IntArray:
        """The measured window, cut into equal spans of slots."""
        assert self._first is not None and self._last is not None
        since = rows["slot"].to_numpy().astype(np.int64) - self._first
        found: IntArray = since * self._piles.number // (self._last - self._first + 1)
        return found


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
    drafted: Iterable[pa.Table],
    path: Path,
    stalls: Sequence[Stall],
    ends: WindowEnds | None = None,
) -> Measured:
    """Write latency.parquet, whole or not at all; and sum it up on the way.

    `drafted` are the measured outputs without the columns that are known last; `ends` is given
    where outputs wait for the ends of their windows.
    """
    unfinished = path.with_name(f".{path.name}.draft")
    parts: dict[str, list[Distribution]] = {name: [] for name in (*MEASURES, "last_outside_stalls")}
    slots: dict[int, list[Distribution]] = {}
    measured = Measured()
    schema = parquet_schema(LATENCY_COLUMNS)
    with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        for rows in drafted:
            stalled = in_any(stalls, rows["output_ms"].to_numpy())
            table = _with_added(rows, stalled, ends).select(schema.names).cast(schema)
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
    measured.of = {name: Distribution.merged(held) for name, held in parts.items()}
    measured.of_slot = {slot: Distribution.merged(held) for slot, held in slots.items()}
    return measured


def _with_added(
    drafted: pa.Table, stalled: npt.NDArray[np.bool_], ends: WindowEnds | None
) -> pa.Table:
    """The draft with the columns that are known last."""
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
