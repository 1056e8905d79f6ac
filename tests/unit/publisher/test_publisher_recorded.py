"""Recorded sources: any order, bad lines, missing lanes, copies, and over again."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.order import Order
from publisher.source import Share
from publisher.workloads.traffic.line import BadLine, parse_line
from publisher.workloads.traffic.recorded import RecordedSource, scaled_locations
from tests.unit.publisher.records import Record

Sent = Callable[..., list[Record]]
KEY = "au/1/5/u/7/x/3/k/x/d/h/n/RWS01_MONICA_00D00219A85F60200007_1"


def line(
    kind: str = "flow", *, place: str = "a", lane: int = 1, minute: int = 0, **more: Any
) -> str:
    """A recorded line; None leaves a field out."""
    reading = {"flow": 360, "period": 60} if kind == "flow" else {"speed": 99.5}
    fields = {
        "lat": 51.41268,
        "long": 5.42929,
        **reading,
        "accuracy": 100,
        "timestamp": f"2017-03-15 14:{41 + minute}:00.0",
        "num_lanes": 1,
        **more,
    }
    stated = {name: value for name, value in fields.items() if value is not None}
    return f"{KEY}{place}/lane{lane}= {json.dumps(stated)}"


def minutes_of(lanes: dict[str, int], minutes: int) -> list[str]:
    """Whole minutes of places with so many lanes; flow and speed tell place, lane and minute."""
    return [
        line(kind, place=place, lane=lane, minute=minute, num_lanes=count, **{kind: reading})
        for minute in range(minutes)
        for place, count in lanes.items()
        for lane in range(1, count + 1)
        for kind, reading in (("flow", 100 * minute + lane), ("speed", 50.5 + minute))
    ]


def write(path: Path, lines: list[str]) -> str:
    """A file of lines, as SOURCE."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def value_of(record: Record) -> dict[str, Any]:
    """A record's value, parsed."""
    value: dict[str, Any] = json.loads(record[4] or b"")
    return value


def test_a_line_is_rewritten_to_the_designs_shape(order: Order, sent: Sent, tmp_path: Path) -> None:
    source = write(tmp_path / "one.txt", [line(), line("speed", lat="x"), line("speed")])
    flow, speed = sent(order, 0, source=source, records_per_slot=2)
    stamp = "2026-05-21T06:16:00"
    assert (flow[3], speed[3]) == (f"{KEY}a/00000/lane1".encode(),) * 2
    assert flow[4] == (
        b'{"internalId":"lane1","lat":51.41268,"long":5.42929,"flow":360,"period":60,'
        b'"accuracy":100,"timestamp":"%b.000Z","num_lanes":1}' % stamp.encode()
    )
    assert speed[4] == (
        b'{"internalId":"lane1","lat":51.41268,"long":5.42929,"speed":99.5,'
        b'"accuracy":100,"timestamp":"%b.500Z","num_lanes":1}' % stamp.encode()
    )


def test_numbers_stay_as_they_were_written() -> None:
    seen = parse_line(line("speed").replace("99.5", "99.50").replace("51.41268", "51.412680"))
    assert b'"lat":51.412680,"long":5.42929,"speed":99.50,' in seen.head


def test_order_and_files_of_lines_do_not_matter(order: Order, sent: Sent, tmp_path: Path) -> None:
    lines = minutes_of({"a": 2, "b": 3}, 4)
    whole = write(tmp_path / "whole.txt", lines)
    shuffled = lines[:]
    random.Random(5).shuffle(shuffled)
    write(tmp_path / "parts" / "flow.txt", [x for x in shuffled if '"flow"' in x])
    write(tmp_path / "parts" / "deep" / "speed.txt", [x for x in shuffled if '"speed"' in x])
    for slot in range(5):
        expected = sent(order, slot, source=whole, records_per_slot=24)
        found = sent(order, slot, source=str(tmp_path / "parts"), records_per_slot=24)
        assert found == expected
        assert sent(order, slot, 3, source=whole, records_per_slot=24) == expected


def test_minutes_become_slots_and_event_time_goes_on_when_they_loop(
    order: Order, sent: Sent, tmp_path: Path
) -> None:
    source = write(tmp_path / "x.txt", minutes_of({"a": 1}, 3)[::-1])
    stamps = []
    for slot in range(7):
        flow = value_of(sent(order, slot, source=source, records_per_slot=2)[0])
        assert flow["flow"] == 100 * (slot % 3) + 1
        stamps.append(datetime.fromisoformat(flow["timestamp"]).astimezone(UTC).timestamp())
    assert [stamp - stamps[0] for stamp in stamps] == [0, 1, 2, 3, 4, 5, 6]


