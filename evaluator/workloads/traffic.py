"""Say what the traffic topics hold and what each stage must make of them; open nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from contract.workload import FieldType, Stage
from contract.workloads.traffic import LOOK_BACK_LONG_SLOTS, LOOK_BACK_SHORT_SLOTS, split_key
from evaluator.alike import Fields, read_all
from evaluator.strict_json import (
    INSTANT,
    as_double,
    as_field,
    as_long,
    parse_object,
    second_of,
)
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
_RECORD = Fields(
    (("internalId", "string"), *_FIELDS, ("timestamp", "timestamp")),
    _TIMESTAMP,
)
#: of a key, as `split_key` cuts it
_PARTS = 2
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


def _table(rows: list[Any], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def read_inputs(batch: pa.Table, stage: Stage) -> pa.Table:
    """A row for each record; a malformed one has no second (but passes `ingest` all the same)."""
    read = _passed if not stage.fields else _computed
    return read_all(
        batch,
        _RECORD,
        lambda rows, said: _inputs_at_once(rows, said, stage),
        lambda rows: _table([read(*record) for record in _records(rows)], JUDGE.inputs_schema),
    )


def _records(rows: pa.Table) -> Iterator[tuple[str, bytes | None, bytes | None]]:
    return zip(*(rows[name].to_pylist() for name in ("kind", "key", "value")), strict=True)


def _computed(kind: str, key: bytes | None, value: bytes | None) -> tuple[Any, ...]:
    said = read_record(kind, key, value)
    if said is None:
        return ("", "", kind, NO_SECOND, "", 0, False, *[None] * len(_NAMES))
    location, lane, second, event_us, *fields = said
    return (location, lane, kind, second, "", event_us, True, *fields)


def _passed(kind: str, key: bytes | None, value: bytes | None) -> tuple[Any, ...]:
    well_formed = read_record(kind, key, value) is not None
    return (*_whose(key, value), well_formed, *[None] * len(_NAMES))


def _inputs_at_once(rows: pa.Table, said: pa.Table, stage: Stage) -> tuple[pa.Table, pa.Array]:
    """Records that look alike; sure is what is well-formed."""
    location, lane = _places(rows["key"])
    says = {name: said[name].is_valid() for name in said.column_names}
    always = ("internalId", "lat", "long", "accuracy", "timestamp", "num_lanes")
    whole = reduce(pc.and_, [says[name] for name in always], location.is_valid())
    of_flow = pc.and_(says["flow"], says["period"])
    is_flow = pc.equal(rows["kind"], "flow")
    sure = pc.and_(whole, pc.if_else(is_flow, of_flow, says["speed"]))
    if stage.fields:
        kind, token = rows["kind"], pa.repeat("", rows.num_rows)
        of_kind = {"flow": is_flow, "period": is_flow, "speed": pc.invert(is_flow)}
        fields = {name: _where(of_kind.get(name), said[name]) for name in _NAMES}
    else:
        kind = pc.if_else(of_flow, "flow", "speed")
        keys_and_values = (rows[name].to_pylist() for name in ("key", "value"))
        token = pa.array([_token(*pair) for pair in zip(*keys_and_values, strict=True)])
        fields = {n: pa.nulls(rows.num_rows, JUDGE.inputs_schema.field(n).type) for n in _NAMES}
    event_us = said["timestamp"].fill_null(0)
    columns = [location, lane, kind, _second_of(event_us), token, event_us, sure, *fields.values()]
    return pa.table(columns, JUDGE.inputs_schema), sure


def _where(mask: pa.Array | None, column: pa.Array) -> pa.Array:
    return column if mask is None else pc.if_else(mask, column, None)


def _second_of(event_us: pa.Array) -> pa.Array:
    return pa.array(np.floor_divide(event_us.to_numpy(), 1_000_000))


def _texts(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Keys as text; null, all of them, where one is none."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.chunked_array([pa.nulls(len(keys), pa.string())])


def _places(keys: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Location and lane of each key, as `split_key` has them; null where it has none."""
    cut = pc.split_pattern(_texts(keys), "/", max_splits=1, reverse=True).combine_chunks()
    ends = cut.offsets.to_numpy()
    lacking = np.diff(ends) != _PARTS
    parts = pc.if_else(pc.equal(cut.values, ""), None, cut.values)
    location, lane = (
        parts.take(pa.array(where, mask=lacking)) for where in (ends[:-1], ends[1:] - 1)
    )
    whole = pc.and_(location.is_valid(), lane.is_valid())
    return pc.if_else(whole, location, None), pc.if_else(whole, lane, None)


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


