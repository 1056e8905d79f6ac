"""Runs are evaluated whole: good ones are valid, and what came of the others is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from contract.results import (
    LATENCY_COLUMNS,
    QUANTILES,
    RESOURCES_COLUMNS,
    SLOTS_COLUMNS,
    RunFolder,
    read_json,
)
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop
from evaluator.serve import obey
from tests.unit.evaluator.synthetic import Record, make_run
from tests.unit.evaluator.test_forgeries import differing


def evaluated(root: Path, **asked: Any) -> dict[str, Any]:
    run_dir, store = make_run(root, **asked)
    evaluate_run(Hadoop(), run_dir, store, "c", collecting=False)
    told: dict[str, Any] = read_json(RunFolder(run_dir).run_json)
    return {**told, "dir": run_dir, "store": store}


def grave(told: dict[str, Any]) -> list[str]:
    return [doubt["id"] for doubt in told["doubts"] if doubt["severity"] == "invalid"]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [("ingest", 576), ("parse", 576), ("join", 288), ("tumbling", 144), ("sliding", 104)],
)
def test_a_good_run_is_valid(tmp_path: Path, stage: str, expected: int) -> None:
    told = evaluated(tmp_path, stage=stage)
    assert told["valid"] and grave(told) == []
    counts = told["outputs"]
    assert counts["expected"] == counts["correct"] == expected
    assert sum(counts.values()) == 2 * expected


def test_what_a_run_leaves_has_the_contract_s_columns_and_exact_quantiles(tmp_path: Path) -> None:
    told = evaluated(tmp_path, stall_every_s=13, locations=20)
    run = RunFolder(told["dir"])
    for path, columns in (
        (run.latency, LATENCY_COLUMNS),
        (run.slots, SLOTS_COLUMNS),
        (run.resources, RESOURCES_COLUMNS),
    ):
        schema = pq.read_schema(path)
        types = [str(t) for t in schema.types]
        assert schema.names == [name for name, _ in columns]
        assert types == [kind for _, kind in columns]
    rows = pq.read_table(run.latency)
    output_ms = rows["output_ms"].to_numpy()
    places = (("mean", "input_mean_ms"), ("last", "input_last_ms"), ("due", "due_ms"))
    for name, column in places:
        samples = output_ms - rows[column].to_numpy()
        for quantile, q in QUANTILES:
            assert told["latency_ms"][name][quantile] == np.quantile(samples, q)
        assert told["latency_ms"][name]["avg"] == pytest.approx(samples.mean())
    assert (output_ms - rows["input_mean_ms"].to_numpy()).min() > 0
    order = np.lexsort([output_ms, rows["slot"].to_numpy()])
    assert (order == np.arange(len(order))).all()
    assert told["stalls"]["count"] == 2
    stalled = int(np.sum(rows["in_stall"].to_numpy()))
    assert told["latency_ms"]["last_outside_stalls"]["count"] == rows.num_rows - stalled > 0
    slots = pq.read_table(run.slots).to_pylist()
    assert [row["slot"] for row in slots] == list(range(40))
    assert {row["appended"] for row in slots} == {80}
    assert {(row["expected"], row["outputs"]) for row in slots} == {(40, 40)}
    assert told["throughput"]["input_per_s"] == 80


@pytest.mark.parametrize("stage", ["join", "tumbling", "sliding"])
def test_in_the_windowed_dialect_waiting_for_the_window_is_told_apart(
    tmp_path: Path, stage: str
) -> None:
    told = evaluated(tmp_path, stage=stage, dialect="windowed", disorder_ms_max=200.0)
    assert told["valid"] and grave(told) == []
    rows = pq.read_table(RunFolder(told["dir"]).latency)
    parts = told["latency_ms"]
    assert parts["engine"]["min"] >= 0 and parts["engine"]["max"] < 20
    if stage == "join":
        assert rows["window_end_ms"].null_count == rows.num_rows
        assert parts["residence"]["max"] == 0 and parts["engine"] == parts["last"]
        return
    slots, inputs = (
        rows["slot"].to_numpy(),
        pq.read_table(f"{told['store'][5:]}/c/1-{stage}/inputs"),
    )
    second = [int(v.partition(b'"timestamp":"')[2][17:19]) for v in inputs["value"].to_pylist()]
    at_ms, slot_of = inputs["timestamp_ms"].to_numpy(), np.array(second)
    for slot in np.unique(slots):
        found = set(np.array(rows["window_end_ms"])[slots == slot].tolist())
        assert found == {at_ms[slot_of > slot].min()}
    assert parts["residence"]["p50"] > 300 and parts["last"]["p50"] > 300


def test_what_is_wrong_is_told_with_what_was_expected(tmp_path: Path) -> None:
    told = evaluated(tmp_path, stage="tumbling", cheat="wrong_sum")
    (fault,) = told["at_fault"]
    assert fault["verdict"] == "wrong" and fault["location"] and fault["slot"] == 6
    names = ["verdict", "detail", "offset"]
    folder = f"{told['store'].removeprefix('file:')}/c/{told['dir'].name}/verdicts"
    rows = pq.read_table(folder, columns=names).to_pylist()
    (wrong,) = [row for row in rows if row["verdict"] == "wrong"]
    assert wrong["detail"].startswith("flow: expected ") and wrong["offset"] is not None


def test_outputs_of_the_tail_need_not_come(tmp_path: Path) -> None:
    def cut(records: list[Record]) -> list[Record]:
        return [r for r in records if r.slot <= 35]

    told = evaluated(tmp_path, cheat=cut)
    assert told["valid"] and told["outputs"]["missing"] == 0
    assert told["at_fault"] == []


def test_what_the_inputs_leave_incomplete_is_counted_and_not_expected(tmp_path: Path) -> None:
    def with_gaps(records: list[Record]) -> list[Record]:
        gone = next(r for r in records if r.slot == 12 and r.kind == "flow")
        broken = replace(gone, value=b"{")
        return [broken if r is gone else r for r in records]

    told = evaluated(tmp_path, inputs_also=with_gaps)
    assert told["outputs"]["malformed_inputs"] == 1
    assert told["outputs"]["incomplete"] == 1
    assert told["outputs"]["unexpected"] == 1  # the synthetic engine did not see the gap
    assert told["outputs"]["correct"] == told["outputs"]["expected"] == 287
    # a malformed record was appended, too: verify does not miss it among those of its slot
    assert differing(RunFolder(told["dir"])) == {}


def test_malformed_records_pass_ingest_and_are_matched_by_their_bytes(tmp_path: Path) -> None:
    junk = [(b"k", None), (b"k", None), (b"k", b""), (None, b"\xff")]

    def add(records: list[Record]) -> list[Record]:
        at_ms = records[50].timestamp_ms
        return [*records[:50], *(replace(records[50], key=k, value=v) for k, v in junk)] + [
            replace(r, timestamp_ms=max(r.timestamp_ms, at_ms)) for r in records[50:]
        ]

    told = evaluated(tmp_path, stage="ingest", inputs_also=add, cheat=add)
    assert grave(told) == []
    assert told["outputs"]["correct"] == 580 and told["outputs"]["malformed_inputs"] == 4
    lacking = evaluated(tmp_path, stage="ingest", inputs_also=add, number=2)
    assert lacking["outputs"]["missing"] == 4
    assert differing(RunFolder(told["dir"])) == differing(RunFolder(lacking["dir"])) == {}


def test_a_run_without_a_window_is_evaluated_as_far_as_it_goes(tmp_path: Path) -> None:
    died: dict[str, Any] = {
        "window": None,
        "deaths": [{"service": "engine", "exit_code": 1, "log_tail": ["boom"]}],
        "leaders": {"before": [], "after": None},
        "drained": None,
    }
    told = evaluated(tmp_path, conditions=died, cheat=lambda records: records[:100])
    assert grave(told) == ["engine-died"]
    assert told["outputs"]["missing"] is None and told["outputs"]["correct"] == 100
    assert told["latency_ms"]["last"]["p50"] is None and told["window"] is None
    assert told["failure"]["log_tail"] == ["boom"]
    assert differing(RunFolder(told["dir"])) == {}


def test_where_clock_and_publisher_are_apart_due_is_null(tmp_path: Path) -> None:
    told = evaluated(tmp_path, conditions={"same_machine": False})
    assert told["latency_ms"]["due"]["count"] == 0 and told["latency_ms"]["last"]["count"] > 0


def test_a_dead_broker_ends_in_an_invalid_run_and_not_in_waiting(tmp_path: Path) -> None:
    run_dir, store = make_run(tmp_path)
    valid, phases_s = evaluate_run(Hadoop(), run_dir, store, "c", collecting=True)
    told = read_json(RunFolder(run_dir).run_json)
    assert not valid and grave(told) == ["broker-died"]
    assert "no broker answers" in told["failure"]["says"]
    assert set(told["outputs"].values()) == {None}
    # of topics that nobody collected verify demands nothing
    assert differing(RunFolder(run_dir)) == {}
    assert pq.read_table(run_dir / "latency.parquet").num_rows == 0
    assert phases_s["evaluate"] < 10


def test_a_run_that_never_had_topics_is_told_as_such(tmp_path: Path) -> None:
    nothing = {"topics": None, "bootstrap_servers": None, "window": None, "interrupted": True}
    run_dir, store = make_run(tmp_path, conditions=nothing)
    evaluate_run(Hadoop(), run_dir, store, "c", collecting=True)
    assert grave(read_json(RunFolder(run_dir).run_json)) == ["interrupted"]


def test_an_order_that_fails_is_answered_with_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert obey(Hadoop(), '{"do": "dance"}')["ok"] is False
    broken = obey(Hadoop(), '{"do": "run"}')
    assert broken["ok"] is False and "\n" not in broken["says"]
    assert "Traceback" in capsys.readouterr().err
