"""Say what the traffic topics hold and what each stage must make of them; open nothing."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pandas as pd

from contract.workload import FieldType, Stage
from contract.workloads.traffic import LOOK_BACK_LONG_SLOTS, LOOK_BACK_SHORT_SLOTS, split_key
from evaluator.strict_json import as_double, as_field, as_long, parse_object, second_of
from evaluator.workload import IDENTITY, NO_SECOND, Judge

_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z", re.ASCII)
_FIELDS: tuple[tuple[str, FieldType], ...] = (
    ("lat", "double"),
    ("long", "double"),
    ("flow", "long"),
    ("speed", "double"),
    ("period", "long"),
    ("accuracy", "long"),
    ("num_lanes", "long"),
)
_NAMES = tuple(name for name, _ in _FIELDS)
_Said = tuple[str, str, int, int, float, float, int | None, float | None, int | None, int, int]


def read_record(kind: str, key: bytes | None, value: bytes | None) -> _Said | None:
    """What a record of that kind says; None where it is malformed.

    Location, lane, second, event time in µs, then the fields in the order of `_FIELDS`.
    """
    said = parse_object(value)
    if said is None or key is None or type(said.get("internalId")) is not str:
        return None
    try:
        place = split_key(key.decode())
    except UnicodeDecodeError:
        return None
    stamp = said.get("timestamp")
    matched = _TIMESTAMP.fullmatch(stamp) if type(stamp) is str else None
    second = second_of(matched[1]) if matched else None
    lat, long = as_double(said.get("lat")), as_double(said.get("long"))
    accuracy, num_lanes = as_long(said.get("accuracy")), as_long(said.get("num_lanes"))
    flow = speed = period = None
    if kind == "flow":
        flow, period = as_long(said.get("flow")), as_long(said.get("period"))
        whole = flow is not None and period is not None
    else:
        speed = as_double(said.get("speed"))
        whole = speed is not None
    if matched is None or second is None or place is None or lat is None or long is None:
        return None
    if not whole or accuracy is None or num_lanes is None:
        return None
    event_us = second * 1_000_000 + int((matched[2] or "").ljust(6, "0"))
    return (*place, second, event_us, lat, long, flow, speed, period, accuracy, num_lanes)


def _token(key: bytes | None, value: bytes | None) -> str:
    """A digest of a record's bytes; null is not empty."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (key, value):
        digest.update(b"\0" if part is None else b"\1%d:" % len(part))
        digest.update(part or b"")
    return digest.hexdigest()


def _whose(key: bytes | None, value: bytes | None) -> tuple[str, str, str, int, str, int]:
    """Identity and event time in µs of a record that is passed on as it is, by its content."""
    token = _token(key, value)
    for kind in ("flow", "speed"):
        said = read_record(kind, key, value)
        if said is not None:
            return said[0], said[1], kind, said[2], token, said[3]
    return (key or b"").decode(errors="backslashreplace"), "", "", NO_SECOND, token, 0


def _columns(rows: list[Any], names: tuple[str, ...]) -> dict[str, Any]:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return {
        name: pd.array(list(column), dtype="Int64") if name in _NULLABLE_LONGS else list(column)
        for name, column in zip(names, columns, strict=True)
    }


_NULLABLE_LONGS = {"flow", "period", "accuracy", "num_lanes", "lanes", "timestamp"}
_MALFORMED = ("", "", NO_SECOND, 0, *[None] * len(_NAMES))


def read_inputs(batch: pd.DataFrame, stage: Stage) -> pd.DataFrame:
    """A row for each record; a malformed one has no second (but passes `ingest` all the same)."""
    kinds, keys, values = batch["kind"], batch["key"], batch["value"]
    said = [read_record(*record) for record in zip(kinds, keys, values, strict=True)]
    if not stage.fields:
        whose = [_whose(key, value) for key, value in zip(keys, values, strict=True)]
        read = pd.DataFrame(_columns(whose, (*IDENTITY, "event_us")))
        for name in _NAMES:
            read[name] = None
    else:
        rows = [row or _MALFORMED for row in said]
        read = pd.DataFrame(_columns(rows, ("location", "lane", "second", "event_us", *_NAMES)))
        read["kind"], read["token"] = kinds.to_numpy(), ""
    read["well_formed"] = [row is not None for row in said]
    return read


