"""The embedded runtime: brokers, publisher and engine as plain processes on this machine."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conductor.brokers import CLOCK_BROKER, EmbeddedBrokers, free_ports
from conductor.class_archives import archives_folder
from conductor.engine_choice import EngineChoice
from conductor.evaluating import Evaluator
from conductor.home import Home
from conductor.interrupts import held
from conductor.java import Java
from conductor.processes import Child, beside
from conductor.runtime import Refusal, Running
from conductor.topics import Cluster
from contract.class_archive import VARIABLE
from contract.engine import BUILD_DIR, EngineOrder, Place


class EmbeddedRuntime:
    """Starts services as plain processes and ends every one of them."""

    name = "embedded"
    clock_broker = CLOCK_BROKER
    #: publisher and clock share one machine, so due times and append times are comparable
    same_machine = True
    resources_file = "resources.jsonl"

    def __init__(
        self, home: Home, java: Java, scratch: Path, prepared: Mapping[Path, Path] | None = None
    ) -> None:
        """`prepared`: an engine's folder → what its preparation made."""
        self._prepared = prepared or {}
        self.home = home
        self.scratch = scratch
        self._classes = archives_folder(home, java)
        self._classes.mkdir(parents=True, exist_ok=True)
        self.env = home.environment(java, scratch) | {VARIABLE: str(self._classes)}
        self._java = java
        self._brokers: EmbeddedBrokers | None = None
        self.run_children: list[Running] = []

    def start_brokers(self, count: int, number: int) -> None:
        """Start a fresh cluster; its state and logs are below the scratch folder."""
        place = self.scratch / f"kafka-{number}"
        program = self.home.path / "images" / "kafka" / "entrypoint"
        jars = self.home.artifacts / "kafka"
        self._brokers = EmbeddedBrokers(
            count, place / "state", place / "logs", program, jars, self._java, self._classes
        )
        self._brokers.start()

    def wait_for_brokers(self, tick: Callable[[str], None]) -> Cluster:
        """A client of the cluster once every broker is in it."""
        assert self._brokers is not None
        return self._brokers.wait_until_ready(tick)

    @property
    def bootstrap_servers(self) -> str:
        assert self._brokers is not None
        return self._brokers.bootstrap_servers

    @property
    def brokers(self) -> list[Running]:
        return list(self._brokers.children) if self._brokers else []

    def start_evaluator(self, log: Path) -> Evaluator:
        """Start the evaluator's program."""
        command = [sys.executable, "-m", "evaluator", "serve"]
        with held():
            child = Child("evaluator", command, self.env, log, cwd=self.scratch, pipes=True)
            return Evaluator(child)

    def start_publisher(self, env: Mapping[str, str], log: Path) -> Running:
        """Start the publisher's program."""
        command = [sys.executable, "-m", "publisher"]
        return self._start("publisher", command, env, log, self.scratch)

    def start_engine(self, engine: EngineChoice, order: EngineOrder, log: Path) -> Running:
        """Start every service of the engine; the first one is the engine's own life."""
        folder, spec = engine.folder, engine.spec
        started = []
        services = spec.started(order.engine_settings, order.instances)
        ports = iter(free_ports(sum(count for _, count in services)))
        peers = {
            service.name: tuple(f"127.0.0.1:{next(ports)}" for _ in range(count))
            for service, count in services
        }
        for service, count in services:
            for instance in range(1, count + 1):
                name = service.name if instance == 1 else f"{service.name}-{instance}"
                command = [beside(folder, service.command[0]), *service.command[1:]]
                path = log.with_name(f"engine-{name}.log")
                place = Place(service.name, instance, peers)
                env = self._made(engine) | order.to_environment() | place.to_environment()
                started.append(self._start(name, command, env, path, folder))
        return started[0]

    def try_engine(self, engine: EngineChoice, env: Mapping[str, str], timeout_s: float) -> Refusal:
        """Start the engine's first service with that environment and see how it ends."""
        folder, spec = engine.folder, engine.spec
        program, *arguments = spec.services[0].command
        command = [beside(folder, program), *arguments]
        log = self.scratch / f"refusal-{secrets.token_hex(4)}.log"
        place = Place(spec.services[0].name, 1, {spec.services[0].name: ("127.0.0.1:0",)})
        env = {**self.env, **self._made(engine), **env, **place.to_environment()}
        with held():
            child = Child(spec.services[0].name, command, env, log, cwd=folder, stdout=False)
        try:
            code = child.wait(timeout_s)
        finally:
            child.kill()
        return Refusal(code, log.read_text(encoding="utf-8", errors="replace"))

    def _made(self, engine: EngineChoice) -> dict[str, str]:
        """Where it finds what its preparation made."""
        made = self._prepared.get(engine.folder)
        return {} if made is None else {BUILD_DIR: str(made)}

    def _start(
        self, name: str, command: list[str], env: Mapping[str, str], log: Path, cwd: Path
    ) -> Child:
        with held():
            child = Child(name, command, {**self.env, **env}, log, cwd=cwd)
            self.run_children.append(child)
        return child

    def dead(self) -> list[Running]:
        """Services that have ended though nobody asked them to."""
        return [c for c in [*self.brokers, *self.run_children] if c.exit_code() is not None]

    def pids(self) -> dict[str, int]:
        """Service → process, of all that run."""
        children = [*self.brokers, *self.run_children]
        return {c.name: c.pid for c in children if c.exit_code() is None}

    def watch_resources(self, evidence: Path) -> None:
        """The monitor of this machine sees all of them."""

    def resource_facts(self) -> dict[str, Any]:
        """Processes have no limits."""
        return {"limits": None, "images": None, "monitoring_source": None}

    def end_run(self) -> None:
        """End what the run started; brokers stay."""
        # the last first: nobody is to complain of who went before
        for child in reversed(self.run_children):
            child.kill()
        self.run_children = []

    def end_brokers(self) -> None:
        """End the cluster; its state is of no use afterwards."""
        if self._brokers is not None:
            self._brokers.stop()
            self._brokers = None

    def end(self) -> None:
        """End everything."""
        self.end_run()
        self.end_brokers()
