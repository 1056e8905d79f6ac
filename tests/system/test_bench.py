"""Whole campaigns on real brokers with the real engine, short.

The first of the system tests: it leaves archives of classes, with which the others start sooner.
"""

from __future__ import annotations

import pytest

from contract.errors import ExitCode
from tests.system.tollgate import SHORT, Tollgate

pytestmark = pytest.mark.brokers

#: a short window holds too little for these; they are warnings, and meant
SMALL = {"few-checkpoints", "few-samples", "few-runs"}


def test_real_time_join_and_its_predecessor(tollgate: Tollgate) -> None:
    ended = tollgate.run("bench", "STAGE=join", *SHORT)
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    parse, join = tollgate.runs()
    for run in (parse, join):
        outputs = run["outputs"]
        assert outputs["expected"] == outputs["correct"] > 0, ended
        assert outputs["wrong"] == outputs["missing"] == outputs["unexpected"] == 0
        assert run["latency_ms"]["last"]["p50"] >= 0
        for service in ("broker-1", "broker-2", "broker-3", "spark", "publisher"):
            used = run["resources"][service]
            assert used["cpu_cores_avg"] > 0 and used["memory_bytes_max"] > 0, service
    assert "join costs" in ended.out or not all(r["valid"] for r in (parse, join)), ended
    assert "report.html" in ended.out
    verified = tollgate.run("verify")
    assert verified.code == ended.code, verified


def test_micro_batch_sliding(tollgate: Tollgate) -> None:
    """Windowed; eager micro-batches answer in the conformance test, eager runs above."""
    words = ["STAGE=sliding", "ALONE=1", "MODE=micro-batch"]
    ended = tollgate.run("bench", *words, *SHORT, "DURATION=12", "COOLDOWN=6")
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    (run,) = tollgate.runs()
    assert run["dialect"] == "windowed"
    assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
    assert run["outputs"]["wrong"] == run["outputs"]["unexpected"] == 0


def test_spark_conforms_in_every_stage_mode_and_dialect(tollgate: Tollgate) -> None:
    ended = tollgate.run("engine-check")
    assert ended.code == ExitCode.VALID, ended
    print(ended.out)
    assert "19 passed, 0 failed" in ended.out
