"""Records that look alike are read at once, and say what they say one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaluator.alike
import evaluator.workloads.traffic as traffic
from contract.workloads.traffic import WORKLOAD

SECOND = "2026-01-05T07:00:17"
FLOW: dict[str, Any] = {
    "internalId": "lane1",
    "lat": 51.34545,
    "long": 5,
    "flow": 18,
    "period": 60,
    "accuracy": 100,
    "timestamp": f"{SECOND}.437Z",
    "num_lanes": 2,
}
SPEED = {k: v for k, v in FLOW.items() if k not in ("flow", "period")} | {"speed": 99.5}
PLACE = {"location": "au/1/x", "lane": "lane1"}
PARSED = {**PLACE, **{k: v for k, v in SPEED.items() if k != "internalId"}}
JOINED = {**PARSED, "flow": 18, "period": 60}
TOTAL = {"timestamp": f"{SECOND}.000Z", "location": "au/1", "flow": 3, "speed": 7.5, "lanes": 2}
SLID = {**TOTAL, "flow_change_short": -0.5, "flow_change_long": None, "speed_change_short": 1e-7}
KINDS = {"flow": FLOW, "speed": SPEED}
OUTPUTS = {"ingest": FLOW, "parse": PARSED, "join": JOINED, "tumbling": TOTAL, "sliding": SLID}

numbers = st.one_of(
    st.sampled_from([0, -0.0, 1.0, 18.0, 1e3, 1e22, 10**17, 10**18, 2**63, -(2**63), float("nan")]),
    st.integers(),
    st.floats(),
)
texts = st.one_of(
    st.sampled_from(["", "lane/1", "é", "\n", '"', "\\", "18", "\x7f", "\ud800"]),
    st.sampled_from(
        [
            SECOND,
            f"{SECOND}Z",
            f"{SECOND}.5Z",
            f"{SECOND}.123456Z",
            f"{SECOND}.1234567Z",
            f"{SECOND}.437",
            f"{SECOND}+01:00",
            "2026-01-05 07:00:17Z",
            "2026-02-30T07:00:17.437Z",
            "2026-01-05T24:00:17.437Z",
            "1969-12-31T23:59:59.437Z",
            "9999-12-31T23:59:59.999Z",
            "٢٠٢٦-01-05T07:00:17.437Z",
        ]
    ),
    st.text(max_size=3),
)
odd = st.one_of(numbers, texts, st.none(), st.booleans(), st.just([]), st.just({"a": 1}))
keys = st.sampled_from(
    [
        b"au/1/x/lane1",
        b"au/1/x/lane2",
        b"a//b",
        b"a\n/b\n",
        "é/ü".encode(),
        b"lane1",
        b"/lane1",
        b"au/",
        b"\xff/lane1",
        b"",
        None,
    ]
)


@st.composite
def said(draw: st.DrawFn, record: dict[str, Any]) -> bytes | None:
    """A record as JSON: most often to the letter, else a little or much beside it."""
    if draw(st.integers(0, 20)) == 0:
        return draw(st.sampled_from([None, b"", b"{}", b"null", b"[1]", b'{"a":'] + [b"{" * 9]))
    changed = dict(record)
    if draw(st.integers(0, 2)) == 0:
        changed |= draw(
            st.dictionaries(st.sampled_from([*record, "speed", "note"]), odd, max_size=2)
        )
    if draw(st.integers(0, 5)) == 0:
        del changed[draw(st.sampled_from(list(changed)))]
    if draw(st.integers(0, 5)) == 0:
        changed = dict(reversed(changed.items()))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :"), (",\n", ":")]))
    ascii_only = draw(st.booleans()) or "\ud800" in changed.values()
    value = json.dumps(changed, separators=separators, ensure_ascii=ascii_only).encode(
        errors="replace"
    )
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(value)))
        stray = draw(
            st.sampled_from([b"", b" ", b"}", b"x", b"0", b"-", b".", b'"', b"\xff", b"\0"])
        )
        value = value[:at] + stray + value[at + draw(st.integers(0, 1)) :]
    return value


@st.composite
def batches(draw: st.DrawFn, told: dict[str, dict[str, Any]]) -> pa.Table:
    """A batch of records of these kinds."""
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(sorted(told)))
        rows.append((kind, draw(keys), draw(said(told[kind]))))
    kinds, names, values = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "kind": pa.array(kinds, pa.string()),
            "key": pa.array(names, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )


@contextmanager
def one_by_one() -> Iterator[None]:
    """Nothing looks alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator.alike, "read_alike", lambda *_: iter(()))
        yield


@settings(max_examples=300)
@given(batches(KINDS), st.sampled_from(["ingest", "join"]))
def test_inputs_say_the_same_at_once_as_one_by_one(batch: pa.Table, name: str) -> None:
    stage = WORKLOAD.stage(name)
    at_once = traffic.read_inputs(batch, stage)
    with one_by_one():
        assert at_once.to_pylist() == traffic.read_inputs(batch, stage).to_pylist()


@settings(max_examples=300)
@given(st.data(), st.sampled_from(sorted(OUTPUTS)))
def test_outputs_say_the_same_at_once_as_one_by_one(data: st.DataObject, name: str) -> None:
    stage = WORKLOAD.stage(name)
    batch = data.draw(batches({"flow": OUTPUTS[name]})).drop("kind")
    at_once = traffic.read_outputs(batch, stage)
    with one_by_one():
        assert at_once.to_pylist() == traffic.read_outputs(batch, stage).to_pylist()


def never(*_: object) -> None:
    raise AssertionError("read one by one")


def test_what_is_to_the_letter_is_never_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "read_record", never)
    monkeypatch.setattr(traffic, "_read_output", never)
    for name, output in OUTPUTS.items():
        stage = WORKLOAD.stage(name)
        for kind, record in KINDS.items():
            values = [json.dumps({**record, "lat": n / 7, "long": n}).encode() for n in range(50)]
            batch = pa.table({"kind": [kind] * 50, "key": [b"au/1/x/lane1"] * 50, "value": values})
            read = traffic.read_inputs(batch, stage)
            assert read["well_formed"].to_pylist() == [True] * 50
        values = [json.dumps({**output, "flow": n}).encode() for n in range(50)]
        batch = pa.table({"key": [b"au/1/x/lane1"] * 50, "value": values})
        assert traffic.read_outputs(batch, stage)["flaw"].null_count == 50
