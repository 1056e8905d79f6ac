"""One campaign: its runs, block by block on fresh brokers, their evaluation, the report."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from conductor.asked import Asked
from conductor.doctor import block_s, lacks, largest_heap_mb, run_s
from conductor.evaluating import Evaluator
from conductor.home import Home
from conductor.java import find_java
from conductor.planning import conditions_asked, run_plan
from conductor.progress import Progress
from conductor.rehearsal import rehearse
from conductor.remaining import Remaining, in_words
from conductor.run import Run
from conductor.runtime import Runtime
from conductor.runtimes import Ready, have_runtime
from conductor.services import Services, services
from contract.errors import EnvironmentLacking, TollgateError
from contract.order import ENDED, Planned, order_of
from contract.results import CampaignFolder, RunFolder, read_json, write_json
from contract.variant import name_among

EVALUATE_S_MAX = 1800.0
#: after so many engines or brokers that died a campaign is given up
DEATHS_MAX = 3
#: with more runs than this a reader wants to know what is left, not each phase
BRIEF_FROM = 2


class Campaign:
    """The runs that answer one question."""

    def __init__(self, asked: Asked, home: Home, progress: Progress, command: list[str]) -> None:
        self.asked, self.home, self.progress = asked, home, progress
        #: containers bring their own
        embedded = asked.settings.runtime == "embedded"
        self.java = find_java(home.artifacts) if embedded else None
        self.order = order_of(asked.stages, asked.variants, asked.repeat, asked.settings.seed)
        self.conditions = conditions_asked(asked, home, self.java, command, self.order)
        self.folder = CampaignFolder(home.results / self.campaign_id)
        #: a run that the evaluator is still at, and its entry in `runs`
        self._pending: tuple[dict[str, Any], Run] | None = None
        #: campaign and report are there: what comes later takes nothing from them
        self._concluded = False
        runtime = asked.settings.runtime
        self._remaining = Remaining(run_s(asked), block_s(runtime))

    @property
    def campaign_id(self) -> str:
        return str(self.conditions["campaign_id"])

    def go_on_with(self, folder: CampaignFolder, conditions: dict[str, Any]) -> None:
        """Take an interrupted campaign's place: its folder, its order, what it has."""
        self.folder, self.conditions = folder, conditions
        again = [run for run in self.conditions["runs"] if run["ended"] not in ENDED]
        if self.conditions["says"] is None:
            begun = [run["path"] for run in again if (self.folder.path / run["path"]).exists()]
            self._interrupted(begun, "it ended without a word")
        for entry in again:
            shutil.rmtree(self.folder.path / entry["path"], ignore_errors=True)
            entry["ended"] = None
        self.conditions["says"] = None

    def execute(self) -> dict[str, Any]:
        """Run all; campaign.json is written last, and only when nothing interrupted."""
        problem = next(iter(lacks(self.asked, self.home)), None)
        if problem:
            raise EnvironmentLacking(problem)
        ready = self._have_runtime()
        self._announce()
        try:
            return self._blocks(ready)
        except KeyboardInterrupt:
            self._abandon("interrupted by the user")
            raise
        except TollgateError as error:
            self._abandon(str(error))
            raise

    def _have_runtime(self) -> Ready:
        settings = self.asked.settings
        ready = have_runtime(
            settings.runtime,
            self.asked.engines,
            largest_heap_mb(self.asked),
            settings.brokers,
            self.folder.path,
            self.asked.store,
            self.home,
            self.java,
            self.progress,
        )
        if self.conditions["pins"].setdefault("docker", ready.docker) != ready.docker:
            raise EnvironmentLacking(
                f"{self.campaign_id} was begun on another Docker engine, or with another cluster "
                f"kept; FRESH=1 begins a new campaign"
            )
        began = self.conditions["pins"].setdefault("engines", ready.engines)
        if other := [name for name, state in ready.engines.items() if began.get(name) != state]:
            raise EnvironmentLacking(
                f"{', '.join(other)} is not what {self.campaign_id} was begun with: its files or "
                f"its image changed; FRESH=1 begins a new campaign"
            )
        return ready

    def _say(self, sentence: str) -> None:
        self.progress.say(f"tollgate: {sentence}")

    def _announce(self) -> None:
        left = self._left()
        if self.asked.runs <= BRIEF_FROM or not left:
            return
        left_s = self._left_s()
        until = datetime.now().astimezone() + timedelta(seconds=left_s)
        self._say(
            f"{len(left)} runs, about {in_words(left_s)}, until {until:%H:%M}; "
            f"results in {self.folder.path}"
        )

    def _blocks(self, ready: Ready) -> dict[str, Any]:
        """A repetition after the other, each on brokers of its own."""
        brokers = self.asked.settings.brokers
        while True:
            left = self._left()
            block = [planned for planned in left if planned.repetition == left[0].repetition]
            logs = self.folder.path / "logs"
            if self.asked.repeat > 1 and block:
                logs /= f"from-run-{block[0].number}"
            with services(ready.make, brokers, logs, self.progress) as up:
                self._block(block, up)
                if self.conditions["says"] or not self._left():
                    self.conditions["complete"] = not self.conditions["says"]
                    return self._conclude(up.evaluator)
            # a runtime that was taken down has given back what it was made with
            ready = self._have_runtime()

    def _left(self) -> list[Planned]:
        """What has not ended yet."""
        runs = self.conditions["runs"]
        return [planned for planned in self.order if runs[planned.number - 1]["ended"] is None]

    def _left_s(self) -> float:
        left = self._left()
        blocks = len({planned.repetition for planned in left})
        return self._remaining.left_s([str(planned.variant) for planned in left], blocks)

    def _block(self, block: list[Planned], up: Services) -> None:
        """Make these runs, until one of them dies: who comes after it would meet its ruins."""
        for planned in block:
            self.progress.run(self._prefix(planned), brief=len(self.order) > BRIEF_FROM)
            first = planned is block[0]
            run = self._run(planned, up, first)
            began_s = time.monotonic()
            self._one(run, planned, up.evaluator)
            self._remaining.took(str(planned.variant), time.monotonic() - began_s)
            if run.seen.deaths:
                break
        self._settle(up.evaluator)

    def _prefix(self, planned: Planned) -> str:
        total, left = len(self.order), ""
        name = f"{planned.stage} {name_among(planned.variant, self.asked.variants)}".rstrip()
        if total > BRIEF_FROM:
            left = f", {in_words(self._left_s())} left"
        return f"run {planned.number}/{total} {name}{left}: "

    def _run(self, planned: Planned, up: Services, first: bool) -> Run:
        folder = self.folder.run(planned.number, planned.stage)
        self._write()
        attempts = 1 + sum(
            self._entry(planned)["path"] in told["runs"]
            for told in self.conditions["interruptions"]
        )
        plan = run_plan(self.asked, planned, folder, self.campaign_id, attempts)
        plan = replace(plan, beside=(up.evaluator.pid,))
        before_input = partial(self._settle, up.evaluator)
        if first:
            before_input = partial(rehearse, plan, up.runtime, up.cluster, self.progress)
        plan = replace(plan, before_input=before_input)
        return Run(plan, up.runtime, up.cluster, self.progress)

    def _entry(self, planned: Planned) -> dict[str, Any]:
        entry: dict[str, Any] = self.conditions["runs"][planned.number - 1]
        return entry

    def _one(self, run: Run, planned: Planned, evaluator: Evaluator) -> None:
        """Execute a run and have it evaluated, while the next one's engine starts if it can."""
        entry = self._entry(planned)
        entry["ended"] = "interrupted"
        run.execute()
        keep_broker_logs(run.runtime, run.plan.folder)
        self.progress.phase("evaluate")
        kept = self.home.store if self.conditions["store_kept"] else None
        evaluator.give(run_order(run.plan.folder, self.asked.store, self.campaign_id, kept))
        self._pending = (entry, run)

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
            self._died(entry, run.seen.deaths[0])
        elif entry["ended"] == "invalid" and len(self.order) > BRIEF_FROM:
            self._say(f"{entry['path']} is invalid: {_why(run.plan.folder)}")
        self._write()

    def _died(self, entry: dict[str, Any], death: dict[str, Any]) -> None:
        """A single look is over with a death; a series goes on, unless they keep dying."""
        tail = "\n  ".join(["its log ends:", *death["log_tail"]])
        says = f"{death['service']} died in run {entry['path']}: it {death['says']}; " + (
            tail if death["log_tail"] else "it had said nothing"
        )
        failed = sum(run["ended"] == "failed" for run in self.conditions["runs"])
        if self.asked.verb == "bench" or failed >= DEATHS_MAX:
            self.conditions["says"] = says
        else:
            self._say(says)

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
        unjudged = [r["path"] for r in self.conditions["runs"] if r["ended"] == "interrupted"]
        self._interrupted(unjudged, why)
        # what stands in it would not agree with what is said now
        self.folder.campaign_json.unlink(missing_ok=True)
        if self.folder.path.exists():
            self._write()
            self._say(f"logs, and what was measured so far, are kept in {self.folder.path}")
            if not self.asked.fresh:
                self._say("the same command goes on where this one stopped")

    def _interrupted(self, runs: list[str], says: str) -> None:
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self.conditions["interruptions"].append({"at": at, "runs": runs, "says": says})

    def _write(self) -> None:
        write_json(self.folder.conditions, self.conditions)


def _why(folder: RunFolder) -> str:
    """The sentence that weighs most against a run."""
    grave = (d["says"] for d in read_json(folder.run_json)["doubts"] if d["severity"] == "invalid")
    return str(next(grave, "it does not say why"))


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
