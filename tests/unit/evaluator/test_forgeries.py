"""Each forgery of an ended campaign is found by verify, even where the hashes follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contract.errors import ExitCode
from contract.results import RunFolder, read_json, write_json
from evaluator.verify import verify
from evaluator.verify_run import check_run
from tests.unit.evaluator.campaigns import Plan, make_campaign, seal

SOUND = Plan()


def differing(run: RunFolder) -> dict[str, str]:
    """What verify finds amiss in the run's folder."""
    _, checks = check_run(run)
    assert checks
    return {check.where: check.says() for check in checks if not check.agrees}


@dataclass(frozen=True, slots=True)
class Forgery:
    """What is done to the folder of an ended campaign, and what of it verify finds."""

    name: str
    #: the file within the run's folder that is changed
    file: str
    change: Callable[[Path], None]
    #: the check that fails, even where all hashes are those of the forged files
    check: str
    plan: Plan = SOUND


def _column(name: str, value: Callable[[Any], Any], row: int = 0) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        table = pq.read_table(path)
        values = table[name].to_pylist()
        values[row] = value(values[row])
        place = table.column_names.index(name)
        changed = pa.array(values, type=table.schema.field(name).type)
        pq.write_table(table.set_column(place, name, changed), path)

    return change


def _keys(edit: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        told = read_json(path)
        edit(told)
        write_json(path, told)

    return change


def _innocent(run: dict[str, Any]) -> None:
    run["doubts"] = [doubt for doubt in run["doubts"] if doubt["severity"] != "invalid"]
    run["valid"] = True


def _all_came(run: dict[str, Any]) -> None:
    _innocent(run)
    run["outputs"] |= {"correct": run["outputs"]["expected"], "missing": 0}


def _fewer_expected(run: dict[str, Any]) -> None:
    _innocent(run)
    run["outputs"] |= {"expected": run["outputs"]["correct"], "missing": 0}


def _looks_of_nobody(path: Path) -> None:
    look = '{"at_ms": 1700001012000, "service": "engine", "cpu_cores": 0.01, "memory_bytes": 1}'
    path.write_text(f"{look}\n", encoding="utf-8")


def _busy_machine(path: Path) -> None:
    look = '{"at_ms": 1700001012000, "cores": 2, "busy_cores": 1.9, "ours_cores": 1.88}'
    path.write_text(f"{look}\n", encoding="utf-8")


#: a run with outputs missing
LACKING = Plan(invalid=(2,))
#: a slot of the measured ones
SLOT = 12
FORGERIES = (
    Forgery("sample", "latency.parquet", _column("output_ms", lambda v: v - 9), "latency_ms last"),
    Forgery(
        "sample-input",
        "latency.parquet",
        _column("input_mean_ms", lambda v: v + 1),
        "latency_ms gathering",
    ),
    Forgery(
        "sample-in-stall",
        "latency.parquet",
        _column("in_stall", lambda v: not v),
        "latency.parquet in_stall, rows amiss",
    ),
    Forgery(
        "sample-window-end",
        "latency.parquet",
        _column("window_end_ms", lambda _: 1_700_000_012_000),
        "latency.parquet window_end_ms, rows amiss",
    ),
    Forgery(
        "slot-appended",
        "slots.parquet",
        _column("appended", lambda v: v + 1, SLOT),
        "throughput input_per_s",
    ),
    Forgery(
        "slot-scheduled",
        "slots.parquet",
        _column("scheduled", lambda v: v - 1, SLOT),
        "slots.parquet scheduled, rows amiss",
    ),
    Forgery(
        "slot-latency",
        "slots.parquet",
        _column("last_p50_ms", lambda v: v - 1, SLOT),
        "slots.parquet last_p50_ms, rows amiss",
    ),
    Forgery(
        "slot-outputs",
        "slots.parquet",
        _column("outputs", lambda v: v + 2, SLOT),
        "outputs correct, of slots",
    ),
    Forgery(
        "figure",
        "run.json",
        _keys(lambda r: r["latency_ms"]["last"].update(p99=1.0)),
        "latency_ms last p99",
    ),
    Forgery(
        "figure-of-engine",
        "run.json",
        _keys(lambda r: r["latency_ms"]["engine"].update(p50=1.0)),
        "latency_ms engine p50",
    ),
    Forgery("doubt", "run.json", _keys(_innocent), "doubt outputs-wrong", LACKING),
    Forgery(
        "doubt-and-correct", "run.json", _keys(_all_came), "outputs correct, of slots", LACKING
    ),
    Forgery(
        "doubt-and-expected",
        "run.json",
        _keys(_fewer_expected),
        "outputs expected, of slots",
        LACKING,
    ),
    Forgery(
        "evidence-of-publisher",
        "evidence/publisher-0.parquet",
        _column("late_us", lambda _: 0, 200 * SLOT),
        "slots.parquet late_p50_ms, rows amiss",
    ),
    Forgery(
        "evidence-of-clock",
        "evidence/conditions.json",
        _keys(lambda c: c.update(clock_step_ms=300.0)),
        "doubt clock-stepped",
    ),
    Forgery(
        "evidence-of-window",
        "evidence/conditions.json",
        _keys(lambda c: c["window"].update(first_slot=20)),
        "window first_slot",
    ),
    Forgery(
        "evidence-of-resources",
        "evidence/resources.jsonl",
        _looks_of_nobody,
        "resources.parquet, rows amiss",
    ),
    Forgery("evidence-of-machine", "evidence/machine.jsonl", _busy_machine, "doubt host-saturated"),
)


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_forgery_is_found_by_verify(
    tmp_path: Path, forgery: Forgery, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_campaign(tmp_path / "c", forgery.plan)
    run = RunFolder(folder / "runs" / "2-join")
    assert differing(run) == {}
    forgery.change(run.path / forgery.file)
    assert verify(folder) == ExitCode.FAILURE
    assert f"runs/2-join/{forgery.file}: " in capsys.readouterr().out
    # a cleverer forger has the hashes follow; what the samples say stands against him
    campaign = read_json(folder / "campaign.json")
    seal(folder, {**campaign, "valid": read_json(run.run_json)["valid"]})
    assert verify(folder) == ExitCode.FAILURE
    assert "2-join/" not in capsys.readouterr().out
    assert any(where.startswith(f"2-join {forgery.check}") for where in differing(run))
