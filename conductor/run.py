"""One run: brokers are up; start engine and publisher, warm up, measure, drain, stop, testify."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from conductor.conditions import Seen, conditions_of
from conductor.interrupts import held
from conductor.monitor import Monitor, ProcessTree, cores_of
from conductor.progress import Progress
from conductor.run_plan import RunPlan
from conductor.runtime import Running, Runtime
from conductor.topics import Cluster
from conductor.watch import Watch
from contract.engine import STOP_S_MAX, Topics
from contract.errors import ServiceDied, ServiceFailed, TookTooLong
from contract.results import read_json, write_json
from contract.workload import load_workload

READY_S_MAX = 120.0
START_S_MAX = 60.0
DRAIN_S_MAX = 40.0
PUBLISHER_STOP_S_MAX = 30.0
#: an engine that has started and waits for input is idle: there is no better sign. One that asks
#: for input without pause (micro-batches) takes 0.2 to 0.45 of a core, one that starts over 1
IDLE_CORES = 0.5
IDLE_LOOKS = 2
#: so long is waited for that, and for brokers and evaluator to come to rest
IDLE_WAIT_S_MAX = 30.0
POLL_S = 0.5
#: a failed request to a broker may be seen before the broker is seen to be dead
DEATH_S_MAX = 2.0


class Run:
    """The choreography of one run on brokers that are up."""

    drain_s_max = DRAIN_S_MAX

    def __init__(
        self, plan: RunPlan, runtime: Runtime, cluster: Cluster, progress: Progress
    ) -> None:
        self.plan, self.runtime, self.cluster, self.progress = plan, runtime, cluster, progress
        kinds = load_workload(plan.settings.workload).kinds
        self.topics = Topics.of(plan.run_id, kinds)
        self.seen = Seen()
        self._watch = Watch(cluster, self.topics, plan.settings, self.seen, plan.owed)
        self._monitor = Monitor(
            plan.folder.evidence, runtime.scratch, runtime.pids, runtime.resources_file
        )
        self._began_ms = round(time.time() * 1000)
        self._engine: Running | None = None
        self._engine_services: list[str] = []
        self._publisher: Running | None = None

    def execute(self) -> None:
        """Run to the end, or to the first death; the testimony is written in either case."""
        self._guarded(
            [
                ("set_up", self.set_up),
                ("start", self.start),
                ("start", self.wait_until_ready),
                ("warm_up", self.warm_up),
                ("measure", self.measure),
                ("drain", self.finish),
            ]
        )

    def _guarded(self, phases: list[tuple[str, Callable[[], None]]]) -> None:
        try:
            for name, work in phases:
                self._timed(name, work)
        except ServiceFailed:
            # What failed may be the first that is seen of a death.
            self._note_deaths()
            if not self.seen.deaths:
                raise
        except KeyboardInterrupt:
            self.seen.interrupted = True
            raise
        finally:
            with held():
                self._monitor.stop()
                self.runtime.end_run()
                self.testify()
                # a publisher that was ended at once leaves the accounts that it had begun
                for begun in self.plan.folder.evidence.glob(".publisher-*"):
                    begun.unlink()

    def _timed(self, phase: str, work: Callable[[], None]) -> None:
        start = time.monotonic()
        try:
            work()
        finally:
            spent = time.monotonic() - start
            self.seen.phases_s[phase] = self.seen.phases_s.get(phase, 0.0) + spent

    def set_up(self) -> None:
        """Fresh topics, looked at."""
        self.progress.phase("set-up: topics")
        settings, clock = self.plan.settings, self.runtime.clock_broker
        self.cluster.create(
            self.topics.all, settings.partitions, settings.replication, settings.brokers, clock
        )
        self.seen.leaders_before = self.cluster.leaders(self.topics.all)
        self.seen.types_before = self.cluster.timestamp_types(self.topics.all)

    def start(self) -> None:
        """Start engine and publisher; the first record's due time is known afterwards."""
        self.progress.phase(f"start: {self.plan.spec.name}, publisher")
        self._monitor.start()
        self.runtime.watch_resources(self.plan.folder.evidence)
        if self.plan.backlog:
            self._prepare_publisher()
            self._begin_input()
            self._wait(self._backlog_is_there, START_S_MAX, "the backlog to be there")
        engine = self._start_engine()
        if not self.plan.backlog:
            self.plan.before_input()
            self._prepare_publisher()
            self._wait_until_idle(engine)
            self._begin_input()

    def _start_engine(self) -> Running:
        state = self.runtime.scratch / "state" / self.plan.run_id
        state.mkdir(parents=True)
        self._engine = self.runtime.start_engine(
            self.plan.engine,
            self.plan.engine_order(self.runtime.bootstrap_servers, self.topics, str(state)),
            self.plan.folder.logs / "engine.log",
        )
        theirs = [child for child in self.runtime.run_children if child is not self._publisher]
        self._engine_services = [child.name for child in theirs]
        return self._engine

    def _prepare_publisher(self) -> None:
        """Start it, and have it wait: it is ready by the time that the engine is."""
        log = self.plan.folder.logs / "publisher.log"
        bound_s = READY_S_MAX + self.plan.settings.fed_s + 60
        env = self.plan.publisher_environment(self.runtime.bootstrap_servers, self.topics, bound_s)
        env["GO_FILE"] = str(self.plan.go_file)
        self._publisher = self.runtime.start_publisher(env, log)

    def _begin_input(self) -> None:
        self.plan.go_file.touch()
        started = self.plan.folder.evidence / "publisher-started.json"
        self._wait(started.exists, START_S_MAX, "the publisher to start")
        facts = read_json(started)
        self.seen.first_due_ms = float(facts["first_due_ms"])
        self.seen.event_start_s = int(facts["event_start_s"])
        self.seen.slot_ms = float(facts["slot_ms"])

    def _backlog_is_there(self) -> bool:
        self._watch.count()
        return self.seen.progress[-1]["inputs"] >= self.plan.backlog

    def _wait_until_idle(self, engine: Running) -> None:
        """Until the engine has started, and all others have done what they were at."""
        others = [pid for pid in self.runtime.pids().values() if pid != engine.pid]
        groups = {
            "engine": [ProcessTree(engine.pid)],
            "all others": [ProcessTree(pid) for pid in [*others, *self.plan.beside]],
        }
        deadline = time.monotonic() + IDLE_WAIT_S_MAX
        quiet = 0
        while quiet < IDLE_LOOKS and time.monotonic() < deadline:
            self._check()
            cores = cores_of(list(groups.values()), POLL_S, time.sleep)
            said = (f"{name} {used:.2f}" for name, used in zip(groups, cores, strict=True))
            self.progress.tick(f"until all is idle: {', '.join(said)} cores")
            quiet = quiet + 1 if max(cores) < IDLE_CORES else 0

    def wait_until_ready(self) -> None:
        """Until the newest output keeps up with what is due."""
        self.progress.phase("start: until the engine keeps up")
        watch = self._watch

        def keeps_up() -> bool:
            ready = watch.keeps_up()
            self.progress.tick(
                f"newest outputs of slots {watch.newest or 'none'}, due {watch.due_slot()}"
            )
            return ready

        try:
            self._wait(keeps_up, READY_S_MAX, "the engine to keep up")
        except TookTooLong:
            newest = watch.newest
            seen = f"newest outputs of slots {newest}" if newest else "no output at all"
            self.seen.never_ready = (
                f"the engine did not keep up within {READY_S_MAX:.0f} s: {seen}, "
                f"while slot {watch.due_slot()} was due"
            )
            return
        self.seen.ready = {"at_ms": round(time.time() * 1000), "slot": watch.due_slot()}

    def warm_up(self) -> None:
        """Let warm-up pass; the measured window is fixed at its start."""
        if self.seen.ready is None:
            return
        settings = self.plan.settings
        first = int(self.seen.ready["slot"]) + 1 + settings.warmup_slots
        self.seen.window = {"first_slot": first, "last_slot": first + settings.duration_slots - 1}
        self.progress.phase("warm-up", settings.warmup_s)
        self._pass_time_until(first)

    def measure(self) -> None:
        """Let the measured window and the cool-down pass."""
        if self.seen.window is None:
            return
        settings = self.plan.settings
        self.progress.phase("measure", settings.duration_s)
        end = self.seen.window["last_slot"] + 1
        self._pass_time_until(end)
        self.progress.phase("cool-down", settings.cooldown_s)
        # asked amid the last slot, the publisher ends with it
        self._pass_time_until(end + max(0.0, settings.cooldown_slots - 0.5))

    def _pass_time_until(self, slot: float) -> None:
        until_ms = self.seen.first_due_ms + slot * self.seen.slot_ms
        while (left_s := until_ms / 1000 - time.time()) > 0:
            self._check()
            self._show_rates(f"{left_s:4.0f} s left  ")
            time.sleep(min(POLL_S * 2, max(0.0, left_s)))

    def _show_rates(self, before: str = "") -> None:
        inputs, outputs = self._watch.count()
        self.progress.tick(f"{before}{inputs:,.0f} in/s  {outputs:,} outputs")

    def finish(self) -> None:
        """Stop the publisher, let the outputs come to rest, look again, stop the engine."""
        assert self._publisher is not None and self._engine is not None
        self.progress.phase("drain")
        if self._publisher in self.runtime.run_children:
            self._publisher.ask_to_stop()
            self.wait_for_publisher()
        self.drain()
        self.seen.leaders_after = self.cluster.leaders(self.topics.all)
        self.seen.types_after = self.cluster.timestamp_types(self.topics.all)
        self._monitor.stop()
        code = self._engine.stop(STOP_S_MAX)
        if code != 0:
            self.seen.engine_stop = "killed" if code is None else f"exit code {code}"

    def wait_for_publisher(self, timeout_s: float = PUBLISHER_STOP_S_MAX) -> None:
        """Until the publisher has ended by itself."""
        publisher = self._publisher
        assert publisher is not None

        def has_ended() -> bool:
            self._show_rates()
            return publisher.exit_code() is not None

        self._wait(has_ended, timeout_s, "the publisher to end", [publisher])
        if publisher.exit_code() != 0:
            raise ServiceDied(f"the publisher ended with exit code {publisher.exit_code()}")
        self.runtime.run_children.remove(publisher)
        publisher.kill()

    def drain(self) -> None:
        """Until the window's outputs are there and no more come."""
        target = self.seen.window["last_slot"] if self.seen.window else None
        last = self._last_slot()
        deadline = time.monotonic() + self.drain_s_max
        while time.monotonic() < deadline:
            self._check()
            if self._watch.at_rest(target, last):
                self.seen.drained = True
                return
            self.progress.tick(f"no new output for {self._watch.quiet_s():.1f} s")
            time.sleep(POLL_S / 2)
        self.seen.drain_says = (
            f"{self.drain_s_max:.0f} s after the last input the newest outputs were of slots "
            f"{self._watch.newest or 'none'}, and slot {target} was still owed or outputs "
            "still came"
        )

    def _wait(
        self,
        done: Callable[[], bool],
        timeout_s: float,
        what: str,
        may_end: list[Running] | None = None,
    ) -> None:
        deadline = time.monotonic() + timeout_s
        while not done():
            self._check(may_end)
            if time.monotonic() > deadline:
                raise TookTooLong(f"waited {timeout_s:.0f} s for {what}")
            time.sleep(POLL_S / 2)

    def _check(self, may_end: list[Running] | None = None) -> None:
        for child in self.runtime.dead():
            if child not in (may_end or []):
                raise ServiceDied(f"{child.name} {child.how_it_ended()}")

    def _note_deaths(self) -> None:
        deadline = time.monotonic() + DEATH_S_MAX
        while not (dead := self.runtime.dead()) and time.monotonic() < deadline:
            time.sleep(POLL_S / 2)
        for child in dead:
            self.seen.deaths.append(
                {
                    "service": child.name,
                    "exit_code": child.exit_code(),
                    "says": child.how_it_ended(),
                    "log_tail": child.log_tail(),
                }
            )

    def _last_slot(self) -> int | None:
        """The last one that was published, once the publisher has told."""
        sent = self.plan.folder.evidence / "publisher.json"
        return int(read_json(sent)["last_slot"]) if sent.exists() else None

    def testify(self) -> None:
        """Write what the conductor saw."""
        self.seen.clock_step_ms = self._monitor.clock_step_ms
        self.seen.monitoring = self._monitor.samples > 0
        folder = self.plan.folder
        lines = "".join(f"{json.dumps(row)}\n" for row in self.seen.progress)
        folder.evidence.mkdir(parents=True, exist_ok=True)
        (folder.evidence / "progress.jsonl").write_text(lines, encoding="utf-8")
        facts: dict[str, Any] = {
            "run_id": self.plan.run_id,
            "bootstrap_servers": self.runtime.bootstrap_servers,
            "clock_broker": self.runtime.clock_broker,
            "same_machine": self.runtime.same_machine,
            "engine_services": self._engine_services,
            "observed_ms": {"from": self._began_ms, "to": round(time.time() * 1000)},
            **self.runtime.resource_facts(),
        }
        facts["last_slot"] = self._last_slot()
        value = conditions_of(
            facts, self.plan.settings, self.plan.spec, self.plan.execution, self.topics, self.seen
        )
        write_json(folder.conditions, value)
