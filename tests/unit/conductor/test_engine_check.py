"""What the conformance test asks for, how it takes a refusal, and what it calls a pass."""

from __future__ import annotations

import io
import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.engine_check import (
    Result,
    _combinations,
    _judged,
    _print,
    _refusal,
    _refused,
    engine_check,
)
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.progress import Progress
from conductor.runtime import Refusal
from contract.engine import EngineSpec
from contract.errors import (
    EnvironmentLacking,
    ExitCode,
    ServiceFailed,
    TollgateError,
    UsageError,
)
from tests.unit.conductor.fakes import ENGINES, NO_DOCKER, FakeRuntime


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


def test_a_refusal_is_one_line_and_exit_code_64() -> None:
    assert _refusal(Refusal(64, "unknown stage no-such-thing\n")) is None


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        (Refusal(0, ""), "ended with exit code 0, not 64"),
        (Refusal(2, "no\n"), "ended with exit code 2, not 64"),
        (Refusal(-9, ""), "ended with exit code -9, not 64"),
        (Refusal(137, ""), "ended with exit code 137, not 64"),
        (Refusal(64, ""), "said 0 lines on stderr, not one"),
        (Refusal(64, "Traceback\nno\n"), "said 2 lines on stderr, not one"),
    ],
)
def test_what_is_wrong_with_a_refusal_is_said(refusal: Refusal, says: str) -> None:
    assert _refusal(refusal) == says


def test_empty_lines_do_not_count() -> None:
    assert _refusal(Refusal(64, "\nno\n  \n")) is None


def test_an_engine_that_runs_on_has_not_refused() -> None:
    assert _refusal(Refusal(None, "")) == "still ran after 60 s"
    assert _refusal(Refusal(None, "unknown stage\n")) == "still ran after 60 s"


class Tried(FakeRuntime):
    """A runtime that tells how an engine took what it was given, or that there is none."""

    def __init__(self, answer: Refusal | TollgateError) -> None:
        self.answer = answer
        self.asked: list[tuple[Any, ...]] = []

    def try_engine(self, *asked: Any) -> Refusal:
        self.asked.append(asked)
        if isinstance(self.answer, TollgateError):
            raise self.answer
        return self.answer


EXAMPLE = EngineChoice(EngineSpec.read(ENGINES / "example" / "engine.toml"), ENGINES / "example")


def test_the_runtime_is_asked_and_given_a_minute() -> None:
    runtime, env = Tried(Refusal(64, "no\n")), {"STAGE": "no-such-thing"}
    assert _refused(runtime, EXAMPLE, env) is None
    assert runtime.asked == [(EXAMPLE, env, 60.0)]


@pytest.mark.parametrize("error", [EnvironmentLacking("no such file"), ServiceFailed("no image")])
def test_an_engine_that_cannot_be_started_has_not_refused(error: TollgateError) -> None:
    says = _refused(Tried(error), EXAMPLE, {})
    assert says == f"cannot be started: {error}"


class Checked:
    """What a conformance test was made for; it checks nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runtimes: list[str] = []
        self.settings: list[dict[str, Any]] = []
        self.choices: list[EngineChoice] = []
        monkeypatch.setattr("conductor.engine_check.Check", self._check)
        monkeypatch.setattr("conductor.engine_check.only_one", lambda *_: nullcontext())

    def _check(self, choice: EngineChoice, settings: dict[str, Any], runtime: str, *_: Any) -> Any:
        self.choices.append(choice)
        self.settings.append(settings)
        self.runtimes.append(runtime)
        result = Result("ingest", "streaming", "eager", True, "9 of 9 outputs")
        return SimpleNamespace(execute=lambda _: [result])


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Checked:
    """No broker is started."""
    monkeypatch.setattr("conductor.engine_choice.spec_of_image", lambda _: spec_of("example"))
    return Checked(monkeypatch)


def test_an_engine_is_checked_as_it_is_set(checked: Checked, home: Home) -> None:
    assert check(home, "ENGINE=flink", "ENGINE_SETTINGS=join=window") == ExitCode.VALID
    assert checked.settings == [{"join": "window"}]


def check(home: Home, *words: str) -> int:
    return engine_check(list(words), home, Progress(io.StringIO()))


@pytest.mark.usefixtures("docker")
def test_answers_are_checked_without_containers_unless_they_are_asked_for(
    checked: Checked, home: Home
) -> None:
    for words in ([], ["ENGINE=example"], ["RUNTIME=docker"], ["ENGINE_IMAGE=x:1"]):
        assert check(home, *words) == ExitCode.VALID
    assert checked.runtimes == ["embedded", "embedded", "docker", "docker"]
    assert [choice.image for choice in checked.choices] == [None, None, None, "x:1"]


@pytest.mark.usefixtures("checked")
def test_a_check_in_containers_that_cannot_be_had_is_refused(home: Home) -> None:
    for word in ("RUNTIME=docker", "ENGINE_IMAGE=x:1"):
        with pytest.raises(EnvironmentLacking, match=re.escape(NO_DOCKER)):
            check(home, word)


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
