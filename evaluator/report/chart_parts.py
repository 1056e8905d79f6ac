"""Draw what a latency is made of, in the order of time: waiting for inputs, for a window, work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.report.markup import Html
from evaluator.report.plot import Plot, axes, box, label, segment, spaced_ticks, svg
from evaluator.report.scales import Axis, text_width
from evaluator.report.words import ms_number

ROW_PX = 36
#: part → class of its bar
LOOKS = (
    ("gathering", "part-gathering"),
    ("residence", "part-residence"),
    ("engine", "part-engine"),
)


@dataclass(frozen=True, slots=True)
class Parts:
    """The averages of a stage's parts, which sum to that of its latency."""

    name: str
    gathering_ms: float
    residence_ms: float
    engine_ms: float
    trusted: bool = True

    @property
    def values_ms(self) -> tuple[float, float, float]:
        return self.gathering_ms, self.residence_ms, self.engine_ms


def parts_chart(rows: Sequence[Parts], width: int, key: str, title: str) -> Html:
    """A bar a stage, from nought; what each part takes stands at its end."""
    words = [" + ".join(ms_number(v) for v in row.values_ms) for row in rows]
    reach = max((sum(row.values_ms) for row in rows), default=1.0)
    names = max((text_width(row.name, 13) for row in rows), default=0.0) + 12
    height = 14 + ROW_PX * len(rows) + 42
    left = max(64.0, names)
    plot = Plot(
        width, height, Axis(0, max(reach, 0.5) * 1.04, left, width - 14),
        Axis(0, len(rows) or 1, 14 + ROW_PX * len(rows), 14)
    )  # fmt: skip
    drawn = [axes(plot, "ms, averages", "", spaced_ticks(plot.x, 6), [], x_lines=True)]
    drawn.append(segment(plot.left, plot.top, plot.left, plot.bottom, "base"))
    for place, (row, said) in enumerate(zip(rows, words, strict=True)):
        y = plot.top + ROW_PX * place + 18
        drawn.append(label(plot.left - 8, y + 9, row.name, "tick", "end", not row.trusted))
        start = 0.0
        for (name, look), value in zip(LOOKS, row.values_ms, strict=True):
            end = start + max(0.0, value)
            tip = f"{name} {ms_number(value)} ms"
            drawn.append(box(plot.x.at(start), y, plot.x.at(end), y + 13, look, tip))
            start = end
        drawn.append(label(plot.left + 3, y - 4, said, "value"))
    says = "; ".join(f"{row.name} {said} ms" for row, said in zip(rows, words, strict=True))
    return svg(plot, key, title, says, drawn)
