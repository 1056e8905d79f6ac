"""The embedded runtime: brokers, publisher and engine as plain processes on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from conductor.brokers import CLOCK_BROKER, EmbeddedBrokers
from conductor.class_archives import archives_folder
from conductor.home import Home
from conductor.interrupts import held
from conductor.java import Java
from conductor.processes import Child, stop_all
from conductor.topics import Cluster
from contract.class_archive import VARIABLE
from contract.engine import STOP_S_MAX, EngineOrder, EngineSpec


class EmbeddedRuntime:
    """Starts services as plain processes and ends every one of them."""

    name = "embedded"
    clock_broker = CLOCK_BROKER
    #: publisher and clock share one machine, so due times and append times are comparable
    same_machine = True

    def __init__(self, home: Home, java: Java, scratch: Path) -> None:
        self.home = home
        self.scratch = scratch
        self._classes = archives_folder(home, java)
        self._classes.mkdir(parents=True, exist_ok=True)
        self.env = home.environment(java, scratch) | {VARIABLE: str(self._classes)}
        self._java = java
        self._brokers: EmbeddedBrokers | None = None
        self.run_children: list[Child] = []

    def start_brokers(self, count: int, number: int) -> None:
        """Start a fresh cluster; its state and logs are below the scratch folder."""
        place = self.scratch / f"kafka-{number}"
        jars = self.home.artifacts / "kafka"
        self._brokers = EmbeddedBrokers(
            count, place / "state", place / "logs", jars, self._java, self._classes
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
    def brokers(self) -> list[Child]:
        return self._brokers.children if self._brokers else []

    def start_publisher(self, env: Mapping[str, str], log: Path) -> Child:
        """Start the publisher's program."""
        command = [sys.executable, "-m", "publisher"]
        return self._start("publisher", command, env, log, self.scratch)

    def start_engine(self, folder: Path, spec: EngineSpec, order: EngineOrder, log: Path) -> Child:
        """Start every service of the engine; the first one is the engine's own life."""
        started = []
        for service in spec.services:
            for instance in range(service.instances):
                name = service.name if instance == 0 else f"{service.name}-{instance + 1}"
                command = [beside(folder, service.command[0]), *service.command[1:]]
                path = log.with_name(f"engine-{name}.log")
                started.append(self._start(name, command, order.to_environment(), path, folder))
        return started[0]

    def _start(
        self, name: str, command: list[str], env: Mapping[str, str], log: Path, cwd: Path
    ) -> Child:
        with held():
            child = Child(name, command, {**self.env, **env}, log, cwd=cwd)
            self.run_children.append(child)
        return child

    def dead(self) -> list[Child]:
        """Services that have ended though nobody asked them to."""
        return [c for c in [*self.brokers, *self.run_children] if c.exit_code() is not None]

    def pids(self) -> dict[str, int]:
        """Service → process, of all that run."""
        children = [*self.brokers, *self.run_children]
        return {c.name: c.pid for c in children if c.exit_code() is None}

    def end_run(self) -> None:
        """End what the run started; brokers stay."""
        stop_all(self.run_children, 0)
        self.run_children = []

    def stop_engine(self, engine: Child) -> int | None:
        """SIGTERM, the contract's patience, then the end. None: it had to be killed."""
        return engine.stop(STOP_S_MAX)

    def end_brokers(self) -> None:
        """End the cluster; its state is of no use afterwards."""
        if self._brokers is not None:
            self._brokers.stop()
            self._brokers = None

    def end(self) -> None:
        """End everything."""
        self.end_run()
        self.end_brokers()


def beside(folder: Path, program: str) -> str:
    """A program of an engine: in its folder where it says `./`, otherwise on the path."""
    return str(folder / program) if program.startswith("./") else program
