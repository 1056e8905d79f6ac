"""Compute a run's figures from its stored samples, exactly, without Spark or Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from contract.results import QUANTILES

Floats = npt.NDArray[np.float64]
Block = dict[str, float | int | None]


def floats(table: pa.Table, column: str) -> Floats:
    """A column as doubles; what is null, or a column that is not there, as NaN."""
    if column not in table.column_names:
        return np.full(table.num_rows, np.nan)
    values = table.column(column).cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def flags(table: pa.Table, column: str) -> npt.NDArray[np.bool_]:
    """A column of yes and no; null counts as no."""
    if column not in table.column_names:
        return np.zeros(table.num_rows, dtype=np.bool_)
    filled = pc.fill_null(table.column(column), False)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_)


def total(table: pa.Table, column: str, where: npt.NDArray[np.bool_]) -> int | None:
    """The sum of a column's whole numbers; None where none is known."""
    values = floats(table, column)[where]
    known = values[~np.isnan(values)]
    return int(known.sum()) if len(known) else None


def quantile_block(values: Floats) -> Block:
    """Count, mean, extremes and the named quantiles, linearly interpolated; NaN left out."""
    known = values[~np.isnan(values)]
    if not len(known):
        names = ["avg", "min", *(name for name, _ in QUANTILES), "max"]
        return {"count": 0, **dict.fromkeys(names)}
    quantiles = np.quantile(known, [q for _, q in QUANTILES], method="linear")
    return {
        "count": len(known),
        "avg": float(np.mean(known)),
        "min": float(known.min()),
        **{name: float(v) for (name, _), v in zip(QUANTILES, quantiles, strict=True)},
        "max": float(known.max()),
    }


def latencies_ms(latency: pa.Table) -> dict[str, Floats]:
    """The latency of each output, three ways, and `last` outside stalls."""
    output = floats(latency, "output_ms")
    last = output - floats(latency, "input_last_ms")
    return {
        "mean": output - floats(latency, "input_mean_ms"),
        "last": last,
        "due": output - floats(latency, "due_ms"),
        "last_outside_stalls": last[~flags(latency, "in_stall")],
    }


def latency_blocks(latency: pa.Table) -> dict[str, Block]:
    """The `latency_ms` of run.json."""
    return {name: quantile_block(values) for name, values in latencies_ms(latency).items()}


def throughput(slots: pa.Table, seconds: float) -> dict[str, float | None]:
    """Records appended and outputs a second over the measured slots, which last `seconds`."""
    measured = flags(slots, "measured")
    appended = total(slots, "appended", measured)
    outputs = total(slots, "outputs", measured)
    return {
        "input_per_s": None if appended is None else appended / seconds,
        "output_per_s": None if outputs is None else outputs / seconds,
    }


def resource_summary(
    resources: pa.Table, start_ms: float, end_ms: float
) -> dict[str, dict[str, float | int | None]]:
    """What each service used while measuring."""
    at_ms = floats(resources, "at_ms")
    inside = (at_ms >= start_ms) & (at_ms <= end_ms)
    names = np.array(resources.column("service").to_pylist(), dtype=object)
    cpu_cores = floats(resources, "cpu_cores")
    memory_bytes = floats(resources, "memory_bytes")
    found: dict[str, dict[str, float | int | None]] = {}
    for service in dict.fromkeys(names.tolist()):
        mine = inside & (names == service)
        cores = cpu_cores[mine & ~np.isnan(cpu_cores)]
        memory = memory_bytes[mine & ~np.isnan(memory_bytes)]
        if mine.any():
            found[service] = {
                "cpu_cores_avg": float(np.mean(cores)) if len(cores) else None,
                "cpu_cores_max": float(cores.max()) if len(cores) else None,
                "memory_bytes_max": int(memory.max()) if len(memory) else None,
            }
    return found


def publisher_summary(tables: Iterable[pa.Table]) -> dict[str, Any]:
    """What the publisher scheduled and sent, what was acknowledged, and how late it sent."""
    parts = list(tables)
    late_ms = np.concatenate([floats(t, "late_us") for t in parts] or [np.empty(0)]) / 1000
    acknowledged = np.concatenate([floats(t, "ack_us") for t in parts] or [np.empty(0)])
    late = late_ms[~np.isnan(late_ms)]
    quantiles = np.quantile(late, [0.5, 0.99]) if len(late) else (None, None)
    return {
        "scheduled": len(late_ms),
        "sent": len(late),
        "acknowledged": int((~np.isnan(acknowledged)).sum()),
        "late_ms": {
            "p50": None if quantiles[0] is None else float(quantiles[0]),
            "p99": None if quantiles[1] is None else float(quantiles[1]),
            "max": float(late.max()) if len(late) else None,
        },
    }


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of those that are known."""
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None
