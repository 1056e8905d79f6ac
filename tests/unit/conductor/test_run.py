"""The order of a run, and that its testimony is written however it ends."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor.engine_check import CheckRun, _execute
from conductor.engine_choice import EngineChoice
from conductor.golden import Golden
from conductor.progress import Progress
from conductor.run import READY_S_MAX, Run
from conductor.run_plan import RunPlan
from contract.engine import EngineSpec
from contract.errors import ServiceFailed, TookTooLong
from contract.results import TOLD, RunFolder, read_json, read_jsonl
from contract.settings import RunSettings
from tests.unit.conductor.fakes import (
    ENGINES,
    NO_PID,
    Clock,
    FakeChild,
    FakeCluster,
    FakeRuntime,
)


class Stage:
    """All that a run needs, made of fakes: an hour of it passes in no time."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.clock, self.cluster = clock, FakeCluster(clock)
        self.runtime = FakeRuntime(folder / "scratch", clock, self.cluster)
        self.settled_after: list[str] = []
        spec = EngineSpec.read(ENGINES / "spark" / "engine.toml")
        self.plan = RunPlan(
            run_id="campaign-1-parse",
            folder=RunFolder(folder / "runs" / "1-parse"),
            settings=RunSettings(stage="parse", warmup_s=2, duration_s=5, cooldown_s=1),
            engine=EngineChoice(spec, ENGINES / "spark"),
            execution=spec.executions[0],
            beside=(NO_PID,),
            before_input=lambda: self.settled_after.extend(self.runtime.started),
        )

    def run(self) -> Run:
        return Run(self.plan, self.runtime, self.cluster, Progress(io.StringIO()))

    def check_run(self, golden: Golden) -> CheckRun:
        self.plan = replace(
            self.plan,
            backlog=golden.backlog,
            owed=golden.owed("parse"),
            publisher_env=golden.publisher_env(),
        )
        progress = Progress(io.StringIO())
        return CheckRun(self.plan, self.runtime, self.cluster, progress, golden=golden)

    def testimony(self) -> dict[str, Any]:
        found: dict[str, Any] = read_json(self.plan.folder.conditions)
        return found

    def once_fed(self, seconds: float, action: Callable[[], None]) -> None:
        """Have something happen so long after the first input."""
        feed = self.cluster.feed

        def fed() -> None:
            feed()
            self.clock.at(seconds, action)

        self.cluster.feed = fed  # type: ignore[method-assign]