def _read_output(key: bytes | None, value: bytes | None, stage: Stage) -> tuple[Any, ...]:
    """Identity, flaw and the stage's fields of one output."""
    name = (key or b"").decode(errors="backslashreplace")
    fields: list[Any] = [None] * len(stage.fields)
    identity: tuple[Any, ...] = (name, "", "", NO_SECOND, "")
    said = parse_object(value)
    if said is None:
        return (*identity, "the value is no JSON object", *fields)
    place = split_key(name) if "lane" in stage.identity else (name, "")
    kind = ""
    if "kind" in stage.identity:
        kind = "+".join(k for k in ("flow", "speed") if said.get(k) is not None)
    flaws = []
    for index, (field, kind_of_field) in enumerate(stage.fields):
        given = said.pop(field, None)
        fields[index] = as_field(given, kind_of_field)
        if given is not None and fields[index] is None:
            flaws.append(f"{field} is no {kind_of_field}: {given!r}"[:200])
        if field == "timestamp" and fields[index] is not None:
            identity = (*(place or (name, "")), kind, fields[index] // 1_000_000, "")
    flaws += [f"there is no field {extra!r}" for extra, v in said.items() if v is not None]
    return (*identity, "; ".join(flaws) or None, *fields)


def read_outputs(batch: pd.DataFrame, stage: Stage) -> pd.DataFrame:
    """A row for each output; one that cannot be read has no second."""
    pairs = zip(batch["key"], batch["value"], strict=True)
    if not stage.fields:
        read = pd.DataFrame(_columns([_whose(*pair)[:5] for pair in pairs], IDENTITY))
        read["flaw"] = None
        return read
    rows = [_read_output(key, value, stage) for key, value in pairs]
    read = pd.DataFrame(_columns([row[:6] for row in rows], (*IDENTITY, "flaw")))
    fields = _columns([row[6:] for row in rows], tuple(name for name, _ in stage.fields))
    for name, column in fields.items():
        read[f"got_{name}"] = column
    return read


def expect(records: pd.DataFrame, stage: Stage) -> pd.DataFrame:
    """What must come out of a stage for the records of some locations.

    Where a kind, key and slot occur twice (they must not) the first by offset counts.
    """
    if not stage.fields:
        copies = records.groupby(list(IDENTITY), as_index=False).size()
        return copies.rename(columns={"size": "copies"})
    expected = _expect(records, stage).assign(copies=1)
    for name, _ in stage.fields:
        expected[f"expected_{name}"] = expected[name]
    return expected


def _expect(records: pd.DataFrame, stage: Stage) -> pd.DataFrame:
    """The same for a stage that computes."""
    records = records[records["well_formed"]].sort_values("offset", kind="stable")
    records = records.drop_duplicates(["location", "lane", "kind", "second"])
    if stage.name == "parse":
        return records.assign(timestamp=records["event_us"])
    expected = _joined(records)
    if stage.name in ("tumbling", "sliding"):
        expected = _tumbled(expected).assign(lane="")
    if stage.name == "sliding":
        expected = _slid(expected)
    return expected.assign(timestamp=expected["second"] * 1_000_000, kind="", token="")


def _joined(records: pd.DataFrame) -> pd.DataFrame:
    """Flow and speed of each lane and second; both must be there."""
    kind = records["kind"]
    flows = records[kind == "flow"].drop(columns="speed")
    speeds = records.loc[kind == "speed", ["location", "lane", "second", "speed", "accuracy"]]
    both = flows.merge(speeds, on=["location", "lane", "second"], suffixes=("", "_of_speed"))
    return both.assign(accuracy=both[["accuracy", "accuracy_of_speed"]].min(axis=1))


def _tumbled(joined: pd.DataFrame) -> pd.DataFrame:
    """Each location's second with all its lanes: as many as the largest `num_lanes` says."""
    groups = joined.groupby(["location", "second"], as_index=False)
    totals = groups.agg(
        flow=("flow", "sum"),
        speed=("speed", "mean"),
        lanes=("lane", "count"),
        num_lanes=("num_lanes", "max"),
    )
    return totals[totals["lanes"] == totals["num_lanes"]].drop(columns="num_lanes")


def _slid(totals: pd.DataFrame) -> pd.DataFrame:
    """Each total with the changes since both look-backs; all three must be there."""
    found = totals
    spans = (("short", LOOK_BACK_SHORT_SLOTS), ("long", LOOK_BACK_LONG_SLOTS))
    for span, seconds in spans:
        then = totals[["location", "second", "flow", "speed"]].copy()
        then["second"] += seconds
        found = found.merge(then, on=["location", "second"], suffixes=("", f"_{span}"))
    for span, _ in spans:
        for name in ("flow", "speed"):
            now, was = found[name].astype("float64"), found[f"{name}_{span}"].astype("float64")
            found[f"{name}_change_{span}"] = ((now - was) / was).where(was != 0)
    return found


JUDGE = Judge(_FIELDS, read_inputs, read_outputs, expect)
