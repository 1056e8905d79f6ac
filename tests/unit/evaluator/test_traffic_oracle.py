"""What the traffic oracle takes for a record, and that the order of arrival does not matter."""

from __future__ import annotations

import json
import random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.workloads.traffic import WORKLOAD
from evaluator.strict_json import instant_us
from evaluator.workload import NO_SECOND
from evaluator.workloads.traffic import JUDGE, read_record
from tests.unit.evaluator.synthetic import Plan, Record, input_records, outputs_of

FLOW = {
    "internalId": "lane1",
    "lat": 51.5,
    "long": 5,
    "flow": 18,
    "period": 60,
    "accuracy": 100,
    "timestamp": "2026-01-05T07:00:17.437Z",
    "num_lanes": 2,
}
SPEED = {k: v for k, v in FLOW.items() if k not in ("flow", "period")} | {"speed": 99}
KEY = b"au/1/x/lane1"


def said(record: dict[str, Any], **changes: Any) -> bytes:
    changed = {**record, **changes}
    return json.dumps({k: v for k, v in changed.items() if v != "left out"}).encode()


def test_a_well_formed_record_is_read() -> None:
    second = 1767596417
    place = ("au/1/x", "lane1", second, second * 1_000_000 + 437_000, 51.5, 5.0)
    assert read_record("flow", KEY, said(FLOW)) == (*place, 18, None, 60, 100, 2)
    assert read_record("speed", KEY, said(SPEED)) == (*place, None, 99.0, None, 100, 2)


@pytest.mark.parametrize("name", FLOW)
@pytest.mark.parametrize("value", ["left out", None, [], True])
def test_each_field_of_a_flow_must_be_there_and_of_its_type(name: str, value: Any) -> None:
    assert read_record("flow", KEY, said(FLOW, **{name: value})) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"flow": 18.0},
        {"flow": "18"},
        {"flow": 2**63},
        {"lat": float("nan")},
        {"lat": "51.5"},
        {"internalId": 1},
        {"num_lanes": 2.0},
        {"timestamp": "2026-01-05T07:00:17.437"},
        {"timestamp": "2026-01-05 07:00:17.437Z"},
        {"timestamp": "2026-01-05T07:00:17.Z"},
        {"timestamp": "2026-01-05T07:00:17.1234567Z"},
        {"timestamp": "2026-02-30T07:00:17Z"},
    ],
)
def test_what_is_not_to_the_letter_is_malformed(changes: dict[str, Any]) -> None:
    assert read_record("flow", KEY, said(FLOW, **changes)) is None


@pytest.mark.parametrize("key", [None, b"", b"lane1", b"/lane1", b"au/1/", b"\xff/lane1"])
def test_a_key_needs_location_and_lane(key: bytes | None) -> None:
    assert read_record("flow", key, said(FLOW)) is None


def test_fields_nobody_knows_are_ignored() -> None:
    assert read_record("flow", KEY, said(FLOW, note={"a": [1]}, speed="x")) is not None


def read_outputs(stage: str, *values: tuple[bytes | None, bytes | None]) -> list[dict[str, Any]]:
    keys, said = zip(*values, strict=True)
    batch = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(said, pa.binary())})
    found: list[dict[str, Any]] = JUDGE.read_outputs(batch, WORKLOAD.stage(stage)).to_pylist()
    return found


TOTAL = {
    "location": "au/1/x",
    "timestamp": "2026-01-05T07:00:17Z",
    "flow": 3,
    "speed": 7,
    "lanes": 1,
}


def test_an_output_is_read_with_its_identity() -> None:
    (row,) = read_outputs("tumbling", (b"au/1/x", said(TOTAL)))
    assert (row["location"], row["lane"], row["kind"], row["second"]) == (
        "au/1/x",
        "",
        "",
        1767596417,
    )
    assert row["flaw"] is None and row["got_speed"] == 7.0


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        ({"flow": 3.0}, "flow is no long: 3.0"),
        ({"speed": "7"}, "speed is no double: '7'"),
        ({"extra": 1}, "there is no field 'extra'"),
        ({"location": "\ud800"}, r"location is no string: '\ud800'"),
    ],
)
def test_an_output_that_is_not_to_the_letter_has_a_flaw(changes: dict[str, Any], flaw: str) -> None:
    (row,) = read_outputs("tumbling", (b"au/1/x", said(TOTAL, **changes)))
    assert row["flaw"] == flaw


