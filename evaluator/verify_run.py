"""Check one run: recompute its figures from its tables and demand the doubts they call for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from contract.doubts import SEVERITIES
from contract.results import SCHEMA, TOLD, RunFolder
from evaluator import quantities
from evaluator.quantities import flags, floats
from evaluator.verify_doubts import demanded, waits
from evaluator.verify_parts import RELATIVE, Check, Kept, compare
from evaluator.verify_slots import check_slots

#: what is looked at besides what every run.json repeats
_TOLD_TOO = ("delivery", "checkpoint_s")


def check_run(folder: RunFolder) -> tuple[dict[str, Any], list[Check]]:
    """The run's run.json (empty if there is none) and all that was checked in it."""
    name = folder.path.name
    if not folder.run_json.is_file():
        return {}, []
    try:
        kept = Kept.read(folder)
        return kept.run, _checks(kept)
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        # a file that was cut or changed may be wrong in any way; it is told, not shown as a trace
        says = next(iter(str(error).splitlines()), type(error).__name__)
        return {}, [Check(f"{name}", "readable", says)]


def _checks(kept: Kept) -> list[Check]:
    return [
        *_identity(kept),
        *_window(kept),
        *check_slots(kept),
        *_latency(kept),
        *_window_ends(kept),
        *_stalls(kept),
        *_throughput(kept),
        *_publisher(kept),
        *_resources(kept),
        *_outputs(kept),
        *_doubts(kept),
    ]


def _all(where: str, told: Any, found: Any) -> Iterator[Check]:
    """Compare two trees of figures, leaf by leaf."""
    if isinstance(found, dict):
        given = told if isinstance(told, dict) else {}
        for key in [*found, *(k for k in given if k not in found)]:
            yield from _all(f"{where} {key}", given.get(key), found.get(key))
    else:
        yield compare(where, told, found)


def _identity(kept: Kept) -> Iterator[Check]:
    yield Check(f"{kept.name} schema", kept.run.get("schema"), SCHEMA)
    for key in (*TOLD, *_TOLD_TOO):
        if key in kept.conditions:
            yield Check(f"{kept.name} {key}", kept.run.get(key), kept.conditions[key])


def _window(kept: Kept) -> Iterator[Check]:
    """The window is the conductor's, and the slots marked as measured are those within it."""
    told, asked = kept.run.get("window"), kept.conditions.get("window")
    if not asked:
        yield Check(f"{kept.name} window", told, None)
        return
    first, last = asked["first_slot"], asked["last_slot"]
    origin, slot_ms = kept.conditions["first_due_ms"], kept.conditions["slot_ms"]
    found = {
        "first_slot": first,
        "last_slot": last,
        "start_ms": origin + first * slot_ms,
        "end_ms": origin + (last + 1) * slot_ms,
    }
    yield from _all(f"{kept.name} window", told, found)


def _latency(kept: Kept) -> Iterator[Check]:
    table = kept.latency if kept.latency is not None else pa.table({"output_ms": pa.array([])})
    told = kept.run.get("latency_ms") or {}
    for name, found in quantities.latency_blocks(table).items():
        where = f"{kept.name} latency_ms {name}"
        if told.get(name) is None and not found["count"]:
            yield Check(where, None, None)
        else:
            yield from _all(where, told.get(name), found)


def _window_ends(kept: Kept) -> Iterator[Check]:
    """A slot has one end, no later than the next slot's; none where nothing waits for it."""
    if kept.latency is None:
        return
    end_ms, slot = floats(kept.latency, "window_end_ms"), floats(kept.latency, "slot")
    where = f"{kept.name} latency.parquet window_end_ms, rows amiss"
    if not waits(kept.run):
        yield Check(where, 0, int((~np.isnan(end_ms)).sum()))
        return
    order = np.argsort(slot, kind="stable")
    slot, end_ms = slot[order], np.nan_to_num(end_ms[order], nan=np.inf)
    same = slot[1:] == slot[:-1]
    amiss = np.where(same, end_ms[1:] != end_ms[:-1], end_ms[1:] < end_ms[:-1])
    yield Check(where, 0, int(amiss.sum()))


def _stalls(kept: Kept) -> Iterator[Check]:
    listed = kept.run.get("stall_list") or []
    lengths = [s["end_ms"] - s["start_ms"] for s in listed]
    found = {
        "count": len(lengths),
        "total_ms": sum(lengths),
        "longest_ms": max(lengths, default=0),
    }
    if kept.run.get("stalls") is not None or listed:
        yield from _all(f"{kept.name} stalls", kept.run.get("stalls"), found)
    if kept.latency is not None:
        at_ms = floats(kept.latency, "output_ms")
        inside = np.zeros(len(at_ms), dtype=np.bool_)
        for stall in listed:
            inside |= (at_ms > stall["start_ms"]) & (at_ms < stall["end_ms"])
        wrong = inside != flags(kept.latency, "in_stall")
        yield Check(f"{kept.name} latency.parquet in_stall, rows amiss", 0, int(wrong.sum()))


