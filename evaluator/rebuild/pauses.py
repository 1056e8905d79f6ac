"""Find the stalls of an engine once more: where outputs paused while something waited."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from contract.doubts import STALL_GAP_MEDIANS, STALL_GAP_MS_MIN

#: what a stall's end is told by: latency is normal again at so many medians, for so long; how
#: large it was before is what came in the second before
NORMAL_MEDIANS = 2.0
CALM_MS = 50
BEFORE_MS = 1000

#: begin, end, and the gap itself, in ms
Pause = tuple[int, int, int]


class Course:
    """The outputs' milliseconds, ascending, and the largest `last` in each."""

    def __init__(self, last_ms_of: dict[int, float]) -> None:
        self.at_ms = sorted(last_ms_of)
        self.last_ms = [last_ms_of[ms] for ms in self.at_ms]

    def asked_ms(self) -> list[float]:
        """Since when something waited that came in this millisecond or later."""
        found: list[float] = []
        earliest = float("inf")
        for at_ms, last_ms in zip(reversed(self.at_ms), reversed(self.last_ms), strict=True):
            earliest = min(earliest, at_ms - last_ms)
            found.append(earliest)
        return found[::-1]


def pauses(
    course: Course, input_ms: Sequence[int], span_ms: tuple[float, float], median_ms: float
) -> list[Pause]:
    """Those that reach into the span; what overlaps is one."""
    allowed_ms = max(STALL_GAP_MS_MIN, STALL_GAP_MEDIANS * median_ms)
    asked_ms = course.asked_ms()
    found: list[Pause] = []
    for index, (before_ms, resumed_ms) in enumerate(pairwise(course.at_ms)):
        waited_ms = resumed_ms - max(before_ms, asked_ms[index + 1])
        if waited_ms <= allowed_ms or resumed_ms <= span_ms[0] or before_ms >= span_ms[1]:
            continue
        fed = bisect_left(input_ms, resumed_ms) > bisect_right(input_ms, before_ms)
        if not fed:
            continue
        end_ms, gap_ms = _end_ms(course, index + 1, median_ms), resumed_ms - before_ms
        if found and before_ms < found[-1][1]:
            start_ms, other_end_ms, other_gap_ms = found.pop()
            found.append((start_ms, max(end_ms, other_end_ms), max(gap_ms, other_gap_ms)))
        else:
            found.append((before_ms, end_ms, gap_ms))
    return found


def _end_ms(course: Course, resumed: int, median_ms: float) -> int:
    """When latency is normal again and what had piled up is out, as long as that is awaited."""
    before_ms, resumed_ms = course.at_ms[resumed - 1], course.at_ms[resumed]
    earlier = course.last_ms[bisect_left(course.at_ms, before_ms - BEFORE_MS) : resumed]
    normal_ms = max(NORMAL_MEDIANS * median_ms, median(earlier))
    calm_ms = _calm_ms(course, resumed, normal_ms)
    patience_ms = calm_ms + resumed_ms - before_ms
    end_ms = calm_ms
    for index in range(resumed, bisect_right(course.at_ms, patience_ms)):
        at_ms, last_ms = course.at_ms[index], course.last_ms[index]
        if last_ms > normal_ms and at_ms - last_ms < resumed_ms:
            end_ms = max(end_ms, at_ms + 1)
    return end_ms


def _calm_ms(course: Course, resumed: int, normal_ms: float) -> int:
    """The first millisecond of normal latency after which most is normal for a while."""
    for index in range(resumed, len(course.at_ms)):
        until = bisect_left(course.at_ms, course.at_ms[index] + CALM_MS)
        if course.last_ms[index] <= normal_ms and (
            median(course.last_ms[index:until]) <= normal_ms
        ):
            return course.at_ms[index]
    return course.at_ms[-1] + 1