def test_a_missing_lane_has_no_record_and_the_rest_is_spread_evenly(
    order: Order, sent: Sent, tmp_path: Path
) -> None:
    lines = [x for x in minutes_of({"a": 2}, 2) if not ("lane2" in x and "14:42" in x)]
    source = write(tmp_path / "x.txt", lines)
    assert len(sent(order, 0, source=source, records_per_slot=4)) == 4
    second = sent(order, 1, source=source, records_per_slot=4)
    assert [record[0] for record in second] == [order.slot_ns, order.slot_ns * 3 // 2]
    assert {value_of(record)["internalId"] for record in second} == {"lane1"}


@pytest.mark.parametrize("arrival", ["adjacent", "spread"])
def test_locations_are_copied_under_new_ids(
    order: Order, sent: Sent, tmp_path: Path, arrival: str
) -> None:
    source = write(tmp_path / "x.txt", minutes_of({"a": 2, "b": 1}, 1))
    found = sent(order, 0, source=source, records_per_slot=16, arrival=arrival)
    assert len({(record[1], record[3]) for record in found}) == len(found) == 16
    locations = Counter(record[3].decode().rpartition("/")[0] for record in found)
    assert locations == {
        f"{KEY}a/00000": 4,
        f"{KEY}b/00000": 2,
        f"{KEY}a/00001": 4,
        f"{KEY}b/00001": 2,
        f"{KEY}a/00002": 4,
    }
    facts = RecordedSource(order, Share(0, 1), Path(source)).facts
    assert (facts.locations, facts.records_per_slot) == (2 * 33 + 1, 33 * 6 + 4)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=30), st.integers(1, 500))
def test_scaling_reaches_the_rate_with_at_most_one_location_over(
    records_of: list[int], wanted: int
) -> None:
    def total(locations: int) -> int:
        return sum(records_of[i % len(records_of)] for i in range(locations))

    found = scaled_locations(records_of, wanted)
    assert total(found) >= wanted > total(found - 1)


BAD_LINES = [
    ("rubbish", "no '= '"),
    ("nolocation= {}", "the key is not"),
    ("a b/lane1= {}", "the key is not"),
    (f"{KEY}/lane1= {{", "bad JSON"),
    (f"{KEY}/lane1= []", "not an object"),
    (f"{KEY}/lane1= {'[' * 30_000}", "bad JSON"),
    (line(flow=None), "neither flow nor speed"),
    (line(speed=3), "both flow and speed"),
    (line(lat=None), "no lat"),
    (line(period=None), "no period"),
    (line(num_lanes=None), "no num_lanes"),
    (line(timestamp=None), "no timestamp"),
    (line(flow="360"), "flow is no number"),
    (line(flow=True), "flow is no number"),
    (line(flow=1.5), "flow is no whole number"),
    (line(flow=-1), "flow cannot be -1"),
    (line("speed", speed=-1.0), "speed cannot be -1.0"),
    (line("speed", speed=float("nan")), "NaN is no number"),
    (line("speed", speed=9999), "speed cannot be 9999"),
    (line("speed").replace("99.5", "1e999"), "speed cannot be 1e999"),
    (line(lat=91), "lat cannot be 91"),
    (line(accuracy=101), "accuracy cannot be 101"),
    (line(num_lanes=0), "num_lanes cannot be 0"),
    (line(timestamp="yesterday"), "timestamp cannot be"),
    (line(timestamp="2017-02-30 14:41:00.0"), "timestamp cannot be"),
    (line(timestamp=7), "timestamp cannot be"),
]


@pytest.mark.parametrize(("text", "why"), BAD_LINES)
def test_a_bad_line_says_why(text: str, why: str) -> None:
    with pytest.raises(BadLine, match=why):
        parse_line(text)


@given(st.text(max_size=200))
def test_no_line_raises_anything_else(text: str) -> None:
    for candidate in (text, f"{KEY}/lane1= {text}", line(flow=text), line(timestamp=text)):
        with contextlib.suppress(BadLine):
            parse_line(candidate)
