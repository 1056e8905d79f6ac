"""The traffic workload: flow and speed of lanes of road, one of each a minute of data."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from contract.workload import FieldType, Stage, Workload

KINDS = ("flow", "speed")
#: how far back a sliding output looks, in slots
LOOK_BACK_SHORT_SLOTS = 5
LOOK_BACK_LONG_SLOTS = 10

_TIMESTAMP = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)')


def split_key(key: str) -> tuple[str, str] | None:
    """Location and lane of a key; the lane is what follows the last slash."""
    location, slash, lane = key.rpartition("/")
    return (location, lane) if slash and location and lane else None


def event_second_of(value: bytes) -> int | None:
    """The whole second of event time that an output belongs to."""
    found = _TIMESTAMP.search(value)
    if found is None:
        return None
    text = found.group(1).decode().replace(" ", "T")
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


#: the fields of an output, of parse and join and of tumbling
_OF_A_LANE: tuple[tuple[str, FieldType], ...] = (
    ("location", "string"),
    ("lane", "string"),
    ("timestamp", "timestamp"),
    ("lat", "double"),
    ("long", "double"),
    ("flow", "long"),
    ("speed", "double"),
    ("period", "long"),
    ("accuracy", "long"),
    ("num_lanes", "long"),
)
_OF_A_LOCATION: tuple[tuple[str, FieldType], ...] = (
    ("location", "string"),
    ("timestamp", "timestamp"),
    ("flow", "long"),
    ("speed", "double"),
    ("lanes", "long"),
)

WORKLOAD = Workload(
    name="traffic",
    kinds=KINDS,
    stages=(
        Stage("ingest", None, ("location", "lane", "kind"), ()),
        Stage(
            "parse",
            "ingest",
            ("location", "lane", "kind"),
            _OF_A_LANE,
        ),
        Stage(
            "join",
            "parse",
            ("location", "lane"),
            _OF_A_LANE,
            stateful=True,
        ),
        Stage(
            "tumbling",
            "join",
            ("location",),
            _OF_A_LOCATION,
            stateful=True,
            windowed=True,
        ),
        Stage(
            "sliding",
            "tumbling",
            ("location",),
            (
                *_OF_A_LOCATION,
                ("flow_change_short", "double"),
                ("flow_change_long", "double"),
                ("speed_change_short", "double"),
                ("speed_change_long", "double"),
            ),
            look_back_slots=LOOK_BACK_LONG_SLOTS,
            stateful=True,
            windowed=True,
        ),
    ),
    aliases={
        "baseline": "ingest",
        "aggregate": "tumbling",
        "window": "sliding",
        "0": "ingest",
        "1": "parse",
        "2": "join",
        "3": "tumbling",
        "4": "sliding",
    },
    event_second_of=event_second_of,
)
