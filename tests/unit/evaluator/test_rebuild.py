"""What the evaluator found with Spark is found again from the topics without it, and no tampering
with topics or figures passes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contract.results import RunFolder, read_json, write_json
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop
from evaluator.rebuild.run import Rebuilt, rebuild_run
from evaluator.rebuild.stored import Topics
from tests.unit.evaluator.synthetic import Record, change_one, make_run

STAGES = ("ingest", "parse", "join", "tumbling", "sliding")


def evaluated(root: Path, **asked: Any) -> RunFolder:
    run_dir, store = make_run(root, **asked)
    evaluate_run(Hadoop(), run_dir, store, "c", collecting=False)
    return RunFolder(run_dir)


def topics_of(run: RunFolder) -> Topics:
    return Topics(run.path.parents[2] / "store" / "c" / run.path.name)


def rebuilt(run: RunFolder, **more: Any) -> Rebuilt:
    return rebuild_run(run, topics_of(run), run.path.parents[2], **more)


def differing(run: RunFolder, **more: Any) -> list[str]:
    return [f"{c.where}: {c.says()}" for c in rebuilt(run, **more).checks if not c.agrees]


def with_gap(records: list[Record]) -> list[Record]:
    """A flow of slot 12 says nothing that can be read, a speed of slot 20 is gone."""
    broken = next(r for r in records if r.slot == 12 and r.kind == "flow")
    gone = next(r for r in records if r.slot == 20 and r.kind == "speed")
    return [replace(r, value=b"{") if r is broken else r for r in records if r is not gone]


def twice(records: list[Record]) -> list[Record]:
    """A record came twice, the second time with something else in it."""
    index = next(i for i, r in enumerate(records) if r.slot == 9)
    more = replace(records[index], value=(records[index].value or b"").replace(b"5", b"6"))
    return [*records[: index + 5], more, *records[index + 5 :]]


def out_of_order(records: list[Record]) -> list[Record]:
    late = next(r for r in records if r.slot == 15)
    moved = replace(late, timestamp_ms=late.timestamp_ms + 1700)
    return sorted(
        (moved if r is late else r for r in records), key=lambda r: (r.timestamp_ms, r.partition)
    )


def clock_fell_back(records: list[Record]) -> list[Record]:
    return [
        replace(r, timestamp_ms=r.timestamp_ms - 800) if r.slot == 18 and r.partition == 0 else r
        for r in records
    ]


def junk(records: list[Record]) -> list[Record]:
    odd = [(b"k", None), (b"k", None), (b"k", b""), (None, b"\xff"), (b"a/b", b"[1]")]
    more = [replace(records[50], key=key, value=value) for key, value in odd]
    return [*records[:50], *more, *records[50:]]


def forged(records: list[Record]) -> list[Record]:
    middle = next(r for r in records if r.slot == 7)
    return [*records, replace(records[-1], key=b"net/0/nowhere/lane1", value=middle.value)]


def amiss(records: list[Record]) -> list[Record]:
    """Something of everything: doubled, lacking, changed, invented, unreadable."""
    found = [r for i, r in enumerate(records) if i % 97 != 3]
    found = change_one(found, lambda r: r.slot == 11, accuracy=-1)
    found = change_one(found, lambda r: r.slot == 13, accuracy="many")
    found = change_one(found, lambda r: r.slot == 14, more=1)
    found = change_one(found, lambda r: r.slot == 16, flow=None)
    again = [r for r in found if r.slot == 17]
    unreadable = [replace(again[0], key=key, value=b"]") for key in (b"k", None)]
    return forged([*found, *again, *unreadable])


def dropped(records: list[Record]) -> list[Record]:
    return [r for i, r in enumerate(records) if i % 300 != 150]


def doubled(records: list[Record]) -> list[Record]:
    return [r for i, r in enumerate(records) for _ in range(1 + (i == 150))]


def off_by_one(records: list[Record]) -> list[Record]:
    flow = (next(r for r in records if r.slot == 12).says or {})["flow"]
    return change_one(records, lambda r: r.slot == 12, flow=flow + 1)


def of_another_century(records: list[Record]) -> list[Record]:
    """Further away than a slot's number reaches."""
    return change_one(records, lambda r: r.slot == 12, timestamp="9999-12-31T23:59:59Z")


