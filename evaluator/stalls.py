"""Find where the engine stopped: gaps in the outputs and what piled up behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contract.doubts import STALL_GAP_MEDIANS, STALL_GAP_MS_MIN
from evaluator.arrays import FloatArray, IntArray

#: latency is normal again at this many medians
_WORKED_OFF_MEDIANS = 2.0
#: for so long the latency must stay normal
_CALM_MS = 50
#: what came so long before a gap says how large latency was before it
_BEFORE_MS = 1000


@dataclass(frozen=True, slots=True)
class Stall:
    """From the last output before the gap to when latency was back where it belongs."""

    start_ms: int
    end_ms: int
    gap_ms: int

    def to_json(self) -> dict[str, Any]:
        return {"start_ms": self.start_ms, "end_ms": self.end_ms, "gap_ms": self.gap_ms}


@dataclass(frozen=True, slots=True)
class Outputs:
    """A row a millisecond in which outputs were appended, ascending."""

    at_ms: IntArray
    #: the largest `last` among them
    last_ms_max: FloatArray


def find_stalls(
    outputs: Outputs, input_ms: IntArray, span_ms: tuple[float, float], median_ms: float
) -> list[Stall]:
    """The stalls that reach into the span.

    A gap counts from when something waited: were it counted from the last output, an engine
    with little to do would seem to stall. `input_ms` holds the milliseconds, ascending, in
    which inputs were appended.
    """
    at_ms = outputs.at_ms
    if at_ms.size < 2:
        return []
    gap_ms_min = max(STALL_GAP_MS_MIN, STALL_GAP_MEDIANS * median_ms)
    # the last input of anything that came at this time or later: it waited since then
    waiting_since_ms = np.minimum.accumulate((at_ms - outputs.last_ms_max)[::-1])[::-1]
    waited_ms = at_ms[1:] - np.maximum(at_ms[:-1], waiting_since_ms[1:])
    inside = (at_ms[1:] > span_ms[0]) & (at_ms[:-1] < span_ms[1])
    found: list[Stall] = []
    for index in np.flatnonzero((waited_ms > gap_ms_min) & inside):
        start_ms, resumed_ms = int(at_ms[index]), int(at_ms[index + 1])
        if not _between(input_ms, start_ms, resumed_ms):
            continue
        end_ms = _worked_off_ms(outputs, int(index) + 1, median_ms)
        if found and start_ms < found[-1].end_ms:
            last = found.pop()
            gap_ms = max(last.gap_ms, resumed_ms - start_ms)
            found.append(Stall(last.start_ms, max(last.end_ms, end_ms), gap_ms))
        else:
            found.append(Stall(start_ms, end_ms, resumed_ms - start_ms))
    return found


def _between(input_ms: IntArray, start_ms: int, end_ms: int) -> bool:
    return bool(
        np.searchsorted(input_ms, end_ms, "left") > np.searchsorted(input_ms, start_ms, "right")
    )


def _worked_off_ms(outputs: Outputs, resumed: int, median_ms: float) -> int:
    """When all that piled up is out, and latency is back where it was.

    Calm alone does not tell: one partition may have worked off its pile before another resumes.
    That one is waited for as long again as the gap was, and no longer.
    """
    at_ms, last_ms = outputs.at_ms, outputs.last_ms_max
    before = last_ms[np.searchsorted(at_ms, at_ms[resumed - 1] - _BEFORE_MS) : resumed]
    normal_ms = max(_WORKED_OFF_MEDIANS * median_ms, float(np.median(before)))
    calm_ms = _calm_from_ms(outputs, resumed, normal_ms)
    patience_ms = calm_ms + at_ms[resumed] - at_ms[resumed - 1]
    later = slice(resumed, int(np.searchsorted(at_ms, patience_ms, "right")))
    waited = (at_ms[later] - last_ms[later] < at_ms[resumed]) & (last_ms[later] > normal_ms)
    piled_ms = at_ms[later][waited]
    return max(calm_ms, int(piled_ms[-1]) + 1) if piled_ms.size else calm_ms


def _calm_from_ms(outputs: Outputs, resumed: int, normal_ms: float) -> int:
    """The first time from which latency is normal: at that millisecond, and mostly after it."""
    at_ms, last_ms = outputs.at_ms, outputs.last_ms_max
    for index in range(resumed, at_ms.size):
        if last_ms[index] > normal_ms:
            continue
        calm = last_ms[index : np.searchsorted(at_ms, at_ms[index] + _CALM_MS)]
        if np.median(calm) <= normal_ms:
            return int(at_ms[index])
    return int(at_ms[-1]) + 1


def in_any(stalls: Sequence[Stall], at_ms: IntArray) -> np.typing.NDArray[np.bool_]:
    """Which of these times of outputs belong to a stall."""
    starts = np.array([s.start_ms for s in stalls], np.int64)
    ends = np.array([s.end_ms for s in stalls], np.int64)
    index = np.searchsorted(starts, at_ms, "left") - 1
    if not starts.size:
        return np.zeros(at_ms.size, np.bool_)
    return (index >= 0) & (at_ms < ends[np.maximum(index, 0)])


def stalls_to_json(stalls: Sequence[Stall]) -> dict[str, Any]:
    """As the `stalls` of run.json."""
    lengths_ms = [s.end_ms - s.start_ms for s in stalls]
    return {
        "count": len(lengths_ms),
        "total_ms": sum(lengths_ms),
        "longest_ms": max(lengths_ms, default=0),
    }
