"""Verify: what matches passes, whatever was tampered with is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from contract.errors import ExitCode
from contract.results import read_json, write_json
from evaluator.report import write_report
from evaluator.verify import verify
from tests.unit.evaluator.campaigns import STAGES, Plan, make_campaign, seal


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (Plan(), ExitCode.VALID),
        (Plan(stages=STAGES, repeat=3, rate=80), ExitCode.VALID),
        (Plan(invalid=(2,)), ExitCode.INVALID),
        (Plan(dead=(2,), complete=False), ExitCode.INVALID),
        (Plan(bare=(2,), complete=False), ExitCode.INVALID),
    ],
)
def test_an_untouched_campaign_matches(tmp_path: Path, plan: Plan, code: ExitCode) -> None:
    folder = make_campaign(tmp_path / "c", plan)
    write_report(folder)
    moved = folder.rename(tmp_path / "elsewhere")
    assert verify(moved) == code


def test_a_folder_without_campaign_is_the_users_mistake(tmp_path: Path) -> None:
    assert verify(tmp_path) == ExitCode.USAGE
    assert verify(tmp_path / "nowhere") == ExitCode.USAGE


def test_broken_json_does_not_match(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text("{")
    assert verify(tmp_path) == ExitCode.FAILURE


def _change_file(folder: Path) -> None:
    (folder / "runs" / "1-parse" / "logs" / "engine.log").write_text("nothing happened\n")


def _add_file(folder: Path) -> None:
    (folder / "runs" / "1-parse" / "extra.txt").write_text("")


def _remove_file(folder: Path) -> None:
    (folder / "runs" / "1-parse" / "slots.parquet").unlink()


def _add_link(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "nowhere")


@pytest.mark.parametrize("tamper", [_change_file, _add_file, _remove_file, _add_link])
def test_files_are_those_that_were_listed(
    tmp_path: Path, tamper: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    tamper(folder)
    assert verify(folder) == ExitCode.FAILURE
    assert "does not match" in capsys.readouterr().out.splitlines()[-1]


def test_a_report_that_says_another_thing_than_the_samples_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    report = write_report(folder)
    report.write_text(report.read_text().replace("valid", "sound"))
    assert verify(folder) == ExitCode.FAILURE
    assert "report.html (make report draws it anew)" in capsys.readouterr().out
    report.unlink()
    assert verify(folder) == ExitCode.FAILURE
    write_report(folder)
    assert verify(folder) == ExitCode.VALID


def _edit_run(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "runs" / "2-join" / "run.json"
    run = read_json(path)
    edit(run)
    write_json(path, run)


def _edit_column(folder: Path, table: str, column: str, value: Any) -> None:
    """Change the column's first measured value."""
    path = folder / "runs" / "2-join" / table
    found = pq.read_table(path)
    values = found[column].to_pylist()
    first = 10 if table == "slots.parquet" else 0
    values[first] = value(values[first])
    place = found.column_names.index(column)
    changed = pa.array(values, type=found.schema.field(column).type)
    pq.write_table(found.set_column(place, column, changed), path)


RUN_EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a quantile": lambda r: r["latency_ms"]["last"].update(p99=1.0),
    "an average by a millionth": lambda r: r["latency_ms"]["mean"].update(
        avg=r["latency_ms"]["mean"]["avg"] * (1 + 1e-6)
    ),
    "a count": lambda r: r["latency_ms"]["due"].update(count=1),
    "a block": lambda r: r["latency_ms"].update(last_outside_stalls=None),
    "a part": lambda r: r["latency_ms"]["gathering"].update(p50=0.0),
    "the engine's part": lambda r: r["latency_ms"]["engine"].update(p99=1.0),
    "a part left out": lambda r: r["latency_ms"].pop("residence"),
    "throughput": lambda r: r["throughput"].update(input_per_s=1e6),
    "outputs a second": lambda r: r["throughput"].update(output_per_s=1.0),
    "acknowledged": lambda r: r["publisher"].update(acknowledged=1),
    "lateness": lambda r: r["publisher"]["late_ms"].update(p99=0.0),
    "cores": lambda r: r["resources"]["engine"].update(cpu_cores_avg=0.01),
    "a service": lambda r: r["resources"].pop("engine"),
    "expected": lambda r: r["outputs"].update(expected=7),
    "a stall": lambda r: r["stall_list"].pop(),
    "all stalls": lambda r: r.update(
        stall_list=[], stalls={"count": 0, "total_ms": 0, "longest_ms": 0}
    ),
    "the window": lambda r: r["window"].update(first_slot=12),
    "schema": lambda r: r.update(schema=1),
    "stage": lambda r: r.update(stage="parse"),
    "a doubt": lambda r: r.update(doubts=[]),
    "severity": lambda r: r["doubts"][0].update(severity="invalid"),
    "valid": lambda r: r.update(valid=False),
}


