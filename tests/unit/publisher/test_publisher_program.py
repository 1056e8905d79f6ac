"""The program as a whole, against librdkafka's mock brokers in this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest
from confluent_kafka import Consumer, TopicPartition

from publisher.order import Order
from tests.mock_brokers import MOCK_PARTITIONS
from tests.unit.publisher.records import Record

WAIT_S_MAX = 60.0

Environment = dict[str, str]
Start = Callable[[Environment], subprocess.Popen[str]]
Finish = Callable[[subprocess.Popen[str]], tuple[int, list[str]]]
Until = Callable[[Callable[[], Any]], Any]
Sent = Callable[..., list[Record]]


def started(env: Environment) -> dict[str, Any] | None:
    """What publisher-started.json says, once it is there."""
    path = Path(env["EVIDENCE_DIR"]) / "publisher-started.json"
    return json.loads(path.read_text()) if path.exists() else None


def outcome(env: Environment) -> tuple[dict[str, Any], list[Any]]:
    """publisher.json, and the tables beside it."""
    folder = Path(env["EVIDENCE_DIR"])
    tables = [pq.read_table(path) for path in sorted(folder.glob("publisher-*.parquet"))]
    return json.loads((folder / "publisher.json").read_text()), tables


def collected(env: Environment) -> list[tuple[str, int, bytes, bytes | None]]:
    """All records in the topics."""
    consumer = Consumer({"bootstrap.servers": env["BOOTSTRAP_SERVERS"], "group.id": "x"})
    topics = [pair.split("=")[1] for pair in env["INPUT_TOPICS"].split(",")]
    places = [TopicPartition(topic, p, 0) for topic in topics for p in range(MOCK_PARTITIONS)]
    ends = [consumer.get_watermark_offsets(place, timeout=WAIT_S_MAX)[1] for place in places]
    consumer.assign(places)
    messages = consumer.consume(sum(ends), timeout=WAIT_S_MAX)
    consumer.close()
    return [(str(m.topic()), int(m.partition() or 0), m.key() or b"", m.value()) for m in messages]


@pytest.mark.parametrize("publishers", ["1", "3"])
def test_all_slots_arrive_byte_for_byte_with_evidence(
    env: Environment, sent: Sent, publishers: str, start: Start, finish: Finish
) -> None:
    env |= {"PUBLISHERS": publishers, "SLOTS_MAX": "4", "ARRIVAL": "spread"}
    process = start(env)
    assert finish(process) == (0, [])
    order = Order.from_environment(env)
    expected = [record[1:] for slot in range(4) for record in sent(order, slot)]
    assert sorted(collected(env)) == sorted(expected)

    told, tables = outcome(env)
    head = started(env) or {}
    assert {name: told[name] for name in head} == head
    assert set(head) == {
        "first_due_ms",
        "event_start_s",
        "slot_ms",
        "records_per_slot",
        "locations",
        "processes",
    }
    assert set(told) - set(head) == {
        "schema",
        "scheduled",
        "sent",
        "acknowledged",
        "failed",
        "last_slot",
        "source",
    }
    assert set(told["source"]) == {"name", "files", "records", "bad_lines", "bad_examples"}
    assert (told["slot_ms"], told["records_per_slot"], told["last_slot"]) == (50.0, 100, 3)
    assert told["scheduled"] == told["sent"] == told["acknowledged"] == 400
    assert (told["failed"], told["processes"]) == (0, int(publishers))
    assert [table.num_rows > 0 for table in tables] == [True] * int(publishers)
    rows = pa.concat_tables(tables)
    assert sorted(rows["due_us"].to_pylist()) == [i * 500 for i in range(400)]
    assert rows["ack_us"].null_count == 0
    assert not list(Path(env["EVIDENCE_DIR"]).glob(".*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_senders_with_the_same_whole_slot(
    env: Environment,
    number: signal.Signals,
    appended: Callable[[], int],
    start: Start,
    finish: Finish,
    until: Until,
) -> None:
    env |= {"SLOTS_MAX": "100000"}
    process = start(env)
    until(lambda: appended() > 250)
    process.send_signal(number)
    assert finish(process) == (0, [])
    told, tables = outcome(env)
    slots = told["last_slot"] + 1
    assert 2 < slots < 100_000
    assert told["scheduled"] == told["acknowledged"] == 100 * slots
    assert sum(table.num_rows for table in tables) == told["scheduled"]
    for table in tables:
        assert set(table["slot"].to_pylist()) == set(range(slots))
    assert len(collected(env)) == told["scheduled"]


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"SOURCE": "/nowhere"}, 2, "SOURCE=/nowhere is neither"),
        ({"SOURCE": "raw:/nowhere"}, 2, "RAW_EVENT_START_S"),
        ({"SOURCE": "raw:/nowhere", "RAW_EVENT_START_S": "0"}, 2, "cannot be read"),
        ({"SOURCE": os.devnull}, 2, "SOURCE=/dev/null"),
        ({"ARRIVAL": "spred"}, 2, "did you mean spread?"),
        ({"WORKLOAD": "trafic"}, 2, "did you mean traffic?"),
        ({"RATE": "fast"}, 2, "RATE=fast is not a whole number"),
        ({"SLOTS_MAX": ""}, 2, "does not set SLOTS_MAX"),
        ({"SLOTS_MAX": "0"}, 2, "SLOTS_MAX=0 cannot be"),
        ({"INPUT_TOPICS": "flow=x"}, 2, "give flow=<topic>,speed=<topic>"),
        ({"PUBLISHERS": "1000"}, 2, "PUBLISHERS=1000 cannot be"),
        ({"TEMPORAL_SCALE": "nan"}, 2, "TEMPORAL_SCALE=nan is not a number"),
        ({"PARTITIONS": "3"}, 1, "has 4 partitions, not 3"),
    ],
)
def test_a_mistake_is_said_in_one_sentence(
    env: Environment, changes: Environment, code: int, says: str, start: Start, finish: Finish
) -> None:
    ended, errors = finish(start(env | changes))
    assert (ended, len(errors)) == (code, 1)
    assert says in errors[0]


def test_bad_lines_are_told_and_do_not_stop_it(
    env: Environment, tmp_path: Path, start: Start, finish: Finish
) -> None:
    path = tmp_path / "recorded.txt"
    stated = '"lat":51.4,"long":5.4,"accuracy":100,"timestamp":"2017-03-15 14:41:00.0"'
    path.write_text(
        f'a/b/lane1= {{{stated},"flow":3,"period":60,"num_lanes":1}}\n'
        f'rubbish\na/b/lane1= {{{stated},"speed":3,"num_lanes":1}}\n'
    )
    code, errors = finish(start(env | {"SOURCE": str(path), "SLOTS_MAX": "2"}))
    assert code == 0
    assert len(errors) == 1
    assert "recorded.txt:2: no '= '" in errors[0]
    told, _ = outcome(env)
    assert told["source"]["bad_lines"] == 1
    assert told["source"]["records"] == 2
    assert told["scheduled"] == 200


def test_a_raw_source_ends_by_itself(
    env: Environment, tmp_path: Path, start: Start, finish: Finish
) -> None:
    path = tmp_path / "raw.jsonl"
    lines = [
        {"at_slot": at_slot, "kind": "speed", "key": f"p/{n}/lane1", "value": value}
        for n, (at_slot, value) in enumerate([(2.5, "{"), (0, None), (0.25, "é")])
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    env |= {"SOURCE": f"raw:{path}", "RAW_EVENT_START_S": "12", "SLOTS_MAX": "1000"}
    assert finish(start(env)) == (0, [])
    told, _ = outcome(env)
    assert (told["last_slot"], told["scheduled"], told["event_start_s"]) == (2, 3, 12)
    topic = Order.from_environment(env).topics["speed"]
    assert sorted((t, k, v) for t, _, k, v in collected(env)) == [
        (topic, b"p/0/lane1", b"{"),
        (topic, b"p/1/lane1", None),
        (topic, b"p/2/lane1", "é".encode()),
    ]


def test_the_environment_gives_the_order(order: Order) -> None:
    assert (order.slot_ns, order.slot_ms, order.records_per_slot) == (1_000_000_000, 1000.0, 200)
    assert order.raw_path is None
    assert replace(order, source="raw:x").raw_path == Path("x")


def test_once_prepared_it_waits_to_be_told_to_begin(
    env: Environment, tmp_path: Path, start: Start, finish: Finish, until: Until
) -> None:
    go = tmp_path / "go"
    process = start(env | {"GO_FILE": str(go), "SLOTS_MAX": "2"})
    until(lambda: list(Path(env["EVIDENCE_DIR"]).glob(".publisher-*.spool")))
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    assert started(env) is None
    go.touch()
    assert finish(process) == (0, [])
    told, _ = outcome(env)
    assert told["acknowledged"] == 200


def test_a_signal_before_it_is_told_ends_it_without_a_record(
    env: Environment,
    tmp_path: Path,
    appended: Callable[[], int],
    start: Start,
    finish: Finish,
    until: Until,
) -> None:
    process = start(env | {"GO_FILE": str(tmp_path / "go")})
    until(lambda: list(Path(env["EVIDENCE_DIR"]).glob(".publisher-*.spool")))
    process.send_signal(signal.SIGTERM)
    code, errors = finish(process)
    assert (code, len(errors)) == (1, 1)
    assert "stopped before the first record was due" in errors[0]
    assert appended() == 0
