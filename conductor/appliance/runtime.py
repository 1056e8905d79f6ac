"""The docker runtime: brokers, storage, monitoring, publisher, engine, evaluator in containers."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from conductor.appliance.answers import influxdb_is_ready, namenode_is_ready
from conductor.appliance.building import docker_program
from conductor.appliance.compose import Compose, engine_environment
from conductor.appliance.containers import Container
from conductor.appliance.docker_containers import SERVICE_LABEL as COMPOSE_SERVICE
from conductor.appliance.docker_containers import stderr_of
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.project import (
    BROKERS,
    CLUSTER,
    DATANODES,
    EVALUATOR,
    INFLUXDB,
    MONITORING,
    NAMENODE,
    NETWORKS,
    STORAGE,
    subnets_of,
)
from conductor.appliance.record import Record
from conductor.appliance.run_file import (
    bind,
    compose_file,
    engine_containers,
    publisher_service,
    refusing_container,
)
from conductor.appliance.sizing import Sizes
from conductor.appliance.statistics import StandIn
from conductor.appliance.users import give_back, passwd_text, run_user, share
from conductor.brokers import CLOCK_BROKER, check_brokers, kafka_id, wait_for_cluster
from conductor.engine_choice import EngineChoice
from conductor.evaluating import Evaluator
from conductor.interrupts import held
from conductor.processes import Child
from conductor.runtime import Refusal, Running
from conductor.topics import Cluster
from contract.engine import EngineOrder
from contract.errors import ServiceFailed

READY_S_MAX = 120.0
DAEMONS = ("dockerd", "containerd")
ENGINE_ROLE = "engine "


@dataclass(frozen=True, slots=True)
class Appliance:
    """What the docker runtime is made of: asked for, built and sized."""

    project: str
    compose_folder: Path
    #: kafka, hadoop, influxdb, cadvisor, tollgate, and `engine_role` of each engine → tag
    images: Mapping[str, str]
    sizes: Sizes
    #: whether the cluster was there before, and stays
    kept: bool = False
    #: a folder that topics are collected to, where that is not HDFS
    store: Path | None = None


class DockerRuntime:
    """Starts services as containers of one project and takes every one of them away."""

    name = "docker"
    clock_broker = CLOCK_BROKER
    #: all containers of an engine are told the time by one kernel
    same_machine = True
    resources_file = "processes.jsonl"

    def __init__(
        self, engine: DockerEngine, appliance: Appliance, folder: Path, scratch: Path
    ) -> None:
        self.scratch = scratch
        self.run_children: list[Running] = []
        self._engine, self._appliance, self._folder = engine, appliance, folder
        self._subnets = subnets_of(engine, appliance.project)
        self._ends = engine.ends(appliance.project)
        #: what stays if the cluster is kept
        self._cluster: tuple[str, ...] = CLUSTER
        self._brokers: list[Container] = []
        self._aides: list[Container] = []
        self._evaluator: Container | None = None
        self._stand_in: StandIn | None = None
        self._record = Record(engine, folder / "logs")
        #: services of the run before, which it tells of when it is over
        self._over: list[str] = []
        #: who does containers' work: not the services', but not a stranger's either
        self._daemons = daemons()
        #: given back at the end
        self._shared = [folder, folder.parent / "store" / folder.name]
        if appliance.store is not None:
            self._shared.append(appliance.store / folder.name)
        for each in (*self._shared, scratch):
            share(each)
        (scratch / "passwd").write_text(passwd_text(), encoding="utf-8")

    # the campaign's services

    def start_brokers(self, count: int, number: int) -> None:
        """Have brokers, storage and monitoring; what `make up` keeps is taken as it is."""
        names = [f"broker-{n}" for n in range(1, count + 1)]
        self._compose = Compose(
            self._appliance.project,
            self._appliance.compose_folder,
            self._environment(count),
            self.scratch / "compose.log",
        )
        cluster = self._cluster = (*names, *STORAGE, *MONITORING)
        # what a campaign that was killed left would be taken for ours
        if self._appliance.kept:
            self._engine.remove_containers(self._appliance.project, cluster)
        else:
            self._engine.take_down(self._appliance.project)
            self._compose.up(cluster)
        logs = self.scratch / f"appliance-{number}"
        there = self._by_service()
        for name in cluster:
            if name not in there:
                raise ServiceFailed(f"there is no container of {name}, though it was started")
            container = Container(name, there[name], self._ends, logs / f"{name}.log")
            (self._brokers if name in names else self._aides).append(container)
            self._record.note(name, there[name])

    def wait_for_brokers(self, tick: Callable[[str], None]) -> Cluster:
        """A client of the cluster once brokers, storage and monitoring answer."""
        self._wait_for_aides(tick)
        return wait_for_cluster(
            self.bootstrap_servers,
            len(self._brokers),
            lambda: check_brokers(self._brokers),
            tick,
        )

    def _wait_for_aides(self, tick: Callable[[str], None]) -> None:
        asking: dict[str, Callable[[], bool]] = {
            "namenode": lambda: namenode_is_ready(self._address(NAMENODE, "judge"), DATANODES),
            "influxdb": lambda: influxdb_is_ready(self._address(INFLUXDB, "judge")),
        }
        for name, answers in asking.items():
            aide = next(c for c in self._aides if c.name == name)
            deadline = time.monotonic() + READY_S_MAX
            while not answers():
                tick(f"until {name} answers")
                if aide.exit_code() is not None or time.monotonic() > deadline:
                    how = aide.how_it_ended() if aide.exit_code() is not None else "did not answer"
                    tail = "\n  ".join(aide.log_tail(6))
                    raise ServiceFailed(f"{name} {how}; its log ends:\n  {tail}")
                time.sleep(0.25)

    def start_evaluator(self, log: Path) -> Evaluator:
        """Create its container, then start it with this process at its stdin."""
        share(log.parent)
        more = None
        if (store := self._appliance.store) is not None:
            more = self._run_file({"evaluator": {"volumes": [bind(store)]}})
        self._compose.create(["evaluator"], more)
        container = self._by_service()["evaluator"]
        # docker-compose 1.29 would do so at its own start of it
        project = self._appliance.project
        addresses = {f"{project}_{name}": self._address(EVALUATOR, name) for name in NETWORKS}
        self._engine.attach(container, addresses)
        docker = docker_program().program
        command = [docker, "start", "--attach", "--interactive", container.id]
        with held():
            child = Child("evaluator", command, engine_environment(os.environ), log, pipes=True)
        deadline = time.monotonic() + READY_S_MAX
        while True:
            container.reload()
            if container.attrs["State"]["Status"] != "created":
                break
            if child.exit_code() is not None or time.monotonic() > deadline:
                child.kill()
                tail = "\n  ".join(child.log_tail(6))
                raise ServiceFailed(f"the evaluator's container did not start:\n  {tail}")
            time.sleep(0.05)
        self._evaluator = Container("evaluator", container, self._ends, log)
        self._record.note("evaluator", container)
        return Evaluator(child, self._evaluator.pid, self._evaluator.how_it_ended)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(
            f"{self._address(BROKERS + n)}:9092" for n in range(1, len(self._brokers) + 1)
        )

    @property
    def brokers(self) -> list[Running]:
        return list(self._brokers)

    # a run's services

    def start_publisher(self, env: Mapping[str, str], log: Path) -> Running:
        """Start the publisher's program."""
        share(Path(env["EVIDENCE_DIR"]))
        file = self._run_file({"publisher": publisher_service(env)})
        return self._start([("publisher", "publisher")], file, log.parent, "")[0]

    def start_engine(self, engine: EngineChoice, order: EngineOrder, log: Path) -> Running:
        """Start every service of the engine; what image it is was settled before."""
        Path(order.state_dir).chmod(0o777)
        containers = engine_containers(
            self._appliance.images[engine_role(engine)],
            engine.spec,
            order,
            self._appliance.sizes.of["engine"],
            self._subnets["bench"],
        )
        file = self._run_file({c.service: c.definition for c in containers})
        names = [(c.service, c.name) for c in containers]
        return self._start(names, file, log.parent, "engine-")[0]

    def try_engine(self, engine: EngineChoice, env: Mapping[str, str], timeout_s: float) -> Refusal:
        """Start the engine's first service with that environment and see how it ends."""
        image = self._appliance.images[engine_role(engine)]
        size = self._appliance.sizes.of["engine"]
        refusing = refusing_container(image, engine.spec, env, size)
        file = self._run_file({refusing.service: refusing.definition})
        logs = self.scratch / "refusals"
        (running,) = self._start([(refusing.service, "refusal")], file, logs, "")
        assert isinstance(running, Container)
        try:
            code = running.wait(timeout_s)
            return Refusal(code, stderr_of(running.container))
        finally:
            self.run_children.remove(running)
            running.kill()

    def _run_file(self, services: dict[str, dict[str, Any]]) -> Path:
        path = self.scratch / f"compose-{secrets.token_hex(4)}.json"
        path.write_text(json.dumps(compose_file(services), indent=1), encoding="utf-8")
        return path

    def _start(
        self, names: list[tuple[str, str]], file: Path, logs: Path, prefix: str
    ) -> list[Running]:
        """Services as compose knows them, and as the run does."""
        share(logs)
        with held():
            self._compose.up([service for service, _ in names], file)
            there = self._by_service()
            started: list[Running] = []
            for service, name in names:
                log = logs / f"{prefix}{name}.log"
                started.append(Container(name, there[service], self._ends, log))
                self._record.note(name, there[service])
            self.run_children += started
        return started

    def dead(self) -> list[Running]:
        """Brokers, engine, publisher that have ended though nobody asked them to."""
        # without the NameNode nothing can be judged; what else of storage and monitoring dies is
        # made up for
        namenode = [aide for aide in self._aides if aide.name == "namenode"]
        running: list[Running] = [*self._brokers, *namenode, *self.run_children]
        return [each for each in running if each.exit_code() is not None]

    def pids(self) -> dict[str, int]:
        """Service → process, of all that run, where they are processes of this machine."""
        running: list[Running] = [*self._brokers, *self._aides, *self.run_children]
        pids = {c.name: c.pid for c in running if c.pid and c.exit_code() is None}
        return pids | self._daemons

    def watch_resources(self, evidence: Path) -> None:
        """Let the engine's own statistics be noted, in case that cAdvisor misses somebody."""
        self._record.forget(self._over)
        self._over = []

        def containers() -> dict[str, Any]:
            running = [*self._brokers, *self._aides, *self.run_children]
            return {c.name: c.container for c in running if isinstance(c, Container)}

        self._stand_in = StandIn(self._engine, evidence, containers)

    def resource_facts(self) -> dict[str, Any]:
        """Limits and images of every service, and where cAdvisor's figures are."""
        return {
            "limits": self._record.limits,
            "images": self._record.images,
            "monitoring_source": {
                "url": f"http://{self._address(INFLUXDB, 'judge')}:8086",
                "database": "cadvisor",
                "services": sorted(set(self._record.images) - {"evaluator", "refusal"}),
            },
        }

    def end_run(self) -> None:
        """End what the run started; brokers stay."""
        children, self.run_children = self.run_children, []
        self._over += [child.name for child in children]
        stand_in, self._stand_in = self._stand_in, None
        # each goes though another's end failed
        with ExitStack() as ends:
            # the last first: nobody is to complain of who went before
            for running in children:
                ends.callback(running.kill)
            if stand_in is not None:
                ends.callback(stand_in.stop)

    def end(self) -> None:
        """Take everything away but what `make up` keeps; give files back to their owner."""
        with ExitStack() as ends:
            ends.callback(self._engine.close)
            for folder in self._shared:
                ends.callback(give_back, folder)
            ends.callback(self._empty_state)
            ends.callback(self._ends.close)
            project = self._appliance.project
            if self._appliance.kept:
                ends.callback(self._engine.remove_containers, project, self._cluster)
            else:
                ends.callback(self._engine.take_down, project)
            ends.callback(self._keep_logs_of_the_dead)
            ends.callback(self.end_run)

    def _empty_state(self) -> None:
        """What engines wrote belongs to their users; only root can remove it."""
        state = self.scratch / "state"
        if os.geteuid() != 0 and state.exists():
            self._engine.empty_folder(self._appliance.images["tollgate"], state)

    def _keep_logs_of_the_dead(self) -> None:
        for aide in self._aides:
            if aide.exit_code() is not None:
                aide.keep_log(self._folder / "logs")

    def leave(self) -> None:
        """Leave all that was started running."""
        self._ends.close()
        self._engine.close()

    # what all of that needs

    def _address(self, last: int, network: str = "bench") -> str:
        return f"{self._subnets[network]}.{last}"

    def _by_service(self) -> dict[str, Any]:
        """Compose service → its container."""
        found = self._engine.containers(self._appliance.project)
        return {c.labels.get(COMPOSE_SERVICE, ""): c for c in found}

    def _environment(self, brokers: int) -> dict[str, str]:
        images = {
            f"{name.upper()}_IMAGE": tag
            for name, tag in self._appliance.images.items()
            if not name.startswith(ENGINE_ROLE)
        }
        return {
            # a cluster that is kept has no evaluator yet, and compose v2 wants an image of everyone
            "TOLLGATE_IMAGE": "none",
            **images,
            **self._appliance.sizes.environment(),
            "SUBNET": self._subnets["bench"],
            "JUDGE_SUBNET": self._subnets["judge"],
            "BROKERS": str(brokers),
            "CLUSTER_ID": cluster_id(self._appliance.project),
            "PROJECT": self._appliance.project,
            "DOCKER_ROOT": str(self._engine.root),
            "RUN_USER": run_user(),
            "RESULTS": str(self._folder.parent),
            "SCRATCH": str(self.scratch),
        }


def engine_role(engine: EngineChoice) -> str:
    """What an engine's image is known by among the appliance's."""
    return f"{ENGINE_ROLE}{engine.spec.name}"


def cluster_id(project: str) -> str:
    """Kafka's name of the cluster: the same for all its brokers."""
    return kafka_id(hashlib.sha256(project.encode()).digest()[:16])


def daemons() -> dict[str, int]:
    """The processes of the Docker engine itself."""
    found: dict[str, int] = {}
    for process in psutil.process_iter(["name"]):
        if process.info["name"] in DAEMONS:
            found.setdefault(process.info["name"], process.pid)
    return found
