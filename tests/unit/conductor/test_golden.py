"""The golden input is found by the workload's name and lasts as long as its records do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.golden import BACKLOG_SLOTS, EVENT_START_S, TAIL_SLOTS, Golden, golden_of
from contract.errors import UsageError
from contract.results import read_jsonl
from contract.workload import load_workload
from tests.unit.conductor.fakes import ROOT


def written(contract: Path, at_slots: list[float]) -> Golden:
    folder = contract / "golden"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"at_slot": at, "key": "a/b"}) for at in at_slots]
    (folder / "traffic.input.jsonl").write_text("\n".join([*lines, "", ""]))
    return golden_of("traffic", contract)


@given(at_slots=st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=9))
def test_it_lasts_to_the_end_of_the_slot_of_its_last_record(
    at_slots: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    golden = written(tmp_path_factory.mktemp("contract"), at_slots)
    assert golden.slots - 1 <= max(at_slots) < golden.slots


def test_the_last_slots_outputs_are_not_owed(tmp_path: Path) -> None:
    golden = written(tmp_path, [0.5, 29.99, 3])
    assert golden.window == {"first_slot": 0, "last_slot": 29 - TAIL_SLOTS}


def test_the_backlog_is_what_is_due_in_the_first_slots(tmp_path: Path) -> None:
    before = [0.0, 3.5, BACKLOG_SLOTS - 0.01, BACKLOG_SLOTS - 0.01]
    golden = written(tmp_path, [*before, BACKLOG_SLOTS, BACKLOG_SLOTS + 9])
    assert golden.backlog == len(before)


def test_the_publisher_replays_all_of_it_with_one_sender(tmp_path: Path) -> None:
    golden = written(tmp_path, [0.5, 29.99])
    env = golden.publisher_env()
    assert env["SOURCE"] == f"raw:{golden.path}"
    assert int(env["SLOTS_MAX"]) > golden.slots
    assert env["PUBLISHERS"] == "1"
    assert 0 < int(env["SKIP_PACING_BEFORE_SLOT"]) < golden.slots


def test_a_workload_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"workload none has no golden input .*none\.input"):
        golden_of("none", tmp_path)


def test_traffics_starts_when_it_is_said_to_and_owes_more_than_its_backlog() -> None:
    golden = golden_of("traffic", ROOT / "contract")
    assert BACKLOG_SLOTS < golden.window["last_slot"] < golden.slots
    assert 0 < golden.backlog < len(read_jsonl(golden.path))
    second_of = load_workload("traffic").event_second_of
    for row in read_jsonl(golden.path):
        if "/in-order/" in row["key"]:
            assert second_of(row["value"].encode()) == EVENT_START_S + int(row["at_slot"])


def test_what_is_owed_ends_with_the_window_and_counts_every_copy(tmp_path: Path) -> None:
    golden = golden_of("traffic", ROOT / "contract")
    last = EVENT_START_S + golden.window["last_slot"]
    second_of = load_workload("traffic").event_second_of
    many = golden.copied(tmp_path / "many.jsonl", 20)
    for stage in ("parse", "join", "tumbling", "sliding"):
        rows = read_jsonl(ROOT / "contract" / "golden" / f"traffic.{stage}.jsonl")
        seconds = [second_of(json.dumps(row["value"]).encode()) for row in rows]
        owed = sum(second is not None and second <= last for second in seconds)
        assert 0 < owed < len(rows)
        assert (golden.owed(stage), many.owed(stage)) == (owed, 20 * owed)
    passed_on = [
        r for r in read_jsonl(golden.path) if r["at_slot"] < golden.window["last_slot"] + 1
    ]
    assert golden.owed("ingest") == len(passed_on)


def test_copies_stand_beside_the_original_at_places_of_their_own(tmp_path: Path) -> None:
    golden = written(tmp_path, [0.5, BACKLOG_SLOTS + 1.0])
    many = golden.copied(tmp_path / "new" / "many.jsonl", 3)
    lines = [json.loads(line) for line in many.path.read_text().splitlines()]
    keys = [line["key"] for line in lines]
    assert len(set(keys)) == 3 and keys[:3] == [keys[0], f"1~{keys[0]}", f"2~{keys[0]}"]
    assert [line["at_slot"] for line in lines] == [0.5] * 3 + [BACKLOG_SLOTS + 1.0] * 3
    assert (many.slots, many.backlog) == (golden.slots, 3)