def hasty(records: list[Record]) -> list[Record]:
    first = records[150]
    return [replace(r, timestamp_ms=r.timestamp_ms - 200) if r is first else r for r in records]


RUNS: dict[str, dict[str, Any]] = {
    **{f"good {stage}": {"stage": stage} for stage in STAGES},
    **{f"gaps {stage}": {"stage": stage, "inputs_also": with_gap} for stage in STAGES[::2]},
    **{f"twice {stage}": {"stage": stage, "inputs_also": twice} for stage in STAGES[1::2]},
    **{f"amiss {stage}": {"stage": stage, "cheat": amiss} for stage in STAGES[1:3]},
    "windowed join": {"conditions": {"dialect": "windowed"}},
    "windowed sliding": {"stage": "sliding", "conditions": {"dialect": "windowed"}},
    "junk ingest": {"stage": "ingest", "inputs_also": junk, "cheat": junk},
    "junk in only": {"stage": "ingest", "inputs_also": junk},
    "junk parse": {"stage": "parse", "inputs_also": junk, "cheat": junk},
    "drop": {"cheat": dropped, "locations": 20},
    "double": {"cheat": doubled},
    "off by one": {"cheat": off_by_one, "stage": "tumbling"},
    "early": {"cheat": hasty},
    "forged": {"cheat": forged},
    "excused": {
        "cheat": doubled,
        "conditions": {"delivery": "at-least-once", "fault_injected": True},
    },
    "disordered": {"inputs_also": out_of_order, "conditions": {"disorder_ms_max": 200}},
    "clock": {"inputs_also": clock_fell_back, "slots": 30},
    "stalls": {"stall_every_s": 7, "locations": 20, "slots": 60},
    "long stalls": {"stall_every_s": 5, "stall_ms": 1900, "locations": 9, "slots": 50},
    "stalls of parse": {"stage": "parse", "stall_every_s": 3, "stall_ms": 700},
    "apart": {"conditions": {"same_machine": False}},
    "no window": {"conditions": {"window": None, "interrupted": True}},
    "far future": {"cheat": of_another_century},
    "no outputs": {"cheat": lambda _: []},
    "half slots": {"slot_ms": 500.0, "slots": 60},
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_topics_say_what_the_evaluator_wrote(tmp_path: Path, name: str) -> None:
    run = evaluated(tmp_path, **RUNS[name])
    assert differing(run) == []
    assert differing(run, records_per_pile=100) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "store"]
    told = read_json(run.run_json)["outputs"]
    came = pq.read_table(topics_of(run).folder / "outputs").num_rows
    assert rebuilt(run).verdicts >= max(came, told["correct"])


def tamper(folder: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the rows of a stored topic, in one file."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    table = pa.concat_tables(tables)
    rows = table.to_pylist()
    edit(rows)
    for path in folder.glob("*.parquet"):
        path.unlink()
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / "part-0.parquet")


def edit_value(rows: list[dict[str, Any]]) -> None:
    rows[600]["value"] = rows[600]["value"].replace(b'"2026-', b'"2027-')


def drop_one(rows: list[dict[str, Any]]) -> None:
    del rows[600]


def add_one(rows: list[dict[str, Any]]) -> None:
    rows.append(rows[600] | {"offset": 10_000})


def move_one(rows: list[dict[str, Any]]) -> None:
    rows[600]["timestamp_ms"] += 1


def stamp_one(rows: list[dict[str, Any]]) -> None:
    rows[600]["timestamp_type"] = 0


def key_one(rows: list[dict[str, Any]]) -> None:
    rows[600]["key"] = b"elsewhere/lane1"