def read_outputs(batch: pa.Table, stage: Stage) -> pa.Table:
    """A row for each output; one that cannot be read has no second."""
    schema = JUDGE.outputs_schema(stage)
    if not stage.fields:
        return read_all(
            batch,
            _RECORD,
            lambda rows, said: _passed_at_once(rows, said, stage),
            lambda rows: _table([(*_whose(*pair)[:5], None) for pair in _pairs(rows)], schema),
        )
    return read_all(
        batch,
        Fields(stage.fields, INSTANT),
        lambda rows, said: _outputs_at_once(rows, said, stage),
        lambda rows: _table([_read_output(*pair, stage) for pair in _pairs(rows)], schema),
    )


def _pairs(rows: pa.Table) -> Iterator[tuple[bytes | None, bytes | None]]:
    return zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)


def _passed_at_once(rows: pa.Table, said: pa.Table, stage: Stage) -> tuple[pa.Table, pa.Array]:
    """Records that were passed on, as inputs are read."""
    says_flow = pc.and_(said["flow"].is_valid(), said["period"].is_valid())
    kinds = pc.if_else(says_flow, "flow", "speed")
    read, sure = _inputs_at_once(rows.append_column("kind", kinds), said, stage)
    schema = JUDGE.outputs_schema(stage)
    flaw = pa.nulls(rows.num_rows, pa.string())
    return pa.table([*read.select(IDENTITY).columns, flaw], schema), sure


def _outputs_at_once(rows: pa.Table, said: pa.Table, stage: Stage) -> tuple[pa.Table, pa.Array]:
    """Outputs that look alike; sure is what has no flaw and an identity."""
    none = pa.repeat("", rows.num_rows)
    if "lane" in stage.identity:
        location, lane = _places(rows["key"])
    else:
        location, lane = _texts(rows["key"]), none
    kind: pa.Array = none
    if "kind" in stage.identity:
        flows, speeds = said["flow"].is_valid(), said["speed"].is_valid()
        both = pc.if_else(speeds, "flow+speed", "flow")
        kind = pc.if_else(flows, both, pc.if_else(speeds, "speed", ""))
    sure = pc.and_(location.is_valid(), said["timestamp"].is_valid())
    second = _second_of(said["timestamp"].fill_null(0))
    flaw = pa.nulls(rows.num_rows, pa.string())
    columns = [location, lane, kind, second, none, flaw, *said.columns]
    return pa.table(columns, JUDGE.outputs_schema(stage)), sure


def expect(records: pd.DataFrame, stage: Stage) -> pd.DataFrame:
    """What must come out of a stage for the records of some locations.

    Where a kind, key and slot occur twice (they must not) the first by offset counts.
    """
    if not stage.fields:
        copies = records.groupby(list(IDENTITY), as_index=False, observed=True).size()
        return copies.rename(columns={"size": "copies"})
    expected = _expect(records, stage).assign(copies=1)
    for name, _ in stage.fields:
        expected[f"expected_{name}"] = expected[name]
    return expected


def _expect(records: pd.DataFrame, stage: Stage) -> pd.DataFrame:
    """The same for a stage that computes."""
    if not records["well_formed"].all():
        records = records[records["well_formed"]]
    whose = ["location", "lane", "kind", "second"]
    if records.duplicated(whose).any():
        records = records.sort_values("offset", kind="stable").drop_duplicates(whose)
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
    one, other = both["accuracy"], both["accuracy_of_speed"]
    return both.assign(accuracy=one.where(one <= other, other))


def _tumbled(joined: pd.DataFrame) -> pd.DataFrame:
    """Each location's second with all its lanes: as many as the largest `num_lanes` says."""
    groups = joined.groupby(["location", "second"], as_index=False, observed=True)
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
