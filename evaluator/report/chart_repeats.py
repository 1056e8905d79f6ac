"""Draw how runs of one stage agree: a dot a run, one row a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.report.markup import Html
from evaluator.report.plot import Plot, axes, colour, dot, label, segment, spaced_ticks, svg
from evaluator.report.scales import Axis, text_width
from evaluator.report.words import ms_number

ROW_PX = 40


@dataclass(frozen=True, slots=True)
class Repeats:
    """The medians of a stage's runs, and which of them are valid."""

    name: str
    rank: int
    medians_ms: tuple[float, ...]
    valid: tuple[bool, ...]

    @property
    def trusted_ms(self) -> tuple[float, ...]:
        """Those of valid runs."""
        return tuple(v for v, fine in zip(self.medians_ms, self.valid, strict=True) if fine)

    @property
    def says(self) -> str:
        """`3.0 to 4.0, 29 % of their mean`."""
        told = self.trusted_ms
        if not told:
            return "no valid run"
        if len(told) == 1:
            return f"{ms_number(told[0])}, one run"
        low, high, mean = min(told), max(told), sum(told) / len(told)
        share = f", {100 * (high - low) / mean:.0f} % of their mean" if mean else ""
        return f"{ms_number(low)} to {ms_number(high)}{share}"


def repeats(rows: Sequence[Repeats], width: int, key: str, title: str) -> Html:
    """A dot for each run; the line spans the valid ones."""
    every = [value for row in rows for value in row.medians_ms]
    names = max((text_width(row.name, 13) for row in rows), default=0.0) + 12
    height = 10 + ROW_PX * len(rows) + 42
    plot = Plot(
        width, height, Axis(0, max([*every, 1.0]) * 1.06, max(64.0, names), width - 14),
        Axis(0, len(rows) or 1, 10 + ROW_PX * len(rows), 10)
    )  # fmt: skip
    parts = [axes(plot, "median (last) of each run, ms", "", spaced_ticks(plot.x, 6), [],
                  x_lines=True)]  # fmt: skip
    for place, row in enumerate(rows):
        y, look = plot.top + ROW_PX * (place + 0.5) + 8, colour(row.rank)
        parts.append(label(plot.left - 8, y + 4, row.name, f"fill {look}", "end"))
        if row.trusted_ms:
            ends = plot.x.at(min(row.trusted_ms)), plot.x.at(max(row.trusted_ms))
            parts.append(segment(ends[0], y, ends[1], y, f"whisker {look}"))
        for value, fine in zip(row.medians_ms, row.valid, strict=True):
            shape = f"{'fill' if fine else 'hollow'} {look}"
            tip = f"{ms_number(value)} ms{'' if fine else ', invalid'}"
            parts.append(dot(plot.x.at(value), y, 4, shape, tip))
        parts.append(label(plot.left + 3, y - 9, row.says, "value"))
    says = "; ".join(f"{row.name} {row.says}" for row in rows)
    return svg(plot, key, title, says, parts)
