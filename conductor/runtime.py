"""What a runtime is: where the services of a campaign live, and how they are started and ended.

Two there are: `embedded` (plain processes of this machine, conductor/embedded.py) and `docker` (the
appliance, conductor/appliance/runtime.py). Programs and environment are the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from conductor.engine_choice import EngineChoice
from conductor.evaluating import Evaluator
from conductor.topics import Cluster
from contract.engine import EngineOrder


class Running(Protocol):
    """A service that was started: a process with its session, or a container."""

    name: str
    log: Path

    @property
    def pid(self) -> int:
        """The process by which its CPU time is told; 0 where this machine does not see it."""

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""

    def how_it_ended(self) -> str:
        """For a person: `ended with exit code 1`, and why where that is known."""

    def log_tail(self, lines: int = ...) -> list[str]:
        """The last lines it said."""

    def keep_log(self, folder: Path) -> None:
        """Have what it said so far in that folder."""

    def ask_to_stop(self) -> None:
        """SIGTERM."""

    def stop(self, grace_s: float) -> int | None:
        """Ask, wait, then end it; None: it did not end by itself."""

    def kill(self) -> None:
        """End it now; harmless when it is gone already."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How an engine answered to what it does not do."""

    #: None: it still ran when its time was up
    exit_code: int | None
    stderr: str


class Runtime(Protocol):
    """Starts services and ends every one of them."""

    name: str
    clock_broker: int
    #: publisher and clock share one machine, so due times and append times are comparable
    same_machine: bool
    scratch: Path
    #: the evidence that the monitor of this machine writes of services
    resources_file: str
    #: what a run has started beside brokers and evaluator
    run_children: list[Running]

    @property
    def bootstrap_servers(self) -> str:
        """How brokers are reached, from this machine as from any service."""

    @property
    def brokers(self) -> list[Running]:
        """The brokers that were started."""

    def start_brokers(self, count: int, number: int) -> None:
        """Have a cluster, and what else a campaign needs; does not wait for it."""

    def start_evaluator(self, log: Path) -> Evaluator:
        """Start the evaluator's program."""

    def wait_for_brokers(self, tick: Callable[[str], None]) -> Cluster:
        """A client of the cluster once all that was started answers."""

    def start_publisher(self, env: Mapping[str, str], log: Path) -> Running:
        """Start the publisher's program."""

    def start_engine(self, engine: EngineChoice, order: EngineOrder, log: Path) -> Running:
        """Start every service of the engine; the first one is the engine's own life."""

    def try_engine(self, engine: EngineChoice, env: Mapping[str, str], timeout_s: float) -> Refusal:
        """Start the engine's first service with that environment and see how it ends."""

    def dead(self) -> list[Running]:
        """Services that have ended though nobody asked them to."""

    def pids(self) -> dict[str, int]:
        """Service → process, of all that run and that this machine sees."""

    def watch_resources(self, evidence: Path) -> None:
        """From now on note what services use, if others do than the monitor of this machine."""

    def resource_facts(self) -> dict[str, Any]:
        """For conditions.json: limits, images, where resources are told."""

    def end_run(self) -> None:
        """End what the run started; brokers stay."""

    def end(self) -> None:
        """End everything."""
