"""Tell which doubts a run's evidence demands, by other means than those that found them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from contract import doubts as limit
from contract.workload import load_workload
from evaluator.quantities import flags, floats, theil_sen, total


def demanded(
    run: dict[str, Any],
    conditions: dict[str, Any],
    latency: pa.Table | None,
    slots: pa.Table | None,
    machine: list[dict[str, Any]],
) -> dict[str, str]:
    """Doubt → why it must be there; only those that can be told without the topics."""
    found = [
        *_outputs(run, conditions),
        *_samples(run, latency),
        *_windows(run, latency),
        *_trend(run, slots),
        *_held_back(run, slots),
        *_publisher(run, slots),
        *_witnessed(conditions),
        *_clock(conditions),
        *_machine(run, conditions, machine),
    ]
    return dict(found)


def _outputs(run: dict[str, Any], conditions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    told = run.get("outputs") or {}
    faults = {k: told.get(k) or 0 for k in ("missing", "duplicate", "wrong", "unexpected")}
    if run.get("delivery") == "at-least-once" and conditions.get("fault_injected"):
        faults["duplicate"] = 0
    if any(faults.values()):
        yield "outputs-wrong", ", ".join(f"{n} {k}" for k, n in faults.items() if n)


def _samples(run: dict[str, Any], latency: pa.Table | None) -> Iterator[tuple[str, str]]:
    if latency is None or not latency.num_rows:
        return
    least = float(np.nanmin(floats(latency, "output_ms") - floats(latency, "input_last_ms")))
    if least < 0:
        yield "output-before-input", f"an output {-least:g} ms before its last input"
    stalled = int(flags(latency, "in_stall").sum())
    if stalled / latency.num_rows > limit.STALLED_SHARE_MAX:
        yield "mostly-stalled", f"{stalled} of {latency.num_rows} samples in stalls"
    beyond = limit.SAMPLES_BEYOND_QUANTILE
    if latency.num_rows * 0.001 < beyond - 1e-6:
        yield "few-samples", f"{latency.num_rows} samples for the quantile 0.999"
    window, period = run.get("window") or {}, run.get("checkpoint_s")
    if window and period:
        held = (window["end_ms"] - window["start_ms"]) / 1000 / period
        if held < limit.CHECKPOINTS_MIN:
            yield "few-checkpoints", f"{held:g} checkpoints in the window"


def waits(run: dict[str, Any]) -> bool:
    """Whether the run's outputs must wait until event time has passed their slot."""
    if run.get("dialect") != "windowed":
        return False
    return load_workload(str(run.get("workload"))).stage(str(run.get("stage"))).windowed


def _windows(run: dict[str, Any], latency: pa.Table | None) -> Iterator[tuple[str, str]]:
    if latency is None or not waits(run):
        return
    kept = floats(latency, "output_ms") >= floats(latency, "window_end_ms")
    hasty = latency.num_rows - int(kept.sum())
    if hasty:
        yield "window-not-kept", f"{hasty} outputs before the end of their window"


def _trend(run: dict[str, Any], slots: pa.Table | None) -> Iterator[tuple[str, str]]:
    median = ((run.get("latency_ms") or {}).get("last") or {}).get("p50")
    if slots is None or median is None:
        return
    medians = floats(slots, "last_p50_ms")[flags(slots, "measured")]
    medians = medians[np.isfinite(medians)]
    if len(medians) < 2:
        return
    drift = theil_sen(medians) * (len(medians) - 1)
    allowed = max(limit.DRIFT_SHARE_OF_MEDIAN * median, limit.DRIFT_MS_MIN)
    if drift > allowed * (1 + 1e-9):
        yield "not-sustained", f"medians grew by {drift:.1f} ms over the window"
    third = len(medians) // 3
    if third:
        late = float(np.median(medians[-third:]))
        fall = float(np.median(medians[:third])) - late
        allowed = max(limit.FALL_SHARE_OF_MEDIAN * median, limit.FALL_MS_MIN)
        if fall > allowed * (1 + 1e-9):
            yield "not-sustained", f"medians fell by {fall:.1f} ms over the window"
        elif fall > max(limit.WARMING_SHARE * late, limit.WARMING_MS_MIN) * (1 + 1e-9):
            yield "warming", f"medians fell by {fall:.1f} ms over the window"


def _held_back(run: dict[str, Any], slots: pa.Table | None) -> Iterator[tuple[str, str]]:
    """What came of the window's slots did not come while they were measured."""
    window, output_per_s = run.get("window"), (run.get("throughput") or {}).get("output_per_s")
    if slots is None or not window or output_per_s is None:
        return
    put_out = round(output_per_s * (window["end_ms"] - window["start_ms"]) / 1000)
    came = total(slots, "outputs", flags(slots, "measured"))
    if came and put_out / came < limit.PUT_OUT_SHARE_MIN:
        yield "not-sustained", f"{put_out} outputs within the window, {came} of its slots"


