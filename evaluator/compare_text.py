"""Lay a comparison out as text: the answer, the table, what differs, what is to be doubted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from contract.doubts import CONFIDENCE, RUNS_MIN
from contract.variant import COMPARED
from evaluator.compare_same_work import Difference
from evaluator.compare_stages import LATENCIES, Contrast, Measure, StageCompared

if TYPE_CHECKING:
    from evaluator.compare import Comparison, PairCompared

WIDTH = 100
_TITLES: dict[tuple[Measure, str], str] = {
    ("last", "p50"): "last: median from the last input's append, ms",
    ("mean", "p50"): "mean: median from the inputs' mean append, ms",
    ("engine", "p50"): "engine: median of what the engine itself added, ms",
    ("last", "p99"): "last p99: the 99th percentile, ms",
    ("cpu", "mean"): "CPU of the engine, core-ms for 1,000 observations",
    ("brokers", "mean"): "CPU of the brokers, core-ms for 1,000 observations",
    ("memory", "max"): "memory of the engine, the largest, MiB",
}
_HEAD = ("", "A", "B", "B − A", "", f"{CONFIDENCE:.0%}", "verdict", "runs")
_LEFT = (0, 6, 7)
#: of one group; two engines have hardly a setting in common
_DIFFERING_NAMED_MAX = 16
Row = tuple[str, ...]


def lines(found: Comparison) -> list[str]:
    """All that is printed."""
    several = len(found.pairs) > 1
    told = [line for pair in found.pairs for line in _answer(pair, several)]
    told += ["", *_legend(found), *found.alone]
    for pair in found.pairs:
        told += ["", *([_title(pair)] * several), *_table(pair.stages)]
    told += [*_note(found), *_apart(found)]
    told += ["", *_differing(found)]
    for pair in found.pairs:
        told += _doubts(pair, several)
    return told


def _title(pair: PairCompared) -> str:
    return str(pair.a) if pair.a == pair.b else f"A {pair.a}, B {pair.b}"


def _answer(pair: PairCompared, several: bool) -> Iterator[str]:
    for sentence in pair.says:
        yield from _wrapped(f"{_title(pair)}: {sentence}" if several else sentence)


def _legend(found: Comparison) -> list[str]:
    if len(found.pairs) > 1:
        return [f"A  {found.a}", f"B  {found.b}"]
    (pair,) = found.pairs
    return [f"A  {found.a}  {pair.a}", f"B  {found.b}  {pair.b}"]


def _table(stages: Sequence[StageCompared]) -> list[str]:
    """A block a figure, a line a stage; the headline first."""
    if not any(stage.both for stage in stages):
        return [f"  {stage.lacks()}" for stage in stages]
    blocks: list[str | Row] = [_HEAD]
    for of, statistic in _TITLES:
        rows = [
            _row(stage, c)
            for stage in stages
            if stage.both and (c := stage.contrast(of, statistic)) is not None
        ]
        title = _TITLES[of, statistic]
        if (of, statistic) == LATENCIES[0]:
            blocks += [title, *_headline(stages)]
        elif of == "engine" and rows and _nothing_waits(stages):
            blocks.append("engine: the same as last, for nothing waited for a window's end")
        elif any(set(row[1:3]) != {"–"} for row in rows):
            blocks += [title, *rows]
    rows = [block for block in blocks if not isinstance(block, str)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    return [block if isinstance(block, str) else _line(block, widths) for block in blocks]


def _headline(stages: Sequence[StageCompared]) -> Iterator[str | Row]:
    for stage in stages:
        contrast = stage.contrast("last")
        if contrast is None or not stage.both:
            yield f"  {stage.lacks()}"
        else:
            yield _row(stage, contrast)


def _nothing_waits(stages: Sequence[StageCompared]) -> bool:
    def values(stage: StageCompared, of: Measure) -> tuple[float | None, float | None] | None:
        found = stage.contrast(of)
        return (found.a, found.b) if found else None

    return all(values(stage, "engine") == values(stage, "last") for stage in stages)


def _row(stage: StageCompared, told: Contrast) -> Row:
    less = told.difference
    return (
        f"  {stage.stage}",
        _number(told.a),
        _number(told.b),
        _signed(told.b - told.a) if told.a is not None and told.b is not None else "–",
        _percent(told.share),
        f"{_signed(less.low)} to {_signed(less.high)}" if less else "",
        COMPARED[told.verdict] if told.verdict else "",
        f"{stage.valid_runs_a}, {stage.valid_runs_b}",
    )


def _line(row: Row, widths: Sequence[int]) -> str:
    cells = zip(row, widths, strict=True)
    return "  ".join(
        cell.ljust(width) if i in _LEFT else cell.rjust(width)
        for i, (cell, width) in enumerate(cells)
    ).rstrip()


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:.1f}"


def _signed(value: float) -> str:
    text = _number(value)
    if not text.strip("-0."):
        return text.lstrip("-")
    return f"+{text}" if value > 0 else text.replace("-", "−")


def _percent(share: float | None) -> str:
    if share is None:
        return ""
    return "0%" if round(share, 2) == 0 else f"{share:+,.0%}".replace("-", "−")


def _note(found: Comparison) -> list[str]:
    if not found.compared_any:
        return []
    return [
        f"(means over valid runs, whose count stands last: A's, B's; no verdict below {RUNS_MIN} "
        f"of each;",
        f"{CONFIDENCE:.0%} holds for each line alone)",
    ]


def _apart(found: Comparison) -> list[str]:
    """Only runs of one campaign are shuffled among each other."""
    if found.a == found.b:
        return []
    return ["The two ran at different times: what else the machines did then is in the difference."]


def _differing(found: Comparison) -> Iterator[str]:
    several = len(found.pairs) > 1
    groups: dict[str, list[Difference]] = {}
    for pair in found.pairs:
        for each in pair.differences:
            name = f"{each.group} ({_title(pair)})" if several else each.group
            groups.setdefault(name, []).append(each)
    for each in found.differences:
        groups.setdefault(each.group, []).append(each)
    if not groups:
        yield "The settings, the machine and the versions are the same."
        return
    yield "differs, A | B:"
    for name, differing in groups.items():
        named = "; ".join(map(str, differing[:_DIFFERING_NAMED_MAX]))
        more = len(differing) - _DIFFERING_NAMED_MAX
        rest = f"; and {more} more (JSON=1 names all)" if more > 0 else ""
        yield from _wrapped(f"  {name}: {named}{rest}", "    ")


def _doubts(pair: PairCompared, several: bool) -> Iterator[str]:
    if not pair.doubts:
        return
    yield ""
    of = f" of {_title(pair)}" * several
    rows: list[Row] = [(f"doubts, in so many runs{of}", "A", "B")]
    for each in pair.doubts:
        name = f"  {each.severity} {each.id}"
        rows.append((name, f"{each.a} of {pair.runs_a}", f"{each.b} of {pair.runs_b}"))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    yield from (_line(row, widths) for row in rows)


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
