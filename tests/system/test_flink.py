"""The second engine on real brokers: its answers, its settings, and itself beside the first."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from contract.errors import ExitCode
from tests.system.tollgate import SHORT, Tollgate

pytestmark = pytest.mark.brokers


def flinks_files() -> set[Path]:
    """What Flink leaves in the machine's own temporary folder."""
    return {
        path
        for name in ("flink*", "tm_*", "jm_*", "localState*", "blobStore*")
        for path in Path(tempfile.gettempdir()).glob(name)
    }


def test_flink_conforms_in_every_stage_and_dialect(tollgate: Tollgate) -> None:
    before = flinks_files()
    ended = tollgate.run("engine-check", "ENGINE=flink")
    assert ended.code == ExitCode.VALID, ended
    print(ended.out)
    assert "14 passed, 0 failed" in ended.out
    assert flinks_files() == before


def test_its_other_join_conforms_too_and_an_unknown_one_is_refused(tollgate: Tollgate) -> None:
    words = ["engine-check", "ENGINE=flink", "STAGE=join", "DIALECT=windowed"]
    ended = tollgate.run(*words, "ENGINE_SETTINGS=join=window")
    assert ended.code == ExitCode.VALID, ended
    refused = tollgate.run(*words, "ENGINE_SETTINGS=join=nested")
    assert refused.code == ExitCode.FAILURE and "exit code 64" in refused.out, refused


def test_state_in_rocksdb_conforms_too_and_an_unknown_store_is_refused(tollgate: Tollgate) -> None:
    words = ["engine-check", "ENGINE=flink", "STAGE=sliding"]
    ended = tollgate.run(*words, "ENGINE_SETTINGS=state_store=rocksdb")
    assert ended.code == ExitCode.VALID, ended
    refused = tollgate.run(*words, "ENGINE_SETTINGS=state_store=paper")
    assert refused.code == ExitCode.FAILURE and "exit code 64" in refused.out, refused


def test_engines_are_compared_in_one_campaign(tollgate: Tollgate) -> None:
    words = ["ENGINES=flink,example", "STAGE=parse", "ALONE=1", "REPEAT=1", "DIALECT=eager"]
    ended = tollgate.run("compare", *words, *SHORT)
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    assert "flink or example: which is faster?" in ended.out, ended
    flink, example = sorted(tollgate.runs(), key=lambda run: run["engine"], reverse=True)
    for run in (flink, example):
        assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
    assert flink["engine_services"] == ["jobmanager", "taskmanager"]
    (contest,) = tollgate.campaign()["contests"]
    assert contest["b"]["engine"] == "example" and contest["says"]
    verified = tollgate.run("verify")
    assert verified.code == ended.code, verified


def test_spark_and_flink_do_the_same_work_side_by_side(tollgate: Tollgate) -> None:
    words = ["ENGINES=spark,flink", "STAGE=sliding", "ALONE=1", "REPEAT=1", *SHORT]
    ended = tollgate.run("compare", *words, "DURATION=12")
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    for run in tollgate.runs():
        assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
        assert run["outputs"]["wrong"] == run["outputs"]["unexpected"] == 0
    assert {run["engine"] for run in tollgate.runs()} == {"spark", "flink"}


def test_several_task_managers_share_the_work(tollgate: Tollgate) -> None:
    words = ["ENGINE=flink", "STAGE=tumbling", "ALONE=1", "INSTANCES=2", "DIALECT=windowed"]
    ended = tollgate.run("bench", *words, *SHORT)
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    (run,) = tollgate.runs()
    assert run["engine_services"] == ["jobmanager", "taskmanager", "taskmanager-2"]
    assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
