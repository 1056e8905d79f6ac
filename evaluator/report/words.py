"""Say numbers, intervals and times as text that a reader takes in at once."""

from __future__ import annotations

import math
from typing import Any

from evaluator.report.markup import Html, el, text

#: a narrow space that does not break: 2 000
THIN = "\u202f"
#: a space that does not break, between a number and its unit
NBSP = "\u00a0"
NONE = "\u2013"


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def dig(value: Any, *keys: str) -> Any:
    """What lies under these keys; None where a step is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def mapping(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a JSON array, or none."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def whole(value: float | None) -> str:
    """A count, grouped by thousands."""
    return NONE if value is None else _minus(f"{round(value):,}".replace(",", THIN))


def decimal(value: float | None, places: int = 1) -> str:
    """A number with that many decimals, grouped by thousands; zero has no sign."""
    if value is None:
        return NONE
    rounded = round(value, places) + 0.0
    return _minus(f"{rounded:,.{places}f}".replace(",", THIN))


def ms_number(value: float | None) -> str:
    """Milliseconds without the unit: one decimal, none from a thousand on."""
    if value is None:
        return NONE
    return decimal(value, 0 if abs(value) >= 999.95 else 1)


def ms(value: float | None) -> str:
    """Milliseconds with the unit."""
    return NONE if value is None else f"{ms_number(value)}{NBSP}ms"


def signed_ms(value: float | None) -> str:
    """A difference in milliseconds, with its sign, without the unit."""
    if value is None:
        return NONE
    return ("+" if value > 0 else "") + ms_number(value)


def interval(low: float | None, high: float | None) -> str:
    """`10.1 to 14.0`; empty where there is none."""
    if low is None or high is None:
        return ""
    return f"{ms_number(low)} to {ms_number(high)}"


def seconds(value: float | None) -> str:
    """Seconds, with a decimal below a hundred."""
    return NONE if value is None else f"{decimal(value, 1 if abs(value) < 100 else 0)}{NBSP}s"


def memory(value: float | None) -> str:
    """Bytes as MB or GB."""
    if value is None:
        return NONE
    if value >= 1e9:
        return f"{decimal(value / 1e9, 2)}{NBSP}GB"
    return f"{decimal(value / 1e6, 0)}{NBSP}MB"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 run`, `3 runs`."""
    return f"{whole(count)}{NBSP}{noun if count == 1 else many or noun + 's'}"


def plain(value: Any) -> str:
    """Any JSON value, as a person would write it."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _minus(f"{value:,.10g}".replace(",", THIN)) if value >= 10_000 else f"{value:g}"
    if isinstance(value, list):
        return ", ".join(plain(v) for v in value) or NONE
    if isinstance(value, dict):
        return ", ".join(f"{k} {plain(v)}" for k, v in value.items()) or NONE
    return str(value)


def struck(words: str, trusted: bool) -> Html:
    """A figure, struck out where it is not to be trusted."""
    if trusted or words == NONE or not words:
        return text(words)
    return el("s", words)


def _minus(words: str) -> str:
    return words.replace("-", "\u2212")
