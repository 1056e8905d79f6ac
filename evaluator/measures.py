"""Compute each measure of latency from the columns of latency.parquet; numpy and pyarrow only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from contract.errors import unknown_name
from contract.results import MEASURES
from evaluator.evidence import FloatArray

#: measure → the columns that it is computed from
COLUMNS: dict[str, tuple[str, ...]] = {
    "mean": ("output_ms", "input_mean_ms"),
    "last": ("output_ms", "input_last_ms"),
    "due": ("output_ms", "due_ms"),
    "gathering": ("input_last_ms", "input_mean_ms"),
    "residence": ("input_last_ms", "window_end_ms"),
    "engine": ("output_ms", "input_last_ms", "window_end_ms"),
}


def latency_ms(table: pa.Table | pa.RecordBatch, measure: str) -> FloatArray:
    """A value an output; not a number where it is not known."""
    if measure not in COLUMNS:
        raise unknown_name("measure", measure, MEASURES)
    first, *others = (_floats(table, name) for name in COLUMNS[measure])
    if measure == "residence":
        return np.maximum(0.0, _or_none(others[0], first) - first)
    if measure == "engine":
        return first - np.maximum(others[0], _or_none(others[1], others[0]))
    return first - others[0]


def _or_none(window_end_ms: FloatArray, instead: FloatArray) -> FloatArray:
    """Where nothing waits for a window's end, it is no later than the last input."""
    return np.where(np.isnan(window_end_ms), instead, window_end_ms)


def _floats(table: pa.Table | pa.RecordBatch, column: str) -> FloatArray:
    values = table[column].cast("float64").to_numpy(zero_copy_only=False)
    return np.asarray(values, np.float64)
