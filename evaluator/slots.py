"""Tell slot by slot what was due, sent, appended and put out; write slots.parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import SLOTS_COLUMNS
from evaluator.distribution import Distribution
from evaluator.evidence import TimeAxis
from evaluator.latency import parquet_schema
from evaluator.sent import LATE_QUANTILES, Sent, SentSlot


def slot_rows(
    axis: TimeAxis,
    sent: Sent,
    appended: Mapping[int, int],
    verdicts: Sequence[Mapping[str, Any]],
    last_of_slot: Mapping[int, Distribution],
) -> list[dict[str, Any]]:
    """One row for every slot from 0 to the last that was published or appended."""
    ends = [axis.last_slot, *appended, *sent.of_slot]
    number = max((slot for slot in ends if slot is not None), default=-1) + 1
    expected, outputs = np.zeros(number, np.int64), np.zeros(number, np.int64)
    for row in verdicts:
        if row["slot"] is not None and 0 <= row["slot"] < number:
            expected[row["slot"]] += row["expected_copies"]
            outputs[row["slot"]] += row["count"] if row["came"] else 0
    return [
        {
            "slot": slot,
            "due_ms": axis.due_ms(slot),
            "measured": axis.measures(slot),
            **_sent(sent.of_slot.get(slot)),
            "appended": appended.get(slot, 0),
            "expected": int(expected[slot]),
            "outputs": int(outputs[slot]),
            **_last(last_of_slot.get(slot)),
        }
        for slot in range(number)
    ]


_LAST_QUANTILES = (("p5", 0.05), ("p50", 0.5), ("p95", 0.95), ("max", 1.0))


def _sent(told: SentSlot | None) -> dict[str, int | float | None]:
    counts = ("scheduled", "sent", "acknowledged")
    return {
        **{name: getattr(told, name) if told else 0 for name in counts},
        **{f"late_{q}_ms": told.late_ms[q] if told else None for q, _ in LATE_QUANTILES},
    }


def _last(found: Distribution | None) -> dict[str, float | None]:
    return {
        f"last_{q}_ms": None if found is None else found.quantile_if_any(share)
        for q, share in _LAST_QUANTILES
    }


def write_slots(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write slots.parquet, whole or not at all."""
    write_table(path, rows, SLOTS_COLUMNS)


def write_table(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]]
) -> None:
    """Write rows as one of the contract's tables, whole or not at all."""
    schema = parquet_schema(columns)
    table = pa.table({n: [row[n] for row in rows] for n in schema.names}, schema=schema)
    draft = path.with_name(f".{path.name}.draft")
    pq.write_table(table, draft, compression="zstd")
    draft.replace(path)
