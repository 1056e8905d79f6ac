"""Give each output a verdict: compare what came with what had to come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from contract.workload import FieldType, Stage
from evaluator.arrays import BoolArray, IntArray
from evaluator.evidence import TimeAxis
from evaluator.identity import numbered
from evaluator.lineage import Sources, due_on_wall_ms, passing, slots_at, slots_of
from evaluator.workload import IDENTITY

DOUBLE_RELATIVE_MAX = 1e-9
#: a change is the difference of two sums, which may round differently: near 0 their last
#: bits are all there is, and no relative tolerance forgives them
DOUBLE_ABSOLUTE_MAX = 1e-12

VERDICTS_SCHEMA = pa.schema(
    [
        ("location", pa.string()),
        ("lane", pa.string()),
        ("kind", pa.string()),
        ("slot", pa.int32()),
        ("token", pa.string()),
        ("verdict", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("output_ms", pa.int64()),
        ("detail", pa.string()),
        ("awaited_slot", pa.int32()),
        ("expected_copies", pa.int64()),
        ("lacking", pa.int64()),
        ("incomplete", pa.int64()),
        ("input_mean_ms", pa.float64()),
        ("input_last_ms", pa.int64()),
        ("due_ms", pa.float64()),
    ]
)
_VERDICTS = pa.array(["correct", "wrong", "duplicate", "unexpected", "missing", "incomplete"])
_CORRECT, _WRONG, _DUPLICATE, _UNEXPECTED, _MISSING, _INCOMPLETE = range(6)
_NOTHING = -1


def differs(expected: pa.Array, got: pa.Array, kind: FieldType) -> BoolArray:
    """Whether a field's values are not what they must be; a null equals only a null."""
    both = pc.and_(expected.is_valid(), got.is_valid())
    neither = pc.and_(expected.is_null(), got.is_null())
    same = pc.or_(pc.and_(both, pc.equal(expected, got).fill_null(False)), neither)
    found: BoolArray = np.asarray(same)
    if kind == "double":
        one, other = (np.asarray(c.fill_null(0.0), np.float64) for c in (expected, got))
        larger = np.maximum(np.abs(one), np.abs(other))
        allowed = np.maximum(larger * DOUBLE_RELATIVE_MAX, DOUBLE_ABSOLUTE_MAX)
        with np.errstate(invalid="ignore"):
            found = found | (np.asarray(both) & (np.abs(one - other) <= allowed))
    return ~found


def judge(
    records: pa.Table,
    outputs: pa.Table,
    expected: pa.Table,
    stage: Stage,
    axis: TimeAxis,
    *,
    same_machine: bool,
) -> pa.Table:
    """A row for each output, each missing one, and each group of inputs that stayed incomplete.

    The three tables are all there is of some locations: the input records and the outputs as the
    judge reads them, and what must come of those records.
    """
    inputs = passing(records, stage)
    (of_input, of_output, of_expected), many = numbered([inputs, outputs, expected])
    at_ms, event_us = (inputs[name].to_numpy() for name in ("timestamp_ms", "event_us"))
    sources = Sources.of(of_input, many, at_ms, event_us)
    known = sources.records > 0
    wanted = np.full(many, _NOTHING)
    wanted[of_expected] = np.arange(expected.num_rows)
    wanted[~known] = _NOTHING
    copies = np.append(expected["copies"].to_numpy(), 0)[wanted]
    came = np.bincount(of_output, minlength=many)
    ordinal = _ordinals(of_output, came, outputs)
    verdict = np.select(
        [wanted[of_output] == _NOTHING, ordinal > copies[of_output]],
        [_UNEXPECTED, _DUPLICATE],
        _CORRECT,
    )
    compared = np.flatnonzero(verdict == _CORRECT)
    against = expected.take(wanted[of_output[compared]])
    faults = _faults(against, outputs.take(compared), stage)
    verdict[compared[list(faults)]] = _WRONG
    detail = {int(compared[row]): says for row, says in faults.items()}
    detail |= _why_unexpected(verdict, outputs, known[of_output])

    absent = np.flatnonzero(known & (came == 0))
    number = np.concatenate([of_output, absent])
    first_input = np.zeros(many, np.int64)
    first_input[of_input[::-1]] = np.arange(inputs.num_rows)[::-1]
    identities = pa.concat_tables(
        [outputs.select(IDENTITY), inputs.select(IDENTITY).take(first_input[absent])]
    )
    verdict = np.append(verdict, np.where(wanted[absent] == _NOTHING, _INCOMPLETE, _MISSING))
    first = np.append(ordinal == 1, np.ones(absent.size, np.bool_))
    has_source, is_expected = known[number], wanted[number] != _NOTHING
    last_ms, due = sources.last_ms[number], due_on_wall_ms(sources.event_last_us[number], axis)
    slot, has_slot = slots_of(identities["second"].to_numpy(), axis)
    awaited = np.where(
        has_slot, slot, slots_at(np.where(has_source, last_ms, axis.first_due_ms), axis)
    )
    columns = {
        **{name: _unless_empty(identities[name]) for name in IDENTITY if name != "second"},
        **{name: _padded(outputs[name], absent.size) for name in ("partition", "offset")},
        "output_ms": _padded(outputs["timestamp_ms"], absent.size),
        "verdict": _VERDICTS.take(pa.array(verdict)),
        "detail": _texts(detail, number.size),
        "slot": pa.array(slot, mask=~has_slot),
        "awaited_slot": pa.array(awaited, mask=~(has_slot | has_source)),
        "expected_copies": np.where(first & is_expected, copies[number], 0),
        "lacking": np.where(first, np.maximum(copies[number] - came[number], 0), 0),
        "incomplete": (first & ~is_expected & has_source).astype(np.int64),
        "input_mean_ms": pa.array(sources.mean_ms[number], mask=~has_source),
        "input_last_ms": pa.array(last_ms, mask=~has_source),
        "due_ms": pa.array(due, mask=~has_source | (not same_machine)),
    }
    return pa.table({f.name: columns[f.name] for f in VERDICTS_SCHEMA}).cast(VERDICTS_SCHEMA)


