"""Draw a run over time: latency by slot with its stalls and phases, throughput, backlog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.quantities import Floats
from evaluator.report.markup import Html, join
from evaluator.report.plot import (
    Plot,
    axes,
    band,
    box,
    colour,
    label,
    line,
    segment,
    spaced_ticks,
    svg,
)
from evaluator.report.scales import Axis, binned, even_top, log_range, text_width
from evaluator.report.words import ms, plural, seconds


@dataclass(frozen=True, slots=True)
class Stall:
    """A gap in the outputs, on the run's own time axis."""

    start_s: float
    end_s: float
    #: it recurs at the checkpoint interval
    periodic: bool


@dataclass(frozen=True, slots=True)
class Course:
    """A run slot by slot; seconds since slot 0 was due."""

    title: str
    rank: int
    trusted: bool
    at_s: Floats
    slot_s: float
    #: measured window; None where the run never got that far
    window_s: tuple[float, float] | None
    stalls: tuple[Stall, ...]
    p5_ms: Floats
    p50_ms: Floats
    p95_ms: Floats
    max_ms: Floats
    appended_per_s: Floats
    expected_per_s: Floats
    outputs_per_s: Floats
    backlog_at_s: Floats
    backlog: Floats
    late_p50_ms: Floats
    late_p99_ms: Floats
    late_max_ms: Floats

    @property
    def end_s(self) -> float:
        return float(self.at_s[-1]) + self.slot_s if len(self.at_s) else self.slot_s


def latency_range(courses: Sequence[Course]) -> tuple[float, float]:
    """One latency axis for all runs, so that they can be compared."""
    return log_range([v for c in courses for v in (c.p5_ms, c.max_ms)])


def latency_course(
    course: Course, scale: tuple[float, float], width: int, bins: int, key: str
) -> Html:
    """Median, 5 to 95 % band and largest latency of each slot; stalls shaded."""
    height = 210 if width < 600 else 250
    plot = _plot(course, width, height, Axis(*scale, height - 56, 26, log=True))
    parts = [_stalls(plot, course), _frame(plot, "latency (last), ms, log", course)]
    xs = _middles(course, bins)
    look = colour(course.rank)
    low, high = binned(course.p5_ms, bins, np.min), binned(course.p95_ms, bins, np.max)
    parts.append(band(plot, xs, low, high, f"area {look}"))
    top = binned(course.max_ms, bins, np.max)
    parts.append(line(plot, xs, top, f"{look} hair", "max"))
    parts.append(line(plot, xs, binned(course.p50_ms, bins, _median), look, "p50"))
    parts += _names(plot, ("max", top, look), ("p50", course.p50_ms, look))
    count = plural(len(course.stalls), "stall")
    says = f"Latency of each slot over {seconds(course.end_s)}, with {count} shaded."
    return svg(plot, key, f"Latency over time: {course.title}", says, parts)


def load_course(course: Course, width: int, bins: int, key: str) -> Html:
    """Inputs appended, outputs expected and outputs that came, by slot."""
    height = 190
    series = [course.appended_per_s, course.expected_per_s, course.outputs_per_s]
    plot = _plot(course, width, height, Axis(0, even_top(series, 1.0), height - 56, 26))
    parts = [_stalls(plot, course), _frame(plot, "records/s", course)]
    xs = _middles(course, bins)
    inputs, expected, outputs = (binned(v, bins, np.mean) for v in series)
    parts.append(line(plot, xs, inputs, "ink dotted", "inputs appended"))
    parts.append(line(plot, xs, expected, "soft", "outputs expected"))
    parts.append(line(plot, xs, outputs, colour(course.rank), "outputs"))
    parts += _names(plot, ("in", inputs, "ink"), ("out", outputs, colour(course.rank)))
    return svg(plot, key, f"Throughput: {course.title}", "Inputs and outputs a second.", parts)