def _publisher(run: dict[str, Any], slots: pa.Table | None) -> Iterator[tuple[str, str]]:
    late = ((run.get("publisher") or {}).get("late_ms") or {}).get("p99") or 0.0
    due = ((run.get("latency_ms") or {}).get("due") or {}).get("p50")
    if late > limit.LATE_MS_P99_MAX:
        yield "publisher-late", f"p99 of lateness {late:.1f} ms"
    if due is not None and late > max(limit.LATE_MS_P99_NOTED, limit.LATE_SHARE_OF_DUE * due):
        yield "late-publisher", f"p99 of lateness {late:.1f} ms at a median `due` of {due:.1f} ms"
    outputs = run.get("outputs") or {}
    collected = outputs.get("correct") is not None
    if slots is not None and run.get("window") and collected:
        measured = flags(slots, "measured")
        scheduled, timed = (total(slots, k, measured) for k in ("scheduled", "appended"))
        # to which slot malformed records belong nobody can say, but they were appended
        appended = (timed or 0) + (outputs.get("malformed_inputs") or 0)
        if scheduled and timed is not None and appended / scheduled < limit.APPENDED_SHARE_MIN:
            yield "publisher-late", f"{appended} of {scheduled} records were appended"


def _witnessed(conditions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the conductor saw happen."""
    for death in conditions.get("deaths") or []:
        service = str(death.get("service"))
        kind = next((k for k in ("broker", "publisher") if service.startswith(k)), "engine")
        doubt = {"broker": "broker-died", "publisher": "publisher-late", "engine": "engine-died"}
        yield doubt[kind], f"{service} died"
    if conditions.get("interrupted"):
        yield "interrupted", "the run was interrupted"
    if conditions.get("never_ready") is not None:
        yield "not-sustained", "the engine never got ready"
    elif conditions.get("drained") is False and conditions.get("window"):
        yield "not-sustained", "the backlog did not drain"
    elif not (conditions.get("window") or _broke_off(conditions)):
        yield "not-sustained", "no slot was measured"
    if conditions.get("monitoring") is False:
        yield "no-monitoring", "nobody measured resources"


def _broke_off(conditions: dict[str, Any]) -> bool:
    """Whether something ended the run before its time, which explains what is missing."""
    return bool(conditions.get("deaths") or conditions.get("interrupted"))


def _clock(conditions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """One broker led all along, stamped all records, and its clock was steady."""
    if abs(conditions.get("clock_step_ms") or 0) > limit.CLOCK_STEP_MS_MAX:
        yield "clock-stepped", f"the clock stepped by {conditions['clock_step_ms']} ms"
    types = conditions.get("timestamp_types") or {}
    seen = {t for look in types.values() for t in (look or {}).values()}
    if seen - {"LogAppendTime"}:
        yield "not-log-append-time", f"topics stamp by {', '.join(sorted(map(str, seen)))}"
    leaders = conditions.get("leaders") or {}
    before, after = (
        {(x["topic"], x["partition"]): (x["leader"], x["epoch"]) for x in leaders.get(k) or []}
        for k in ("before", "after")
    )
    looked = leaders.get("after") is not None
    moved = [p for p, led in before.items() if looked and after.get(p) != led]
    foreign = [p for p, led in before.items() if led[0] != conditions.get("clock_broker")]
    if before and not looked and not _broke_off(conditions):
        yield "leader-moved", "nobody looked who led after the run"
    if moved or foreign:
        yield "leader-moved", f"{len(moved) + len(foreign)} partitions were led by others"


def _machine(
    run: dict[str, Any], conditions: dict[str, Any], looks: list[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    """What the machine was seen to do, all along and while the run was measured."""
    swapped = [look.get("swap_out_bytes") or 0 for look in looks]
    if swapped and swapped[-1] > swapped[0]:
        yield "swapping", f"{swapped[-1] - swapped[0]} bytes swapped out"
    free = [look["disk_free_bytes"] for look in looks if look.get("disk_free_bytes")]
    if free and min(free) < limit.DISK_FREE_BYTES_MIN:
        yield "low-disk", f"{min(free)} bytes free"
    window = run.get("window") or {}
    cores = np.array(
        [
            [look.get(f"{name}_cores") or 0.0 for name in ("busy", "ours", "steal")]
            for look in looks
            if window and window["start_ms"] <= look["at_ms"] < window["end_ms"]
        ]
    )
    if not len(cores):
        return
    busy, ours, steal = cores.mean(axis=0) / (conditions.get("cores") or 1)
    # a hair above the threshold may be a hair below it in another order of summing
    if busy > limit.HOST_BUSY_SHARE * (1 + 1e-9):
        yield "host-saturated", f"{busy:.1%} of the CPU busy"
    if max(steal, busy - ours) > limit.HOST_NOISE_SHARE * (1 + 1e-9):
        yield "noisy-host", f"{steal:.1%} of the CPU stolen, {busy - ours:.1%} used by others"
