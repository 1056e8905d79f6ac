"""The program as a whole, against librdkafka's mock brokers in this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from publisher.order import Order
from publisher.source import Record

ROOT = Path(__file__).resolve().parents[3]
#: what the mock brokers give a new topic
PARTITIONS = 4
WAIT_S_MAX = 60.0

Environment = dict[str, str]
Sent = Callable[..., list[Record]]


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    """Mock brokers that live as long as a producer of ours does."""
    producer = Producer({"test.mock.num.brokers": 2, "log_level": 0})
    found = producer.list_topics(timeout=WAIT_S_MAX).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in found)
    producer.flush(0)


@pytest.fixture
def env(environment: Environment, brokers: str, tmp_path: Path) -> Environment:
    """An environment with brokers, topics of its own and slots of 50 ms."""
    return environment | {
        "BOOTSTRAP_SERVERS": brokers,
        "PARTITIONS": str(PARTITIONS),
        "INPUT_TOPICS": f"flow={tmp_path.name}.flow,speed={tmp_path.name}.speed",
        "TEMPORAL_SCALE": "1200",
        "RATE": "2000",
        "PUBLISHERS": "2",
    }


def start(env: Environment) -> subprocess.Popen[str]:
    """The program, started."""
    return subprocess.Popen(
        [sys.executable, "-m", "publisher"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **env},
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Its exit code, and the lines on stderr."""
    _, errors = process.communicate(timeout=WAIT_S_MAX)
    return process.returncode, errors.splitlines()


def until(condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """Wait until the condition gives something true, and give that."""
    deadline_s = time.monotonic() + WAIT_S_MAX
    while not (found := condition()):
        assert process.poll() is None, f"ended with {finish(process)}"
        assert time.monotonic() < deadline_s, "waited too long"
        time.sleep(0.005)
    return found


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
    places = [TopicPartition(topic, p, 0) for topic in topics for p in range(PARTITIONS)]
    ends = [consumer.get_watermark_offsets(place, timeout=WAIT_S_MAX)[1] for place in places]
    consumer.assign(places)
    messages = consumer.consume(sum(ends), timeout=WAIT_S_MAX)
    consumer.close()
    return [(str(m.topic()), int(m.partition() or 0), m.key() or b"", m.value()) for m in messages]


def children_of(pid: int) -> list[int]:
    """The processes it has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def senders_of(pid: int) -> list[int]:
    """Those of its children that send (and not Python's resource tracker)."""
    found = []
    for child in children_of(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in command:
            found.append(child)
    return found


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("publishers", ["1", "3"])
def test_all_slots_arrive_byte_for_byte_with_evidence(
    env: Environment, sent: Sent, publishers: str
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
    env: Environment, number: signal.Signals
) -> None:
    env |= {"SLOTS_MAX": "100000"}
    process = start(env)
    due_ms = until(lambda: started(env), process)["first_due_ms"]
    until(lambda: time.time() * 1000 > due_ms + 220, process)
    process.send_signal(number)
    assert finish(process) == (0, [])
    told, tables = outcome(env)
    slots = told["last_slot"] + 1
    assert 0 < slots < 100_000
    assert told["scheduled"] == told["acknowledged"] == 100 * slots
    assert sum(table.num_rows for table in tables) == told["scheduled"]
    for table in tables:
        assert set(table["slot"].to_pylist()) == set(range(slots))
    assert len(collected(env)) == told["scheduled"]


def test_a_second_sigterm_stops_at_once(env: Environment) -> None:
    env |= {"TEMPORAL_SCALE": "1", "RATE": "20"}
    process = start(env)
    until(lambda: started(env), process)
    senders = senders_of(process.pid)
    process.send_signal(signal.SIGTERM)
    # a first one that has not been taken note of would swallow the second
    until(lambda: not signal_pending(process.pid), process)
    process.send_signal(signal.SIGTERM)
    code, errors = finish(process)
    assert code == 1
    assert errors == ["publisher: stopped at once, by a second SIGTERM: no evidence was written"]
    assert not any(runs(pid) for pid in senders)


def signal_pending(pid: int) -> bool:
    """Whether a SIGTERM waits to be delivered."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("ShdPnd:"):
            return bool(int(line.split()[1], 16) >> signal.SIGTERM - 1 & 1)
    return False


def test_a_senders_death_ends_the_program_with_one_line(env: Environment) -> None:
    env |= {"SLOTS_MAX": "100000"}
    process = start(env)
    until(lambda: started(env), process)
    senders = senders_of(process.pid)
    assert len(senders) == 2
    os.kill(senders[1], signal.SIGKILL)
    code, errors = finish(process)
    assert code == 1
    assert errors == ["publisher: sender 1 died with exit code -9"]
    assert not any(runs(pid) for pid in senders)


def test_senders_do_not_outlive_their_parent(env: Environment) -> None:
    env |= {"SLOTS_MAX": "100000"}
    process = start(env)
    until(lambda: started(env), process)
    senders = senders_of(process.pid)
    process.kill()
    process.wait(WAIT_S_MAX)
    deadline_s = time.monotonic() + WAIT_S_MAX
    while any(runs(pid) for pid in senders):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    if process.stderr:
        process.stderr.close()


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
    env: Environment, changes: Environment, code: int, says: str
) -> None:
    ended, errors = finish(start(env | changes))
    assert (ended, len(errors)) == (code, 1)
    assert says in errors[0]


def test_bad_lines_are_told_and_do_not_stop_it(env: Environment, tmp_path: Path) -> None:
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


def test_a_raw_source_ends_by_itself(env: Environment, tmp_path: Path) -> None:
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
