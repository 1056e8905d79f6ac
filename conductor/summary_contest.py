"""What a user reads after a comparison: who is faster, then a line a stage and variant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conductor.text_table import aligned
from contract.variant import COMPARED, Variant, name_among

_HEAD = (
    "stage",
    "variant",
    "p50",
    "95 %",
    "less the first's",
    "",
    "p99",
    "engine",
    "CPU",
    "brokers",
    "MiB",
    "valid",
)
#: what is told of each: measure, statistic
_MORE = (
    ("last", "p99"),
    ("engine", "p50"),
    ("cpu", "mean"),
    ("brokers", "mean"),
    ("memory", "max"),
)


def contest_lines(campaign: dict[str, Any]) -> list[str]:
    """The answer, and what it rests on."""
    lines = [campaign["question"], ""]
    lines += [f"  {says}" for contest in campaign["contests"] for says in contest["says"]]
    rows = [_HEAD, *_rows(campaign)]
    return [
        *lines,
        "",
        *aligned(rows, left=(0, 1, 5)),
        "(latency in ms from the last input's append, means over valid runs; «engine»: the median "
        "without what a window's end",
        "demands; CPU of the engine and of the brokers: core-ms for 1,000 observations; MiB: the "
        "engine's largest memory)",
        "",
    ]


def _rows(campaign: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    variants = [Variant.of(told) for told in campaign["variants"]]
    figures = {(Variant.of(f), f["stage"], f["attribution"]): f for f in campaign["figures"]}
    for stage in campaign["stages"]:
        for variant in variants:
            contest, side = _contest_of(campaign, variant)
            told = next(s for s in contest["stages"] if s["stage"] == stage)
            figure = figures.get((variant, stage, "last"))
            if figure is not None and not figure["valid_runs"]:
                figure = None  # it is of runs that cannot be trusted
            is_first = variant == variants[0]
            yield (
                stage if is_first else "",
                name_among(variant, variants),
                _number(figure and figure["p50_ms"]),
                _span(figure),
                "" if is_first else _less(told),
                "" if is_first else COMPARED[told["verdict"]],
                *(_number(_figure(told, of, statistic)[side], of) for of, statistic in _MORE),
                f"{told['valid_runs'][side]} of {campaign['repeat']}",
            )


def _contest_of(campaign: dict[str, Any], variant: Variant) -> tuple[dict[str, Any], str]:
    """Where it stands beside the first, and on which side."""
    for contest in campaign["contests"]:
        if Variant.of(contest["b"]) == variant:
            return contest, "b"
    return campaign["contests"][0], "a"


def _figure(told: dict[str, Any], of: str, statistic: str) -> dict[str, Any]:
    """Every stage tells all of them; what is not known is null."""
    found: dict[str, Any] = next(
        f for f in told["figures"] if (f["of"], f["statistic"]) == (of, statistic)
    )
    return found


def _less(told: dict[str, Any]) -> str:
    figure = _figure(told, "last", "p50")
    value, low, high = figure["difference"], figure["low"], figure["high"]
    return f"{value:+,.1f} ({low:+,.1f} to {high:+,.1f})" if value is not None else "–"


def _span(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["low_ms"] is None or figure["high_ms"] is None:
        return "–"
    return f"{figure['low_ms']:,.1f} to {figure['high_ms']:,.1f}"


def _number(value: float | None, of: str = "last") -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if of in ("cpu", "brokers", "memory") else f"{value:,.1f}"