@pytest.mark.parametrize("name", RUN_EDITS)
def test_an_edited_run_is_found_even_with_new_hashes(tmp_path: Path, name: str) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    _edit_run(folder, RUN_EDITS[name])
    seal(folder, read_json(folder / "campaign.json"))
    assert verify(folder) == ExitCode.FAILURE


COLUMN_EDITS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("latency.parquet", "output_ms"): lambda v: v + 1000,
    ("latency.parquet", "input_mean_ms"): lambda v: v - 50.0,
    ("latency.parquet", "in_stall"): lambda v: not v,
    ("latency.parquet", "window_end_ms"): lambda _: 1_700_000_012_000,
    ("slots.parquet", "appended"): lambda v: v - 1,
    ("slots.parquet", "measured"): lambda v: not v,
    ("slots.parquet", "last_p50_ms"): lambda v: v + 1.0,
    ("resources.parquet", "at_ms"): lambda v: v + 15_000,
}


@pytest.mark.parametrize("place", COLUMN_EDITS)
def test_an_edited_sample_is_found_even_with_new_hashes(
    tmp_path: Path, place: tuple[str, str]
) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    _edit_column(folder, *place, COLUMN_EDITS[place])
    seal(folder, read_json(folder / "campaign.json"))
    assert verify(folder) == ExitCode.FAILURE


def test_a_negative_latency_demands_its_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    _edit_column(folder, "latency.parquet", "input_last_ms", lambda v: v + 100_000)
    seal(folder, read_json(folder / "campaign.json"))
    assert verify(folder) == ExitCode.FAILURE
    capsys.readouterr()
    table = pq.read_table(folder / "runs" / "2-join" / "latency.parquet")
    last = pc.subtract(table["output_ms"], table["input_last_ms"])
    assert pc.min(last).as_py() < 0


def test_a_removed_grave_doubt_is_found(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", Plan(invalid=(2,)))
    _edit_run(folder, lambda r: r.update(doubts=[r["doubts"][0]], valid=True))
    campaign = read_json(folder / "campaign.json")
    seal(folder, {**campaign, "valid": True})
    assert verify(folder) == ExitCode.FAILURE


CAMPAIGN_EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a median": lambda c: c["figures"][0].update(p50_ms=1.0),
    "a price": lambda c: c["prices"][0].update(price_ms=1.0),
    "a verdict": lambda c: c["prices"][0].update(verdict="costs"),
    "a price left out": lambda c: c["prices"].pop(),
    "a figure left out": lambda c: c["figures"].pop(),
    "runs": lambda c: c["figures"][0].update(valid_runs=3),
    "few-runs": lambda c: c.update(doubts=[]),
    "valid": lambda c: c.update(valid=False),
    "the question": lambda c: c.update(question="Another?"),
    "machine": lambda c: c["machine"].update(cores=64),
    "schema": lambda c: c.update(schema=1),
    "files": lambda c: c.pop("files"),
    "a path outside": lambda c: c["files"].update({"../x": "0"}),
}


@pytest.mark.parametrize("name", CAMPAIGN_EDITS)
def test_an_edited_campaign_is_found(tmp_path: Path, name: str) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    campaign = read_json(folder / "campaign.json")
    CAMPAIGN_EDITS[name](campaign)
    write_json(folder / "campaign.json", campaign)
    assert verify(folder) == ExitCode.FAILURE


def test_an_unreadable_table_does_not_match(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    (folder / "runs" / "1-parse" / "latency.parquet").write_bytes(b"cut off")
    assert verify(folder) == ExitCode.FAILURE


def _without_a_column(folder: Path) -> None:
    path = folder / "runs" / "1-parse" / "slots.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["due_ms"]), path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "conditions that are no JSON": lambda c: (c / "conditions.json").write_text("{"),
    "conditions that are no object": lambda c: (c / "conditions.json").write_text("3"),
    "a run that is no object": lambda c: (c / "runs" / "1-parse" / "run.json").write_text("[]"),
    "a run of other bytes": lambda c: (c / "runs" / "1-parse" / "run.json").write_bytes(b"\xff"),
    "a run's conditions, cut": lambda c: (
        c / "runs" / "1-parse" / "evidence" / "conditions.json"
    ).write_text('{"a":'),
    "a table that lacks a column": _without_a_column,
    "a campaign of other bytes": lambda c: (c / "campaign.json").write_bytes(b"\xff"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_was_damaged_is_said_without_a_trace(tmp_path: Path, name: str) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    DAMAGES[name](folder)
    assert verify(folder) == ExitCode.FAILURE