@pytest.fixture
def stage(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A run whose waiting takes no time."""
    monkeypatch.setattr("conductor.run.time", clock)
    monkeypatch.setattr("conductor.watch.time", clock)
    return Stage(tmp_path, clock)


def test_a_run_measures_whole_slots_after_warm_up_and_ends_in_order(stage: Stage) -> None:
    stage.run().execute()
    seen = stage.testimony()
    assert stage.runtime.started == ["engine", "publisher", "engine stopped"]
    first = seen["ready"]["slot"] + 1 + 2
    assert seen["window"] == {"first_slot": first, "last_slot": first + 5 - 1}
    assert seen["last_slot"] == seen["window"]["last_slot"] + 1, "the cool-down is one slot"
    assert seen["drained"] is True
    assert (seen["deaths"], seen["never_ready"], seen["engine_stop"]) == ([], None, None)
    assert (seen["interrupted"], seen["drain_says"]) == (False, None)
    assert seen["first_due_ms"] > 0 and seen["slot_ms"] == 1000
    assert stage.runtime.ended_runs == 1
    spent = seen["phases_s"]
    assert 2 <= spent["warm_up"] <= 4
    # the window, and half of the cool-down: the publisher ends with the slot that has begun
    assert 5.5 <= spent["measure"] <= 7.5
    assert all(seconds >= 0 for seconds in spent.values())


def test_leaders_and_types_are_looked_at_before_and_after(stage: Stage) -> None:
    stage.run().execute()
    seen = stage.testimony()
    topics = ["campaign-1-parse.flow", "campaign-1-parse.speed", "campaign-1-parse.out"]
    assert stage.cluster.created == [(topics, 2, 3, 3, 1)]
    assert {row["look"] for row in seen["leaders"]["before"]} == {1}
    assert {row["look"] for row in seen["leaders"]["after"]} == {2}
    assert seen["timestamp_types"]["before"] == dict.fromkeys(topics, "LogAppendTime")
    assert seen["timestamp_types"]["after"] == seen["timestamp_types"]["before"]


def test_what_may_overlap_with_the_engines_start_ends_before_input_begins(stage: Stage) -> None:
    stage.run().execute()
    assert stage.settled_after == ["engine"]


def test_what_is_seen_of_the_topics_is_kept_line_by_line(stage: Stage) -> None:
    stage.run().execute()
    rows = read_jsonl(stage.plan.folder.evidence / "progress.jsonl")
    assert len(rows) > 10
    assert [r["outputs"] for r in rows] == sorted(r["outputs"] for r in rows)
    assert rows[-1]["outputs"] == stage.cluster.outputs() > 0
    assert rows[-1]["inputs"] == 2 * stage.cluster.slots()


def test_engine_and_publisher_are_told_of_the_same_run(stage: Stage) -> None:
    stage.plan = replace(stage.plan, publisher_env={"PUBLISHERS": "3"})
    stage.run().execute()
    order, env = stage.runtime.order, stage.runtime.publisher_env
    assert order is not None
    told = order.to_environment()
    for name in ("RUN_ID", "WORKLOAD", "BOOTSTRAP_SERVERS", "INPUT_TOPICS"):
        assert env[name] == told[name]
    assert told["OUTPUT_TOPIC"] == "campaign-1-parse.out"
    assert told["STATE_DIR"] == str(stage.runtime.scratch / "state" / "campaign-1-parse")
    assert Path(told["STATE_DIR"]).is_dir()
    assert order.engine_settings["checkpoint_s"] == 10
    assert env["EVIDENCE_DIR"] == str(stage.plan.folder.evidence)
    assert env["PUBLISHERS"] == "3", "what the plan says goes before"
    assert env["GO_FILE"] == str(stage.plan.go_file)
    assert not stage.plan.go_file.exists(), "nothing of it stays in the evidence"
    # enough slots for the longest wait there may be, and a bound all the same
    assert READY_S_MAX + 8 < int(env["SLOTS_MAX"]) < 3600


def test_an_engine_that_never_keeps_up_is_said_with_what_was_seen_of_it(stage: Stage) -> None:
    stage.cluster.lag_slots = 30
    stage.run().execute()
    seen = stage.testimony()
    assert seen["never_ready"].startswith("the engine did not keep up within 120 s: newest outputs")
    assert (seen["ready"], seen["window"]) == (None, None)
    assert stage.runtime.started[-1] == "engine stopped"


def test_an_engine_without_outputs_is_neither_ready_nor_drained(stage: Stage) -> None:
    stage.cluster.lag_slots = None
    stage.run().execute()
    seen = stage.testimony()
    assert "no output at all, while slot 1" in seen["never_ready"]
    assert seen["drained"] is False
    assert "40 s after the last input" in seen["drain_says"]
    assert seen["engine_stop"] is None


def test_an_engine_that_falls_behind_is_not_drained(stage: Stage) -> None:
    def falls_behind() -> None:
        stage.cluster.lag_slots = 12

    stage.once_fed(10, falls_behind)
    stage.run().execute()
    seen = stage.testimony()
    assert seen["never_ready"] is None
    assert seen["drained"] is False
    assert f"slot {seen['window']['last_slot']} was still owed" in seen["drain_says"]


@pytest.mark.parametrize(
    ("code", "says"), [(None, "killed"), (3, "exit code 3"), (-15, "code -15")]
)
def test_how_the_engine_stopped_is_told(code: int | None, says: str, stage: Stage) -> None:
    stage.runtime.engine.code_at_stop = code
    stage.run().execute()
    assert stage.testimony()["engine_stop"].endswith(says)


@pytest.mark.parametrize("after_s", [1, 5, 9])
def test_a_death_ends_the_run_and_is_noted_with_the_last_words(
    after_s: float, stage: Stage
) -> None:
    stage.once_fed(after_s, lambda: setattr(stage.runtime.engine, "ended", 137))
    stage.run().execute()
    seen = stage.testimony()
    assert seen["deaths"] == [
        {
            "service": "spark",
            "exit_code": 137,
            "says": "ended with exit code 137",
            "log_tail": ["one", "the last words"],
        }
    ]
    assert seen["drained"] is False
    assert seen["leaders"]["after"] is None
    assert stage.runtime.ended_runs == 1


def test_all_that_a_runs_result_repeats_is_told_even_of_one_that_never_started(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ServiceFailed("the topics could not be made")

    monkeypatch.setattr(stage.cluster, "create", fails)
    with pytest.raises(ServiceFailed, match="could not be made"):
        stage.run().execute()
    seen = stage.testimony()
    assert set(seen) >= {*TOLD, "observed_ms", "monitoring_source"}
    assert (seen["engine_services"], seen["limits"], seen["images"]) == ([], None, None)


def test_all_services_of_the_engine_are_told(stage: Stage) -> None:
    stage.runtime.aides = [FakeChild("worker"), FakeChild("worker-2")]
    stage.run().execute()
    assert stage.testimony()["engine_services"] == ["spark", "worker", "worker-2"]


def test_a_checks_publisher_is_none_of_the_engines_services(stage: Stage) -> None:
    publisher_ends(stage)
    assert _execute(stage.check_run(GOLDEN)) is None
    assert stage.testimony()["engine_services"] == ["spark"]


def test_how_a_runtime_says_that_a_service_ended_is_what_is_noted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = "was killed because it ran out of memory (its limit is 2048 MiB), exit code 137"
    monkeypatch.setattr(stage.runtime.engine, "how_it_ended", lambda: how)
    stage.once_fed(9, lambda: setattr(stage.runtime.engine, "ended", 137))
    stage.run().execute()
    (death,) = stage.testimony()["deaths"]
    assert (death["exit_code"], death["says"]) == (137, how)


def test_when_services_were_watched_and_what_limits_they_had_is_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"limits": {"spark": {"cpus": 2.0}}, "images": {}, "monitoring_source": None}
    watched: list[Path] = []
    monkeypatch.setattr(stage.runtime, "resource_facts", lambda: facts)
    monkeypatch.setattr(stage.runtime, "watch_resources", watched.append)
    monkeypatch.setattr(type(stage.runtime), "resources_file", "processes.jsonl")
    stage.run().execute()
    seen = stage.testimony()
    assert watched == [stage.plan.folder.evidence]
    assert (stage.plan.folder.evidence / "processes.jsonl").exists()
    assert not (stage.plan.folder.evidence / "resources.jsonl").exists()
    assert {name: seen[name] for name in facts} == facts
    observed = seen["observed_ms"]
    assert observed["from"] <= seen["first_due_ms"] < observed["to"]


def test_a_death_while_outputs_are_awaited_is_noted_too(stage: Stage) -> None:
    stop = stage.runtime.publisher.ask_to_stop

    def stops() -> None:
        stop()
        stage.clock.at(0.1, lambda: setattr(stage.runtime.engine, "ended", 1))

    stage.runtime.publisher.ask_to_stop = stops  # type: ignore[method-assign]
    stage.run().execute()
    seen = stage.testimony()
    assert [death["service"] for death in seen["deaths"]] == ["spark"]
    assert (seen["drained"], seen["drain_says"]) == (False, None)


def test_a_publisher_that_fails_at_its_end_is_a_death(stage: Stage) -> None:
    stage.runtime.publisher.code_at_stop = 4
    stage.run().execute()
    (death,) = stage.testimony()["deaths"]
    assert (death["service"], death["exit_code"]) == ("publisher", 4)


def test_a_failed_request_may_be_the_first_that_is_seen_of_a_death(stage: Stage) -> None:
    def broker_goes() -> None:
        stage.cluster.failure = "the topics' ends could not be read"
        stage.clock.at(1, lambda: setattr(stage.runtime.engine, "ended", 1))

    stage.once_fed(12, broker_goes)
    stage.run().execute()
    assert [death["exit_code"] for death in stage.testimony()["deaths"]] == [1]


def test_a_failure_without_a_death_is_raised_and_testified_all_the_same(stage: Stage) -> None:
    def request_fails() -> None:
        stage.cluster.failure = "the topics' ends could not be read"

    stage.once_fed(12, request_fails)
    with pytest.raises(ServiceFailed, match=r"^the topics' ends could not be read$"):
        stage.run().execute()
    assert stage.testimony()["deaths"] == []
    assert stage.testimony()["window"] is not None
    assert stage.runtime.ended_runs == 1


def test_a_publisher_that_does_not_start_is_not_waited_for_for_ever(stage: Stage) -> None:
    stage.runtime.starts_publisher = False
    with pytest.raises(TookTooLong, match=r"^waited 60 s for the publisher to start$"):
        stage.run().execute()
    seen = stage.testimony()
    assert (seen["first_due_ms"], seen["event_start_s"], seen["last_slot"]) == (None, None, None)
    assert seen["slot_ms"] == 1000


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interruption_and_a_defect_are_testified_too(
    error: type[BaseException], stage: Stage
) -> None:
    def happens() -> None:
        raise error

    stage.once_fed(12, happens)
    with pytest.raises(error):
        stage.run().execute()
    assert stage.testimony()["interrupted"] is (error is KeyboardInterrupt)
    assert stage.runtime.ended_runs == 1


GOLDEN = Golden(
    Path("/golden/traffic.input.jsonl"),
    input_slots=(0,) * 20 + (29,),
    output_slots={"parse": (0,) * 10},
)


def publisher_ends(stage: Stage, after_s: float = 31, code: int = 0) -> None:
    stage.runtime.publisher.code_at_stop = code
    stage.once_fed(after_s, stage.runtime.publisher.ask_to_stop)


def test_a_check_has_its_backlog_before_its_engine(stage: Stage) -> None:
    publisher_ends(stage)
    inputs: list[int] = []
    stage.runtime.before_engine = lambda: inputs.append(2 * stage.cluster.slots())
    assert _execute(stage.check_run(GOLDEN)) is None
    assert stage.runtime.started == ["publisher", "engine", "engine stopped"]
    assert len(inputs) == 1 and inputs[0] >= GOLDEN.backlog
    assert stage.settled_after == [], "nothing is waited for: time is not judged"
    seen = stage.testimony()
    assert seen["window"] == GOLDEN.window
    assert seen["drained"] is True
    assert stage.runtime.publisher_env["SOURCE"] == f"raw:{GOLDEN.path}"


@pytest.mark.parametrize("check", [True, False])
def test_a_publisher_is_taken_away_once_it_has_ended_by_itself(check: bool, stage: Stage) -> None:
    if check:
        publisher_ends(stage)
        assert _execute(stage.check_run(GOLDEN)) is None
    else:
        stage.run().execute()
    assert stage.runtime.publisher.taken_away == [0]


def test_a_check_whose_engine_dies_says_its_last_words(stage: Stage) -> None:
    publisher_ends(stage)
    stage.once_fed(25, lambda: setattr(stage.runtime.engine, "ended", 70))
    assert _execute(stage.check_run(GOLDEN)) == "died: it ended with exit code 70: the last words"


def test_a_check_whose_engine_does_not_stop_as_it_should_says_so(stage: Stage) -> None:
    publisher_ends(stage)
    stage.runtime.engine.code_at_stop = 143
    says = _execute(stage.check_run(GOLDEN))
    assert says == "after SIGTERM: exit code 143, not exit code 0"


def test_a_check_whose_input_never_ends_is_a_sentence(stage: Stage) -> None:
    assert _execute(stage.check_run(GOLDEN)) == "waited 90 s for the publisher to end"


def test_a_check_whose_publisher_fails_is_a_death(stage: Stage) -> None:
    publisher_ends(stage, code=1)
    assert (
        _execute(stage.check_run(GOLDEN)) == "died: it ended with exit code 1: nothing in its log"
    )