def _throughput(kept: Kept) -> Iterator[Check]:
    """Inputs exactly; outputs count by append time, of which the samples hold only a part."""
    told, span = kept.run.get("throughput") or {}, kept.span_ms
    if span is None or kept.slots is None or told.get("input_per_s") is None:
        return
    seconds = (span[1] - span[0]) / 1000
    found = quantities.input_per_s(kept.slots, seconds)
    yield compare(f"{kept.name} throughput input_per_s", told["input_per_s"], found)
    outputs = (told.get("output_per_s") or 0) * seconds
    where = f"{kept.name} throughput output_per_s"
    whole = math.isclose(outputs, round(outputs), rel_tol=RELATIVE, abs_tol=1e-6)
    yield Check(where, told.get("output_per_s"), "no whole number of outputs", agrees=whole)
    if kept.latency is not None:
        at_ms = floats(kept.latency, "output_ms")
        least = int(((at_ms >= span[0]) & (at_ms < span[1])).sum())
        yield Check(where, outputs, f"at least {least} outputs", agrees=round(outputs) >= least)


def _publisher(kept: Kept) -> Iterator[Check]:
    told = kept.run.get("publisher") or {}
    where = f"{kept.name} publisher"
    if kept.publisher is not None:
        for key in ("scheduled", "sent", "acknowledged"):
            yield compare(f"{where} {key}", told.get(key), kept.publisher.get(key))
    if kept.sent is None:
        return
    window = kept.run.get("window") or {}
    slots = window.get("first_slot"), window.get("last_slot")
    found = quantities.publisher_summary(kept.sent, slots)
    if kept.publisher is None:
        found = {"late_ms": found["late_ms"]}
        told = {"late_ms": told.get("late_ms")}
    yield from _all(where, told, found)


def _resources(kept: Kept) -> Iterator[Check]:
    told = kept.run.get("resources") or {}
    if kept.resources is None or kept.span_ms is None:
        yield Check(f"{kept.name} resources", sorted(told), [])
        return
    found = quantities.resource_summary(kept.resources, *kept.span_ms)
    yield from _all(f"{kept.name} resources", told, found)
    if kept.looks:
        services = {look["service"] for look in kept.looks}
        rows = [row for row in kept.resources.to_pylist() if row["service"] in services]
        amiss = _looked_at(rows) ^ _looked_at(kept.looks)
        yield Check(f"{kept.name} resources.parquet, rows amiss", 0, len(amiss))


def _looked_at(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    names = ("service", "at_ms", "cpu_cores", "memory_bytes")
    return {tuple(row.get(name) for name in names) for row in rows}


def _outputs(kept: Kept) -> Iterator[Check]:
    """What was expected came right, came wrong or is missing; the samples hold no more."""
    told = kept.run.get("outputs") or {}
    expected, correct, missing, wrong = (
        told.get(k) for k in ("expected", "correct", "missing", "wrong")
    )
    if expected is None or correct is None or missing is None or wrong is None:
        return
    rest = expected - correct - missing
    says = f"{rest} are neither correct nor missing, {wrong} are wrong"
    where = f"{kept.name} outputs"
    yield Check(f"{where} expected", expected, says, agrees=0 <= rest <= wrong)
    if kept.latency is not None:
        rows = kept.latency.num_rows
        yield Check(f"{where} correct", correct, f"{rows} samples", agrees=rows <= correct + wrong)


def _doubts(kept: Kept) -> Iterator[Check]:
    """Each doubt has its severity; none that the evidence demands is left out."""
    doubts = kept.run.get("doubts") or []
    for doubt in doubts:
        name = str(doubt.get("id"))
        severity = SEVERITIES.get(name, "no such doubt")
        yield Check(f"{kept.name} doubt {name} severity", doubt.get("severity"), severity)
    there = {str(d.get("id")) for d in doubts}
    found = demanded(kept.run, kept.conditions, kept.latency, kept.slots, kept.machine)
    for name, why in found.items():
        yield Check(f"{kept.name} doubt {name}", "nothing", why, agrees=name in there)
    grave = any(SEVERITIES.get(name) == "invalid" for name in there)
    yield Check(f"{kept.name} valid", kept.run.get("valid"), not grave)