TOPIC_EDITS: dict[tuple[str, str], Callable[[list[dict[str, Any]]], None]] = {
    **{
        (part, edit.__name__): edit
        for part in ("inputs", "outputs")
        for edit in (edit_value, drop_one, add_one, move_one, stamp_one)
    },
    ("inputs", "key_one"): key_one,
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 40 slots whose every figure is right, with stalls; tests take copies."""
    root = tmp_path_factory.mktemp("good")
    evaluated(root, stall_every_s=13, locations=20)
    return root


@pytest.fixture
def run(good: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(good, tmp_path / "copy")
    return RunFolder(tmp_path / "copy" / "c" / "runs" / "1-join")


@pytest.mark.parametrize("place", TOPIC_EDITS)
def test_a_tampered_topic_is_found(run: RunFolder, place: tuple[str, str]) -> None:
    tamper(topics_of(run).folder / place[0], TOPIC_EDITS[place])
    assert differing(run) != []


def test_a_topic_that_was_cut_is_a_difference_and_no_trace(run: RunFolder) -> None:
    (path,) = (topics_of(run).folder / "outputs").glob("*.parquet")
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["offset"]), path)
    assert differing(run) == [
        "1-join topics: written readable, found outputs/part-0.parquet has no column offset"
    ]
    path.write_bytes(b"PAR1")
    assert len(differing(run)) == 1


RUN_EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    **{
        f"outputs {key}": lambda r, key=key: r["outputs"].update({key: r["outputs"][key] + 1})  # type: ignore[misc]
        for key in ("expected", "correct", "missing", "duplicate", "wrong", "unexpected",
                    "malformed_inputs", "incomplete")
    },
    "a stall": lambda r: r["stall_list"].pop(),
    "a stall's end": lambda r: r["stall_list"][0].update(end_ms=r["stall_list"][0]["end_ms"] + 1),
    "a fault": lambda r: r["at_fault"].append(
        {"verdict": "wrong", "location": "x", "lane": None, "kind": None, "slot": 7}
    ),
    "outputs a second": lambda r: r["throughput"].update(
        output_per_s=r["throughput"]["output_per_s"] + 1
    ),
    "an invented doubt": lambda r: r["doubts"].append({"id": "outputs-wrong"}),
}  # fmt: skip


@pytest.mark.parametrize("name", RUN_EDITS)
def test_a_tampered_figure_is_found(run: RunFolder, name: str) -> None:
    told = read_json(run.run_json)
    RUN_EDITS[name](told)
    write_json(run.run_json, told)
    (found,) = differing(run)
    assert found.startswith("1-join topics: ")


COLUMN_EDITS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("latency.parquet", "output_ms"): lambda v: v + 1,
    ("latency.parquet", "input_last_ms"): lambda v: v - 1,
    ("latency.parquet", "input_mean_ms"): lambda v: v + 0.01,
    ("latency.parquet", "due_ms"): lambda v: v - 0.01,
    ("latency.parquet", "window_end_ms"): lambda _: 5,
    ("latency.parquet", "location"): lambda _: "elsewhere",
    ("latency.parquet", "lane"): lambda _: None,
    ("latency.parquet", "slot"): lambda v: v + 1,
    ("slots.parquet", "appended"): lambda v: v + 1,
    ("slots.parquet", "expected"): lambda v: v - 1,
    ("slots.parquet", "outputs"): lambda v: v - 1,
}


@pytest.mark.parametrize("place", COLUMN_EDITS)
def test_a_moved_sample_is_found_and_named(run: RunFolder, place: tuple[str, str]) -> None:
    path, column = run.path / place[0], place[1]
    table = pq.read_table(path)
    values = table[column].to_pylist()
    values[9] = COLUMN_EDITS[place](values[9])
    changed = pa.array(values, table.schema.field(column).type)
    index = table.column_names.index(column)
    pq.write_table(table.set_column(index, column, changed), path)
    found = differing(run)
    assert found and all(place[0] in says for says in found)
    assert column in ("location", "lane", "slot") or column in found[0]


def test_a_sample_left_out_is_found(run: RunFolder) -> None:
    table = pq.read_table(run.latency)
    pq.write_table(table.slice(1), run.latency)
    (found,) = differing(run)
    assert "latency.parquet, rows left out: written 0, found 1, first net/0/place-" in found


DOUBTED: dict[str, dict[str, Any]] = {
    "outputs-wrong": {"cheat": doubled},
    "publisher-disordered": RUNS["disordered"],
    "clock-stepped": RUNS["clock"],
    "output-before-input": {"cheat": hasty},
    "publisher-late": {"inputs_also": lambda records: records[::2], "stage": "parse"},
}


@pytest.mark.parametrize("doubt", DOUBTED)
def test_a_removed_doubt_is_found(tmp_path: Path, doubt: str) -> None:
    run = evaluated(tmp_path, **DOUBTED[doubt])
    told = read_json(run.run_json)
    assert doubt in {d["id"] for d in told["doubts"]}
    write_json(run.run_json, told | {"doubts": [d for d in told["doubts"] if d["id"] != doubt]})
    (found,) = differing(run)
    assert f" topics: doubt {doubt}: written nothing, found " in found
