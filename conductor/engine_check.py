"""The conformance test: golden input in, the oracle's outputs out, for all an engine claims."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from conductor.asked import choose_runtime, read_words
from conductor.campaign import EVALUATE_S_MAX, keep_broker_logs, run_order
from conductor.engine_choice import EngineChoice, choose_engine, settings_asked
from conductor.evaluating import Evaluator
from conductor.golden import Golden, golden_of
from conductor.home import Home
from conductor.lock import only_one
from conductor.progress import Progress
from conductor.run import Run
from conductor.run_plan import RunPlan
from conductor.runtime import Refusal, Runtime
from conductor.runtimes import have_runtime
from conductor.services import services
from contract.engine import EngineSpec, Execution, Topics, heap_mb
from contract.errors import ExitCode, ServiceFailed, TollgateError, UsageError
from contract.results import CampaignFolder, read_json
from contract.settings import RunSettings
from contract.workload import load_workload

KNOWN = (
    "ENGINE",
    "ENGINE_IMAGE",
    "ENGINE_SETTINGS",
    "RUNTIME",
    "STAGE",
    "MODE",
    "DIALECT",
    "WORKLOAD",
    "RESULTS",
)
#: slots of 0.6 s: engines start while the backlog's slots pass, and the rest comes live
TEMPORAL_SCALE = 100.0
REFUSAL_S_MAX = 60.0
#: the clock leads all measured partitions however many there are; answers do not depend on it
BROKERS = 1
#: some ten thousand records: an engine that loses one in a thousand does not pass
COPIES = 20


@dataclass(frozen=True, slots=True)
class Result:
    """What one combination came to."""

    stage: str
    mode: str
    dialect: str
    passed: bool
    says: str


class CheckRun(Run):
    """A run that replays the golden input and ends by itself; patient, for time is not judged."""

    drain_s_max = 120.0

    def __init__(self, *args: Any, golden: Golden) -> None:
        super().__init__(*args)
        self._golden = golden

    def execute(self) -> None:
        """Set up, start, let the input end, drain, stop, testify."""
        self._guarded([("set_up", self.set_up), ("start", self.start), ("drain", self._play)])

    def _play(self) -> None:
        self.seen.window = self._golden.window
        self.progress.phase("replay")
        replay_s = self._golden.slots * self.seen.slot_ms / 1000
        self.wait_for_publisher(replay_s + 60)
        self.finish()


def engine_check(words: list[str], home: Home, progress: Progress) -> int:
    """Check every stage, mode and dialect that was asked for; print a table."""
    given = read_words(words, KNOWN)
    # answers do not depend on where services live: where nothing asks for containers, none start
    wanted = "docker" if "ENGINE_IMAGE" in given else "embedded"
    runtime, _ = choose_runtime({"RUNTIME": wanted, **given})
    engine = choose_engine(given, home, runtime)
    spec = engine.spec
    workload = given.get("WORKLOAD", next(iter(spec.stages), "traffic"))
    combinations = list(_combinations(spec, workload, given))
    own = settings_asked(given, [spec], runtime)[spec.name]
    with only_one(home, progress):
        check = Check(engine, own, runtime, workload, home, progress)
        results = check.execute(combinations)
    _print(spec, results)
    failed = [r for r in results if not r.passed]
    if failed:
        print(f"what was seen is kept in {check.folder.path}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return ExitCode.FAILURE if failed else ExitCode.VALID


def _combinations(
    spec: EngineSpec, workload: str, given: dict[str, str]
) -> Iterator[tuple[str, Execution]]:
    known = load_workload(workload)
    stage = given.get("STAGE", "all")
    stages = spec.stages.get(workload, ()) if stage == "all" else (known.stage(stage).name,)
    if not stages:
        raise UsageError(f"engine {spec.name} claims no stage of {workload}")
    for name in stages:
        spec.check_stage(workload, name)
    spec.choose(given.get("MODE"), given.get("DIALECT"))
    for execution in spec.executions:
        if given.get("MODE") not in (None, execution.mode):
            continue
        if given.get("DIALECT") not in (None, execution.dialect):
            continue
        for name in stages:
            yield name, execution


class Check:
    """One conformance test of one engine."""

    def __init__(
        self,
        engine: EngineChoice,
        settings: dict[str, Any],
        runtime: str,
        workload: str,
        home: Home,
        progress: Progress,
    ) -> None:
        self.spec, self.engine, self.workload = engine.spec, engine, workload
        self._settings, self._runtime = settings, runtime
        self.home, self.progress = home, progress
        stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self.name = f"engine-check-{stamp}"
        self.folder = CampaignFolder(home.results / self.name)
        self.golden = golden_of(workload, home.path / "contract")

    def execute(self, combinations: list[tuple[str, Execution]]) -> list[Result]:
        """All combinations on one cluster; nothing is kept where all passed."""
        ready = have_runtime(
            self._runtime,
            [self.engine],
            heap_mb({**self.spec.settings, **self._settings}),
            BROKERS,
            self.folder.path,
            f"file:{self.folder.path}/store",
            self.home,
            None,
            self.progress,
        )
        self.golden = self.golden.copied(self.folder.path / "golden.jsonl", COPIES)
        results: list[Result] = []
        with services(ready.make, BROKERS, self.folder.path / "logs", self.progress) as up:
            store = f"file:{self.folder.path}/store"
            results += self._refusals(up.runtime)
            waiting: CheckRun | None = None
            for number, (stage, execution) in enumerate(combinations, 1):
                self.progress.run(
                    f"{number}/{len(combinations)} {stage} {execution.mode} {execution.dialect}: "
                )
                plan = self._plan(number, stage, execution, up.runtime)
                run = CheckRun(plan, up.runtime, up.cluster, self.progress, golden=self.golden)
                says = _execute(run)
                # a run is judged while the next one plays
                if waiting is not None:
                    results.append(self._judge(waiting, up.evaluator))
                    waiting = None
                if says is None:
                    up.evaluator.give(run_order(plan.folder, store, self.name))
                    waiting = run
                else:
                    results.append(_result(run, False, says))
            if waiting is not None:
                self.progress.phase("evaluate")
                results.append(self._judge(waiting, up.evaluator))
        if all(r.passed for r in results):
            shutil.rmtree(self.folder.path, ignore_errors=True)
        return results

    def _plan(self, number: int, stage: str, execution: Execution, runtime: Runtime) -> RunPlan:
        settings = RunSettings(
            workload=self.workload,
            stage=stage,
            engine=self.spec.name,
            mode=execution.mode,
            dialect=execution.dialect,
            runtime=runtime.name,
            temporal_scale=TEMPORAL_SCALE,
            duration_s=(self.golden.window["last_slot"] + 1) * 60 / TEMPORAL_SCALE,
            warmup_s=0,
            cooldown_s=0,
            brokers=BROKERS,
            engine_settings=self._settings,
        )
        return RunPlan(
            run_id=f"{self.name}-{number}-{stage}",
            folder=self.folder.run(number, stage),
            settings=settings,
            engine=self.engine,
            execution=execution,
            publisher_env=self.golden.publisher_env(),
            backlog=self.golden.backlog,
            owed=self.golden.owed(stage),
        )

    def _judge(self, run: CheckRun, evaluator: Evaluator) -> Result:
        try:
            evaluator.take(EVALUATE_S_MAX, self.progress.tick)
        except ServiceFailed as error:
            return _result(run, False, str(error))
        return _result(run, *_judged(read_json(run.plan.folder.run_json)))

    def _refusals(self, runtime: Runtime) -> list[Result]:
        """What an engine does not do it must refuse: exit code 64, one line, nothing consumed."""
        stage = next(iter(self.spec.stages[self.workload]))
        plan = self._plan(0, stage, self.spec.executions[0], runtime)
        nothing = Topics.of("none", load_workload(self.workload).kinds)
        state = str(runtime.scratch / "refusals")
        good = plan.engine_order(runtime.bootstrap_servers, nothing, state).to_environment()
        self.progress.run("")
        self.progress.phase("refusals")
        results = []
        for name in ("WORKLOAD", "STAGE", "MODE", "DIALECT"):
            env = {**good, name: "no-such-thing"}
            says = _refused(runtime, self.engine, env)
            text = says or f"an unknown {name.lower()} is refused"
            results.append(Result("refusal", name.lower(), "", says is None, text))
        return results


def _refused(runtime: Runtime, engine: EngineChoice, env: dict[str, str]) -> str | None:
    try:
        return _refusal(runtime.try_engine(engine, env, REFUSAL_S_MAX))
    except TollgateError as error:
        return f"cannot be started: {error}"


def _refusal(refusal: Refusal) -> str | None:
    """What is wrong with how the engine refused; None if nothing is."""
    if refusal.exit_code is None:
        return f"still ran after {REFUSAL_S_MAX:.0f} s"
    if refusal.exit_code != ExitCode.ENGINE_REFUSES:
        return f"ended with exit code {refusal.exit_code}, not {int(ExitCode.ENGINE_REFUSES)}"
    lines = [line for line in refusal.stderr.splitlines() if line.strip()]
    if len(lines) != 1:
        return f"said {len(lines)} lines on stderr, not one"
    return None


def _where(fault: dict[str, Any]) -> str:
    names = ("location", "lane", "kind", "detail")
    place = " ".join(str(fault[name]) for name in names if fault[name])
    return f"{place} in slot {fault['slot']} ({fault['verdict']})"


def _execute(run: CheckRun) -> str | None:
    """Play the input to the engine; a sentence if that did not go well."""
    try:
        run.execute()
    except ServiceFailed as error:
        return str(error)
    keep_broker_logs(run.runtime, run.plan.folder)
    if run.seen.deaths:
        death = run.seen.deaths[0]
        last = (death["log_tail"] or ["nothing in its log"])[-1]
        return f"died: it {death['says']}: {last}"
    if run.seen.engine_stop:
        return f"after SIGTERM: {run.seen.engine_stop}, not exit code 0"
    return None


def _result(run: CheckRun, passed: bool, says: str) -> Result:
    settings = run.plan.settings
    return Result(settings.stage, settings.mode, settings.dialect, passed, says)


def _judged(run: dict[str, Any]) -> tuple[bool, str]:
    outputs = run["outputs"]
    bad = {k: outputs[k] for k in ("missing", "duplicate", "wrong", "unexpected") if outputs[k]}
    counts = f"{outputs['correct']} of {outputs['expected']} outputs"
    if bad or not outputs["expected"] or outputs["correct"] != outputs["expected"]:
        said = [counts, *(f"{v} {k}" for k, v in bad.items())]
        said += [f"first: {_where(fault)}" for fault in run["at_fault"][:1]]
        return False, ", ".join(said)
    return True, counts


def _print(spec: EngineSpec, results: list[Result]) -> None:
    print(f"conformance of {spec.name} {spec.version}")
    for r in results:
        verdict = "pass" if r.passed else "FAIL"
        print(f"  {r.stage:<9} {r.mode:<12} {r.dialect:<9} {verdict}  {r.says}")
