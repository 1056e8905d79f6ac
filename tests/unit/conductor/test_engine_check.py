"""What the conformance test asks for, how it takes a refusal, and what it calls a pass."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from conductor.engine_check import Result, _combinations, _judged, _print, _refusal
from contract.engine import EngineSpec, Service
from contract.errors import UsageError
from tests.unit.conductor.fakes import ENGINES, program, runs


def spec_of(name: str) -> EngineSpec:
    return EngineSpec.read(ENGINES / name / "engine.toml")


def asked(engine: str = "spark", **given: str) -> list[tuple[str, str, str]]:
    found = _combinations(spec_of(engine), "traffic", given)
    return [(stage, execution.mode, execution.dialect) for stage, execution in found]


STAGES = ("ingest", "parse", "join", "tumbling", "sliding")
PAIRS = (("real-time", "eager"), ("micro-batch", "windowed"), ("micro-batch", "eager"))


def test_by_default_all_that_an_engine_claims_is_checked() -> None:
    assert asked() == [(stage, *pair) for pair in PAIRS for stage in STAGES]
    assert asked("example") == [("ingest", "streaming", "eager"), ("parse", "streaming", "eager")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"STAGE": "2"}, [("join", *pair) for pair in PAIRS]),
        ({"STAGE": "window", "MODE": "real-time"}, [("sliding", *PAIRS[0])]),
        ({"STAGE": "join", "MODE": "micro-batch"}, [("join", *PAIRS[1]), ("join", *PAIRS[2])]),
        ({"STAGE": "join", "DIALECT": "eager"}, [("join", *PAIRS[0]), ("join", *PAIRS[2])]),
        (
            {"STAGE": "join", "MODE": "micro-batch", "DIALECT": "windowed"},
            [("join", *PAIRS[1])],
        ),
    ],
)
def test_what_is_asked_for_is_checked_in_every_way_that_fits(
    given: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    assert asked(**given) == expected


@pytest.mark.parametrize(
    ("engine", "given", "says"),
    [
        ("example", {"STAGE": "join"}, "does not run stage join"),
        ("spark", {"STAGE": "jion"}, r"did you mean join\?"),
        ("spark", {"MODE": "realtime"}, r"did you mean real-time\?"),
        ("spark", {"MODE": "real-time", "DIALECT": "windowed"}, "does not run real-time with"),
    ],
)
def test_what_an_engine_does_not_claim_is_refused(
    engine: str, given: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        asked(engine, **given)


@pytest.mark.parametrize("stages", [{}, {"traffic": ()}, {"other": ("ingest",)}])
def test_an_engine_that_claims_no_stage_has_nothing_to_be_checked(
    stages: dict[str, tuple[str, ...]],
) -> None:
    spec = replace(spec_of("example"), stages=stages)
    with pytest.raises(UsageError, match="engine example claims no stage of traffic"):
        list(_combinations(spec, "traffic", {}))


def refusal(folder: Path, script: str, *words: str) -> str | None:
    """What is wrong with how an engine of this one script refuses."""
    program(folder / "entrypoint", script)
    return refusal_of(folder, "./entrypoint", *words)


def refusal_of(folder: Path, *command: str) -> str | None:
    services = (Service("mine", command, 1), Service("not-asked", ("false",), 1))
    spec = replace(spec_of("example"), services=services, settings={})
    return _refusal(folder, spec, {"PATH": os.environ["PATH"], "STAGE": "no-such-thing"})


def test_a_refusal_is_one_line_and_exit_code_64(tmp_path: Path) -> None:
    script = 'echo "unknown stage $STAGE" >&2\nexit 64'
    assert refusal(tmp_path, script) is None
    assert refusal(tmp_path, f"echo starting up\n{script}\necho") is None, "stdout is its own"


def test_a_refusal_is_asked_of_the_first_service_in_its_folder(tmp_path: Path) -> None:
    script = f'[ "$1" = word ] && [ "$(pwd)" = "{tmp_path}" ] || exit 1\necho no >&2\nexit 64'
    assert refusal(tmp_path, script, "word") is None
    assert refusal(tmp_path, script, "other") == "ended with exit code 1, not 64"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exit 0", "ended with exit code 0, not 64"),
        ("echo no >&2; exit 2", "ended with exit code 2, not 64"),
        ("kill -9 $$", "ended with exit code -9, not 64"),
        ("exit 64", "said 0 lines on stderr, not one"),
        ("echo no; exit 64", "said 0 lines on stderr, not one"),
        ("echo Traceback >&2; echo no >&2; exit 64", "said 2 lines on stderr, not one"),
    ],
)
def test_what_is_wrong_with_a_refusal_is_said(script: str, says: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, script) == says


def test_empty_lines_do_not_count(tmp_path: Path) -> None:
    assert refusal(tmp_path, "printf '\\nno\\n  \\n' >&2; exit 64") is None


def test_an_engine_that_runs_on_has_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.engine_check.REFUSAL_S_MAX", 0.2)
    assert refusal(tmp_path, "exec sleep 1000") == "still ran after 0 s"


def test_an_engine_that_cannot_be_started_has_not_refused(tmp_path: Path) -> None:
    (tmp_path / "entrypoint").write_text("#!/bin/sh\nexit 64\n")
    for command in ("./entrypoint", "./none", "no-such-program-anywhere"):
        says = refusal_of(tmp_path, command)
        assert says is not None and says.startswith("cannot be started: ")


@pytest.mark.parametrize(
    ("end", "says"), [("echo no >&2\nexit 64", None), ("wait", "still ran after 1 s")]
)
def test_what_a_refusing_engine_started_goes_with_it(
    end: str, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.engine_check.REFUSAL_S_MAX", 1.0)
    program(tmp_path / "helper", "while :; do sleep 1000; done")
    assert refusal(tmp_path, f'"{tmp_path}/helper" 2> /dev/null &\n{end}') == says
    assert running_from(tmp_path) == []


def running_from(folder: Path) -> list[str]:
    """The processes whose program is in that folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line and runs(process.pid):
            found.append(line)
    return found


