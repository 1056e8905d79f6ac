"""Make an observation of a recorded line, or say what is wrong with it; opens no file."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from contract.workloads.traffic import KINDS, split_key

LANES_MAX = 64
FLOW_MAX = 100_000
SPEED_MAX_KMH = 500.0
PERIOD_S_MAX = 86_400
ACCURACY_MAX = 100
#: a text of a number longer than this is absurd, and so is a key
_TEXT_MAX = 200
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?::\d\d(?:\.\d{1,9})?)?Z?", flags=re.ASCII
)


class BadLine(ValueError):
    """A line that is left out, and why."""


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One lane's flow or speed in a minute of data."""

    location: str
    lane: str
    kind: str
    #: `2017-03-15 14:41`: sorts as it passes
    minute: str
    num_lanes: int
    #: the value's JSON before and after the text of its timestamp
    head: bytes
    tail: bytes


def parse_line(line: str) -> Observation:
    """The observation that a line `<location>/<lane>= {json}` tells."""
    key, separator, text = line.partition("= ")
    if not separator:
        raise BadLine("no '= ' between key and value")
    parts = split_key(key)
    if parts is None or len(key) > _TEXT_MAX or any(c.isspace() for c in key):
        raise BadLine(f"the key is not <location>/<lane>: {key[:60]!r}")
    fields = _load(text)
    kinds = [kind for kind in KINDS if kind in fields]
    if len(kinds) != 1:
        raise BadLine("both flow and speed" if kinds else "neither flow nor speed")
    kind = kinds[0]
    num_lanes = _whole(fields, "num_lanes", 1, LANES_MAX)
    stated = [
        ("lat", _decimal(fields, "lat", -90.0, 90.0)),
        ("long", _decimal(fields, "long", -180.0, 180.0)),
        *_reading(fields, kind),
        ("accuracy", str(_whole(fields, "accuracy", 0, ACCURACY_MAX))),
    ]
    numbers = ",".join(f'"{name}":{value}' for name, value in stated)
    head = f'{{"internalId":{json.dumps(parts[1])},{numbers},"timestamp":"'
    return Observation(
        *parts,
        kind,
        _minute(fields),
        num_lanes,
        head.encode(),
        f'","num_lanes":{num_lanes}}}'.encode(),
    )


def _load(text: str) -> dict[str, Any]:
    def no_number(name: str) -> NoReturn:
        raise BadLine(f"bad JSON: {name} is no number")

    try:
        loaded = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=no_number)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadLine(f"bad JSON: {error}") from None
    if not isinstance(loaded, dict):
        raise BadLine("bad JSON: not an object")
    return loaded


def _reading(fields: dict[str, Any], kind: str) -> list[tuple[str, str]]:
    if kind == "speed":
        return [("speed", _decimal(fields, "speed", 0.0, SPEED_MAX_KMH))]
    return [
        ("flow", str(_whole(fields, "flow", 0, FLOW_MAX))),
        ("period", str(_whole(fields, "period", 1, PERIOD_S_MAX))),
    ]


def _number(fields: dict[str, Any], name: str) -> Number:
    if name not in fields:
        raise BadLine(f"no {name}")
    value = fields[name]
    if not isinstance(value, Number) or len(value) > _TEXT_MAX:
        raise BadLine(f"{name} is no number")
    return value


def _whole(fields: dict[str, Any], name: str, low: int, high: int) -> int:
    text = _number(fields, name)
    try:
        value = int(text)
    except ValueError:
        raise BadLine(f"{name} is no whole number: {text[:30]}") from None
    if not low <= value <= high:
        raise BadLine(f"{name} cannot be {text[:30]}")
    return value


def _decimal(fields: dict[str, Any], name: str, low: float, high: float) -> str:
    text = _number(fields, name)
    value = float(text)
    if not (math.isfinite(value) and low <= value <= high):
        raise BadLine(f"{name} cannot be {text[:30]}")
    return str(text)


def _minute(fields: dict[str, Any]) -> str:
    text = fields.get("timestamp")
    found = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadLine("no timestamp" if text is None else f"timestamp cannot be {text!r:.40}")
    minute = f"{found[1]} {found[2]}"
    try:
        datetime.fromisoformat(minute)
    except ValueError:
        raise BadLine(f"timestamp cannot be {text!r:.40}") from None
    return minute