def test_an_absent_field_is_a_null_and_so_is_one_nobody_knows() -> None:
    (row,) = read_outputs("tumbling", (b"au/1/x", said(TOTAL, speed=None, extra=None)))
    assert row["flaw"] is None and pd.isna(row["got_speed"])


def test_an_output_that_cannot_be_read_has_no_identity() -> None:
    for value in (None, b"", b"{", said(TOTAL, timestamp="soon")):
        (row,) = read_outputs("tumbling", (b"au/1/x", value))
        assert row["second"] == NO_SECOND and row["flaw"]


def test_a_null_value_is_not_an_empty_one_when_it_is_passed_on() -> None:
    null, empty = read_outputs("ingest", (KEY, None), (KEY, b""))
    assert null["token"] != empty["token"]


def expected(records: list[Record], stage: str) -> pd.DataFrame:
    batch = pa.table(
        {
            "kind": [r.kind for r in records],
            "key": pa.array([r.key for r in records], pa.binary()),
            "value": pa.array([r.value for r in records], pa.binary()),
        }
    )
    asked = WORKLOAD.stage(stage)
    offsets = pa.array(range(len(records)), pa.int64())
    read = JUDGE.read_inputs(batch, asked).append_column("offset", offsets)
    found: pd.DataFrame = JUDGE.expected(read, asked).to_pandas()
    order = ["location", "lane", "kind", "second"]
    return found.sort_values(order).reset_index(drop=True)


@settings(max_examples=15)
@given(
    st.sampled_from(["ingest", "parse", "join", "tumbling", "sliding"]),
    st.randoms(use_true_random=False),
    st.integers(0, 30),
)
def test_the_order_of_arrival_does_not_matter(
    stage: str, rng: random.Random, left_out: int
) -> None:
    records = [r for r, *_ in input_records(Plan(slots=14, locations=2, lanes=2))]
    kept = rng.sample(records, len(records) - left_out)
    again = rng.sample(kept, len(kept))
    columns = ["location", "lane", "kind", "second", "copies"]
    columns += [f"expected_{n}" for n, _ in WORKLOAD.stage(stage).fields]
    first, second = expected(kept, stage), expected(again, stage)
    pd.testing.assert_frame_equal(first[columns], second[columns], rtol=1e-12)


@pytest.mark.parametrize("stage", ["parse", "join", "tumbling", "sliding"])
def test_the_oracle_agrees_with_an_engine_of_plain_loops(stage: str) -> None:
    plan = Plan(stage=stage, slots=20, locations=3, lanes=2)
    inputs = list(input_records(plan))
    found = expected([r for r, *_ in inputs], stage)
    names = [n for n, _ in WORKLOAD.stage(stage).fields]
    came = outputs_of(plan, inputs)
    assert len(found) == len(came) > 0
    told = {}
    for r in came:
        says = {**dict.fromkeys(names), **(r.says or {})}
        says["timestamp"] = instant_us(says["timestamp"])
        kind = "flow" if says.get("flow") is not None else "speed"
        told[r.key, says["timestamp"], kind if stage == "parse" else ""] = says
    for row in found.to_dict("records"):
        key = row["location"] + (f"/{row['lane']}" if row["lane"] else "")
        says = told[key.encode(), row["expected_timestamp"], row["kind"]]
        for name in names:
            value = row[f"expected_{name}"]
            assert (None if pd.isna(value) else value) == (
                pytest.approx(says[name]) if isinstance(says[name], float) else says[name]
            )


def test_of_a_record_that_occurs_twice_the_first_by_offset_counts() -> None:
    first, second = said(FLOW, flow=1), said(FLOW, flow=2)
    records = [Record("t", 0, 0, KEY, value, "flow") for value in (first, second)]
    assert expected(records, "parse")["expected_flow"].tolist() == [1]
