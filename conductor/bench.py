"""One campaign: brokers, its runs one after another, their evaluation, the report."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from conductor.appliance.presence import HDFS
from conductor.asked import Asked
from conductor.doctor import lacks
from conductor.evaluating import Evaluator
from conductor.home import Home
from conductor.java import find_java
from conductor.machine import machine_facts, pins
from conductor.progress import Progress
from conductor.rehearsal import rehearse
from conductor.run import Run
from conductor.run_plan import RunPlan
from conductor.runtime import Runtime
from conductor.runtimes import have_runtime
from conductor.services import Services, services
from contract.engine import engine_settings_for
from contract.errors import EnvironmentLacking, TollgateError
from contract.results import SCHEMA, CampaignFolder, RunFolder, read_json, write_json

EVALUATE_S_MAX = 1800.0


class Campaign:
    """The runs that answer one question."""

    def __init__(self, asked: Asked, home: Home, progress: Progress, command: list[str]) -> None:
        self.asked, self.home, self.progress = asked, home, progress
        #: containers bring their own
        embedded = asked.settings.runtime == "embedded"
        self.java = find_java(home.artifacts) if embedded else None
        started = datetime.now(UTC)
        name = "all" if asked.all_stages else asked.stages[-1]
        token = secrets.token_hex(2)
        self.campaign_id = f"{started:%Y%m%d-%H%M%S}-{name}-{token}"
        self.folder = CampaignFolder(home.results / self.campaign_id)
        self.conditions: dict[str, Any] = {
            "schema": SCHEMA,
            "campaign_id": self.campaign_id,
            "question": asked.question,
            "command": command,
            "started_at": f"{started:%Y-%m-%dT%H:%M:%SZ}",
            "ended_at": None,
            "settings": self._settings(),
            "stages": list(asked.stages),
            "asked_all": asked.all_stages,
            "repeat": asked.repeat,
            "runs": [],
            "machine": machine_facts(self.java),
            "pins": pins(home, self.java),
            "store": asked.store,
            # where it can be read once the cluster has gone
            "store_kept": f"file:{home.results}/store" if asked.store == HDFS else None,
            "complete": False,
            "says": None,
        }
        #: a run that the evaluator is still at, and its entry in `runs`
        self._pending: tuple[dict[str, Any], Run] | None = None
        #: campaign and report are there: what comes later takes nothing from them
        self._concluded = False

    def _settings(self) -> dict[str, Any]:
        settings = self.asked.settings
        names = ("workload", "engine", "mode", "dialect", "runtime")
        own = engine_settings_for(self.asked.spec, settings)
        shown = {**settings.to_json(), "engine_settings": own}
        return {**shown, **{name: getattr(settings, name) for name in names}}

    def execute(self) -> dict[str, Any]:
        """Run all; campaign.json is written last, and only when nothing interrupted."""
        problem = next(iter(lacks(self.asked, self.home)), None)
        if problem:
            raise EnvironmentLacking(problem)
        settings = self.asked.settings
        ready = have_runtime(
            settings.runtime,
            self.asked.engine,
            engine_settings_for(self.asked.spec, settings),
            settings.brokers,
            self.folder.path,
            self.asked.store,
            self.home,
            self.java,
            self.progress,
        )
        self.conditions["pins"]["docker"] = ready.docker
        logs = self.folder.path / "logs"
        try:
            with services(ready.make, settings.brokers, logs, self.progress) as up:
                self._runs(up)
                return self._conclude(up.evaluator)
        except KeyboardInterrupt:
            self._abandon("interrupted by the user")
            raise
        except TollgateError as error:
            self._abandon(str(error))
            raise

    def _say(self, sentence: str) -> None:
        self.progress.say(f"tollgate: {sentence}")

    def _runs(self, up: Services) -> None:
        total = self.asked.repeat * len(self.asked.stages)
        number = 0
        for repetition in range(1, self.asked.repeat + 1):
            for stage in self.asked.stages:
                number += 1
                self.progress.run(f"run {number}/{total} {stage}: ")
                plan = self._plan(number, stage, repetition, up)
                self._one(Run(plan, up.runtime, up.cluster, self.progress), up.evaluator)
                if self.conditions["says"]:
                    return
        self._settle(up.evaluator)
        self.conditions["complete"] = True

    def _plan(self, number: int, stage: str, repetition: int, up: Services) -> RunPlan:
        folder = self.folder.run(number, stage)
        self.conditions["runs"].append(
            {
                "path": str(folder.path.relative_to(self.folder.path)),
                "stage": stage,
                "repetition": repetition,
                "ended": "interrupted",
            }
        )
        self._write()
        plan = RunPlan(
            run_id=f"{self.campaign_id}-{number}-{stage}",
            folder=folder,
            settings=self.asked.for_stage(stage),
            spec=self.asked.spec,
            execution=self.asked.execution,
            engine_folder=self.asked.engine.folder,
            beside=(up.evaluator.pid,),
            before_input=lambda: self._settle(up.evaluator),
        )
        if number > 1:
            return plan
        rehearsal = partial(rehearse, plan, up.runtime, up.cluster, self.progress)
        return replace(plan, before_input=rehearsal)

    def _one(self, run: Run, evaluator: Evaluator) -> None:
        """Execute a run and have it evaluated, while the next one's engine starts if it can."""
        run.execute()
        keep_broker_logs(run.runtime, run.plan.folder)
        self.progress.phase("evaluate")
        kept = self.conditions["store_kept"]
        evaluator.give(run_order(run.plan.folder, self.asked.store, self.campaign_id, kept))
        self._pending = (self.conditions["runs"][-1], run)
        if run.seen.deaths:
            self._settle(evaluator)

    def _settle(self, evaluator: Evaluator) -> None:
        """Wait for the verdict on the run before, if it is still awaited."""
        if self._pending is None:
            return
        entry, run = self._pending
        self._pending = None
        evaluator.take(EVALUATE_S_MAX, self.progress.tick)
        entry["ended"] = "valid" if read_json(run.plan.folder.run_json)["valid"] else "invalid"
        if run.seen.deaths:
            entry["ended"] = "failed"
            death = run.seen.deaths[0]
            tail = "\n  ".join(["its log ends:", *death["log_tail"]])
            self.conditions["says"] = (
                f"{death['service']} died in run {entry['path']}: it {death['says']}; "
                + (tail if death["log_tail"] else "it had said nothing")
            )

    def _conclude(self, evaluator: Evaluator) -> dict[str, Any]:
        self.progress.run("")
        self.progress.phase("report")
        self.conditions["ended_at"] = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self._write()
        order = {"do": "campaign", "campaign_dir": str(self.folder.path)}
        evaluator.ask(order, EVALUATE_S_MAX, self.progress.tick)
        self._concluded = True
        point_latest_at(self.home.results, self.campaign_id)
        result: dict[str, Any] = read_json(self.folder.campaign_json)
        return result

    def _abandon(self, why: str) -> None:
        if self._concluded:
            return
        self.conditions["says"] = why
        # what stands in it would not agree with what is said now
        self.folder.campaign_json.unlink(missing_ok=True)
        if self.folder.path.exists():
            self._write()
            self._say(f"logs, and what was measured so far, are kept in {self.folder.path}")

    def _write(self) -> None:
        write_json(self.folder.conditions, self.conditions)


def run_order(
    folder: RunFolder, store: str, campaign_id: str, kept: str | None = None
) -> dict[str, Any]:
    """What the evaluator is told to collect and judge one run; `kept` is where a copy goes."""
    return {
        "do": "run",
        "run_dir": str(folder.path),
        "store": store,
        "campaign_id": campaign_id,
        "kept": kept,
    }


def keep_broker_logs(runtime: Runtime, folder: RunFolder) -> None:
    """What the brokers said so far goes beside the run's other logs."""
    for broker in runtime.brokers:
        broker.keep_log(folder.logs)


def point_latest_at(results: Path, name: str) -> None:
    """Move the link `latest` in one step."""
    draft = results / f".latest-{os.getpid()}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(name)
    draft.replace(results / "latest")