def backlog_course(course: Course, width: int, key: str) -> Html:
    """Outputs whose last input is there, but which are not there themselves."""
    height = 190
    plot = _plot(course, width, height, Axis(0, even_top([course.backlog], 4.0), height - 56, 26))
    parts = [_stalls(plot, course), _frame(plot, "outputs owed", course)]
    low = np.zeros(len(course.backlog))
    look = colour(course.rank)
    parts.append(band(plot, course.backlog_at_s, low, course.backlog, f"area outlined {look}"))
    return svg(plot, key, f"Backlog: {course.title}", "Outputs owed over time.", parts)


def lateness_course(course: Course, top_ms: float, width: int, bins: int, key: str) -> Html:
    """How late the publisher sent, by slot."""
    height = 180
    plot = _plot(course, width, height, Axis(0, top_ms, height - 56, 26))
    xs = _middles(course, bins)
    parts = [_frame(plot, "late, ms", course)]
    top = binned(course.late_max_ms, bins, np.max)
    p99 = binned(course.late_p99_ms, bins, np.max)
    p50 = binned(course.late_p50_ms, bins, _median)
    parts.append(line(plot, xs, top, "soft hair", "max"))
    parts.append(line(plot, xs, p99, "ink dotted", "p99"))
    parts.append(line(plot, xs, p50, "ink", "p50"))
    parts += _names(plot, ("max", top, "ink"), ("p99", p99, "ink"), ("p50", p50, "ink"))
    return svg(plot, key, f"Lateness: {course.title}", "How late records were sent.", parts)


def _plot(course: Course, width: int, height: float, y: Axis) -> Plot:
    return Plot(width, height, Axis(0, course.end_s, 48, width - 38), y)


def _middles(course: Course, bins: int) -> Floats:
    return binned(course.at_s, bins, np.mean) + course.slot_s / 2


def _frame(plot: Plot, y_says: str, course: Course) -> Html:
    """Axes, and the phases under the time axis."""
    ticks = spaced_ticks(plot.x, 6 if plot.narrow else 12)
    y_ticks = plot.y.ticks(4 if not plot.y.log else 6)
    parts = [axes(plot, "s since the first record was due", y_says, ticks, y_ticks)]
    if course.window_s is not None:
        start, end = (plot.x.at(s) for s in course.window_s)
        phases = (
            (plot.left, start, "start, warm-up", "phase"),
            (start, end, "measured", "phase measured"),
            (end, plot.right, "cool-down", "phase"),
        )
        foot = plot.bottom + 23
        for left, right, words, class_ in phases:
            parts.append(box(left, foot, right - 1, foot + 13, class_, words))
            if text_width(words, 11.5) < right - left:
                parts.append(label((left + right) / 2, foot + 10, words, "phase-name", "middle"))
        parts.append(segment(start, plot.top, start, plot.bottom, "edge"))
        parts.append(segment(end, plot.top, end, plot.bottom, "edge"))
    return join(parts)


def _stalls(plot: Plot, course: Course) -> Html:
    parts = []
    for stall in course.stalls:
        left, right = plot.x.at(stall.start_s), plot.x.at(stall.end_s)
        length = ms((stall.end_s - stall.start_s) * 1000)
        says = f"stall at {seconds(stall.start_s)}, {length}"
        parts.append(box(left, plot.top, max(right, left + 1.5), plot.bottom, "stall", says))
        if stall.periodic:
            parts.append(label((left + right) / 2, plot.top - 1, "▾", "mark", "middle"))
    return join(parts)


def _names(plot: Plot, *series: tuple[str, Floats, str]) -> list[Html]:
    """Names at the lines' right ends, in their colours, kept apart from top to bottom."""
    ends = []
    for name, values, look in series:
        known = values[np.isfinite(values)]
        if len(known):
            ends.append((plot.y.at(float(known[-1])), name, look))
    parts, edge = [], plot.top - 10
    for y, name, look in sorted(ends, key=lambda e: e[0]):
        edge = max(y, edge + 12)
        parts.append(label(plot.right + 4, edge + 4, name, f"small fill {look}"))
    return parts


def _median(values: Floats) -> float:
    return float(np.median(values))