def outputs(**changes: int) -> dict[str, Any]:
    found = {"expected": 9, "correct": 9, "missing": 0, "duplicate": 0, "wrong": 0, "unexpected": 0}
    return {"outputs": {**found, "malformed_inputs": 3, "incomplete": 2, **changes}, "at_fault": []}


def test_all_outputs_and_no_others_are_a_pass() -> None:
    assert _judged(outputs()) == (True, "9 of 9 outputs")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"correct": 8, "missing": 1}, "8 of 9 outputs, 1 missing"),
        ({"duplicate": 2}, "9 of 9 outputs, 2 duplicate"),
        ({"unexpected": 1}, "9 of 9 outputs, 1 unexpected"),
        ({"correct": 7, "missing": 1, "wrong": 1}, "7 of 9 outputs, 1 missing, 1 wrong"),
        ({"correct": 8}, "8 of 9 outputs"),
        ({"correct": 10}, "10 of 9 outputs"),
        ({"expected": 0, "correct": 0}, "0 of 0 outputs"),
    ],
)
def test_anything_else_fails_and_says_what(changes: dict[str, int], says: str) -> None:
    assert _judged(outputs(**changes)) == (False, says)


def test_the_first_output_at_fault_is_named() -> None:
    where: dict[str, Any] = {"location": "golden/gaps/2", "lane": "lane1", "kind": None, "slot": 7}
    fault = {**where, "verdict": "wrong", "detail": "flow: expected 3, got 4"}
    run = {**outputs(correct=8, wrong=1), "at_fault": [fault, fault]}
    says = "8 of 9 outputs, 1 wrong, first: golden/gaps/2 lane1 flow: expected 3, got 4 in slot 7"
    assert _judged(run) == (False, f"{says} (wrong)")


def test_the_table_has_a_line_for_each_combination(capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        Result("join", "real-time", "eager", True, "9 of 9 outputs"),
        Result("refusal", "mode", "", False, "said 0 lines on stderr, not one"),
    ]
    _print(spec_of("spark"), results)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "conformance of spark 4.3.0"
    assert [line.split()[0] for line in lines[1:]] == ["join", "refusal"]
    assert "pass  9 of 9 outputs" in lines[1]
    assert "FAIL  said 0 lines" in lines[2]
