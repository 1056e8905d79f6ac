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
Flags = npt.NDArray[np.bool_]
Block = dict[str, float | int | None]


def floats(table: pa.Table, column: str) -> Floats:
    """A column as doubles; what is null, or a column that is not there, as NaN."""
    if column not in table.column_names:
        return np.full(table.num_rows, np.nan)
    values = table.column(column).cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def flags(table: pa.Table, column: str) -> Flags:
    """A column of yes and no; null counts as no."""
    if column not in table.column_names:
        return np.zeros(table.num_rows, dtype=np.bool_)
    filled = pc.fill_null(table.column(column), False)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_)


def total(table: pa.Table, column: str, where: Flags) -> int | None:
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
    """The latency of each output, three ways, what it is made of, and `last` outside stalls."""
    output = floats(latency, "output_ms")
    inputs = floats(latency, "input_mean_ms"), floats(latency, "input_last_ms")
    last = output - inputs[1]
    end = floats(latency, "window_end_ms")
    closed_later = end > inputs[1]  # never where there is no end
    return {
        "mean": output - inputs[0],
        "last": last,
        "due": output - floats(latency, "due_ms"),
        "gathering": inputs[1] - inputs[0],
        "residence": np.where(closed_later, end - inputs[1], 0.0),
        "engine": np.where(closed_later, output - end, last),
        "last_outside_stalls": last[~flags(latency, "in_stall")],
    }


def latency_blocks(latency: pa.Table) -> dict[str, Block]:
    """The `latency_ms` of run.json."""
    return {name: quantile_block(values) for name, values in latencies_ms(latency).items()}


def slot_quantiles(latency: pa.Table, slots: Floats) -> dict[str, Floats]:
    """The `last_…` columns of slots.parquet for these slots; NaN where a slot has no sample."""
    last = floats(latency, "output_ms") - floats(latency, "input_last_ms")
    slot = floats(latency, "slot")
    shares = {"last_p5_ms": 0.05, "last_p50_ms": 0.5, "last_p95_ms": 0.95, "last_max_ms": 1.0}
    found = {name: np.full(len(slots), np.nan) for name in shares}
    order = np.argsort(slot, kind="stable")
    ordered, values = slot[order], last[order]
    for place, number in enumerate(slots):
        ends = np.searchsorted(ordered, [number, number + 1])
        if ends[1] > ends[0]:
            quantiles = np.quantile(values[ends[0] : ends[1]], list(shares.values()))
            for name, value in zip(shares, quantiles, strict=True):
                found[name][place] = value
    return found


def slot_accounts(sent: pa.Table, slots: Floats) -> dict[str, Floats]:
    """The publisher's columns of slots.parquet, from its account of each record."""
    late_ms, slot = floats(sent, "late_us") / 1000, floats(sent, "slot")
    acknowledged = ~np.isnan(floats(sent, "ack_us"))
    shares = {"late_p50_ms": 0.5, "late_p99_ms": 0.99, "late_max_ms": 1.0}
    names = ("scheduled", "sent", "acknowledged")
    found = {name: np.full(len(slots), np.nan) for name in (*names, *shares)}
    order = np.argsort(slot, kind="stable")
    starts, ends = (np.searchsorted(slot[order], slots, side) for side in ("left", "right"))
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        mine = order[start:end]
        late = late_ms[mine][~np.isnan(late_ms[mine])]
        counts = len(mine), len(late), int(acknowledged[mine].sum())
        for name, count in zip(names, counts, strict=True):
            found[name][place] = count
        if len(late):
            quantiles = np.quantile(late, list(shares.values()))
            for name, value in zip(shares, quantiles, strict=True):
                found[name][place] = value
    return found


def input_per_s(slots: pa.Table, seconds: float) -> float | None:
    """Records appended a second over the measured slots, which last `seconds`."""
    appended = total(slots, "appended", flags(slots, "measured"))
    return None if appended is None else appended / seconds


def theil_sen(values: Floats) -> float:
    """The median of the slopes between all pairs: a slope a step, deaf to outliers."""
    thinned = values[:: -(-len(values) // 2000)]
    step = -(-len(values) // 2000)
    slopes = [(thinned[gap:] - thinned[:-gap]) / (gap * step) for gap in range(1, len(thinned))]
    return float(np.median(np.concatenate(slopes))) if slopes else 0.0


def resource_summary(
    resources: pa.Table, start_ms: float, end_ms: float
) -> dict[str, dict[str, float | int | None]]:
    """What each service used while measuring."""
    at_ms = floats(resources, "at_ms")
    inside = (at_ms >= start_ms) & (at_ms < end_ms)
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


def publisher_summary(
    sent: pa.Table, slots: tuple[int | None, int | None] = (None, None)
) -> dict[str, Any]:
    """What was scheduled, sent and acknowledged; how late the records of these slots were sent."""
    late_ms = floats(sent, "late_us") / 1000
    known = ~np.isnan(late_ms)
    inside = known
    if slots[0] is not None and slots[1] is not None:
        slot = floats(sent, "slot")
        inside = known & (slot >= slots[0]) & (slot <= slots[1])
    late = late_ms[inside]
    quantiles = np.quantile(late, [0.5, 0.99, 1.0]) if len(late) else [None] * 3
    return {
        "scheduled": len(late_ms),
        "sent": int(known.sum()),
        "acknowledged": int((~np.isnan(floats(sent, "ack_us"))).sum()),
        "late_ms": {
            name: None if value is None else float(value)
            for name, value in zip(("p50", "p99", "max"), quantiles, strict=True)
        },
    }


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of those that are known."""
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None