def _ordinals(number: IntArray, came: IntArray, outputs: pa.Table) -> IntArray:
    """Of each output its place among those of the same identity, by when they were appended."""
    ordinal = np.ones(number.size, np.int64)
    several = np.flatnonzero(came[number] > 1)
    if several.size:
        rows = outputs.take(several)
        appended = (rows[n].to_numpy() for n in ("offset", "partition", "timestamp_ms"))
        order = np.lexsort((*appended, number[several]))
        of = number[several][order]
        starts = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
        lengths = np.diff(np.append(starts, of.size))
        ordinal[several[order]] = np.arange(of.size) - np.repeat(starts, lengths) + 1
    return ordinal


def _faults(expected: pa.Table, outputs: pa.Table, stage: Stage) -> dict[int, str]:
    """Row → what is amiss in it; rows in which nothing is are left out."""
    said: dict[int, list[str]] = {}
    flawed = outputs["flaw"].is_valid()
    for row in np.flatnonzero(flawed).tolist():
        said[row] = [outputs["flaw"][row].as_py()]
    for name, kind in stage.fields:
        want, got = (
            table[f"{whose}_{name}"].combine_chunks()
            for table, whose in ((expected, "expected"), (outputs, "got"))
        )
        for row in np.flatnonzero(differs(want, got, kind)).tolist():
            told = [_told(column[row].as_py(), kind) for column in (want, got)]
            said.setdefault(row, []).append(f"{name}: expected {told[0]}, got {told[1]}")
    return {row: "; ".join(parts) for row, parts in said.items()}


def _told(value: Any, kind: FieldType) -> str:
    if value is None:
        return "null"
    if kind != "timestamp":
        return str(value)
    try:
        return str(datetime.fromtimestamp(0, UTC) + timedelta(microseconds=value))[:-6]
    except OverflowError:
        return f"{value} µs"


def _why_unexpected(verdict: IntArray, outputs: pa.Table, known: BoolArray) -> dict[int, str]:
    why = {}
    flaws = outputs["flaw"]
    for row in np.flatnonzero(verdict == _UNEXPECTED).tolist():
        source = "its inputs are not all there" if known[row] else "no input has this identity"
        why[row] = "; ".join(filter(None, [flaws[row].as_py(), source]))
    return why


def _unless_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.equal(column, ""), None, column)


def _padded(column: pa.ChunkedArray, missing: int) -> pa.ChunkedArray:
    return pa.chunked_array([*column.chunks, pa.nulls(missing, column.type)], column.type)


def _texts(of_row: dict[int, str], rows: int) -> pa.Array:
    if not of_row:
        return pa.nulls(rows, pa.string())
    texts = np.full(rows, None, dtype=object)
    texts[list(of_row)] = list(of_row.values())
    return pa.array(texts, pa.string())
