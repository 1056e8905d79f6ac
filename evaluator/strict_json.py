"""Read JSON strictly: nothing but an object, no trailing garbage, no NaN, no guessed types."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NoReturn

from contract.workload import FieldType

_INT64_MAX = 2**63 - 1
#: what outputs may write: `T` or a space, up to nanoseconds, Z or an offset or neither (UTC)
INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse)
_scan = _decoder.raw_decode


def parse_object(value: bytes | None) -> dict[str, Any] | None:
    """The object that the bytes say, or None where they say anything else."""
    if not value:
        return None
    try:
        text = value.decode()
        found, end = _scan(text) if text[:1] == "{" else (_decoder.decode(text), len(text))
        if end != len(text) and text[end:].strip(" \t\r\n"):
            return None
    except (ValueError, RecursionError):
        return None
    return found if type(found) is dict else None


def as_long(value: Any) -> int | None:
    """An integer that fits 64 bits; no boolean, no 1.0."""
    return value if type(value) is int and -_INT64_MAX - 1 <= value <= _INT64_MAX else None


def as_double(value: Any) -> float | None:
    """A number that a double can hold; an integer is one."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    return None


@lru_cache(maxsize=8192)
def second_of(text: str) -> int | None:
    """The epoch second of `YYYY-MM-DDTHH:MM:SS`, read as UTC."""
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def instant_us(value: Any) -> int | None:
    """The epoch microseconds that an output's timestamp says, however it is written."""
    if type(value) is not str:
        return None
    found = INSTANT.fullmatch(value)
    if found is None:
        return None
    second = second_of(found[1].replace(" ", "T"))
    if second is None:
        return None
    offset = found[3]
    if offset and offset != "Z":
        digits = offset[1:].replace(":", "")
        away_s = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        second -= away_s if offset[0] == "+" else -away_s
    fraction = (found[2] or "").ljust(9, "0")
    if fraction[6:] != "000":
        return None
    return second * 1_000_000 + int(fraction[:6])


def as_field(value: Any, kind: FieldType) -> Any:
    """The value as a field of that type, or None where it is none (timestamps in µs)."""
    if kind == "long":
        return as_long(value)
    if kind == "double":
        return as_double(value)
    if kind == "timestamp":
        return instant_us(value)
    return value if type(value) is str and _is_text(value) else None


def _is_text(value: str) -> bool:
    """Not half a character: JSON can escape one, nothing else can say it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
