"""Turn a run's tables into what is drawn over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluator.quantities import Floats, floats
from evaluator.report.chart_time import Course, Stall
from evaluator.report.material import RunView, Samples
from evaluator.report.scales import binned
from evaluator.report.words import dig, mapping, number, rows_of

BACKLOG_STEP_MS = 100.0
BACKLOG_POINTS = 180
#: stalls whose distance is so near to whole checkpoint intervals recur with them
PERIOD_TOLERANCE = 0.06


def course_of(view: RunView, rank: int) -> Course | None:
    """The run slot by slot; None where it left no slots."""
    origin_ms = view.origin_ms
    if view.slots is None or not view.slots.num_rows or origin_ms is None:
        return None
    slots = view.slots.sort_by("slot")
    due_ms = floats(slots, "due_ms")
    slot_s = float(np.median(np.diff(due_ms))) / 1000 if len(due_ms) > 1 else 1.0
    at, backlog = _backlog(view.samples, origin_ms)
    return Course(
        title=view.title,
        rank=rank,
        trusted=view.valid,
        at_s=(due_ms - origin_ms) / 1000,
        slot_s=slot_s,
        window_s=_window(view.run, origin_ms),
        stalls=_stalls(view.run, origin_ms),
        p5_ms=floats(slots, "last_p5_ms"),
        p50_ms=floats(slots, "last_p50_ms"),
        p95_ms=floats(slots, "last_p95_ms"),
        max_ms=floats(slots, "last_max_ms"),
        appended_per_s=floats(slots, "appended") / slot_s,
        expected_per_s=floats(slots, "expected") / slot_s,
        outputs_per_s=floats(slots, "outputs") / slot_s,
        backlog_at_s=at,
        backlog=backlog,
        late_p50_ms=floats(slots, "late_p50_ms"),
        late_p99_ms=floats(slots, "late_p99_ms"),
        late_max_ms=floats(slots, "late_max_ms"),
    )


def _window(run: dict[str, Any], origin_ms: float) -> tuple[float, float] | None:
    start, end = number(dig(run, "window", "start_ms")), number(dig(run, "window", "end_ms"))
    if start is None or end is None or end <= start:
        return None
    return (start - origin_ms) / 1000, (end - origin_ms) / 1000


def _stalls(run: dict[str, Any], origin_ms: float) -> tuple[Stall, ...]:
    period_s = number(mapping(run).get("checkpoint_s"))
    ends = [
        (number(s.get("start_ms")), number(s.get("end_ms"))) for s in rows_of(run.get("stall_list"))
    ]
    known = [(a - origin_ms, b - origin_ms) for a, b in ends if a is not None and b is not None]
    starts = [a / 1000 for a, _ in known]
    return tuple(Stall(a / 1000, b / 1000, _recurs(a / 1000, starts, period_s)) for a, b in known)


def _recurs(start_s: float, starts_s: list[float], period_s: float | None) -> bool:
    if not period_s:
        return False
    rounds = [(other - start_s) / period_s for other in starts_s]
    return any(round(r) != 0 and abs(r - round(r)) <= PERIOD_TOLERANCE for r in rounds)


def _backlog(samples: Samples | None, origin_ms: float) -> tuple[Floats, Floats]:
    """Outputs owed every 100 ms: last input appended, the output not yet. Largest of a bin."""
    if samples is None:
        return np.empty(0), np.empty(0)
    inputs = np.sort(samples.input_last_ms[np.isfinite(samples.input_last_ms)])
    if not len(inputs):
        return np.empty(0), np.empty(0)
    at_ms = np.arange(inputs[0], samples.output_ms[-1] + BACKLOG_STEP_MS, BACKLOG_STEP_MS)
    there = np.searchsorted(samples.output_ms, at_ms, side="right")
    owed = np.searchsorted(inputs, at_ms, side="right") - there
    at_s = binned((at_ms - origin_ms) / 1000, BACKLOG_POINTS, np.mean)
    return at_s, binned(owed.astype(np.float64), BACKLOG_POINTS, np.max)
