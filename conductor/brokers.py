"""Kafka brokers as plain processes on loopback: the embedded runtime's cluster."""

from __future__ import annotations

import base64
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conductor.interrupts import held
from conductor.java import Java
from conductor.processes import Child
from conductor.topics import Cluster
from contract.class_archive import VARIABLE, class_archive_options, note_class_path
from contract.errors import EnvironmentLacking, ServiceFailed

READY_S_MAX = 90
HEAP_MB = 384
#: the broker that leads every measured partition, and the cluster's only controller
CLOCK_BROKER = 1

_LOG4J = """status = warn
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""


@dataclass(frozen=True, slots=True)
class BrokerPlan:
    """One broker's number and ports."""

    number: int
    port: int


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody held a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    except OSError as error:
        raise EnvironmentLacking(f"no free port on loopback: {error}") from None
    finally:
        for each in sockets:
            each.close()


def broker_properties(plan: BrokerPlan, controller_port: int, brokers: int, state: Path) -> str:
    """server.properties of one broker. Why each value: docs/decisions/0005-brokers.md."""
    is_controller = plan.number == CLOCK_BROKER
    replication = min(3, brokers)
    listeners = [f"PLAINTEXT://127.0.0.1:{plan.port}"]
    if is_controller:
        listeners.append(f"CONTROLLER://127.0.0.1:{controller_port}")
    values = {
        "process.roles": "broker,controller" if is_controller else "broker",
        "node.id": plan.number,
        "controller.quorum.voters": f"{CLOCK_BROKER}@127.0.0.1:{controller_port}",
        "listeners": ",".join(listeners),
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plan.port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": state,
        "auto.create.topics.enable": "false",
        "auto.leader.rebalance.enable": "false",
        "unclean.leader.election.enable": "false",
        "default.replication.factor": replication,
        "min.insync.replicas": max(1, replication - 1),
        "offsets.topic.replication.factor": replication,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": max(1, replication - 1),
        "transaction.state.log.num.partitions": 1,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "num.replica.fetchers": 1,
        "log.retention.check.interval.ms": 3_600_000,
        "log.segment.delete.delay.ms": 3_600_000,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


class EmbeddedBrokers:
    """A KRaft cluster of plain processes; state and logs below two folders that are given."""

    def __init__(
        self, count: int, home: Path, logs: Path, jars: Path, java: Java, classes: Path
    ) -> None:
        ports = free_ports(count + 1)
        self._controller_port = ports[-1]
        self._plans = [BrokerPlan(i + 1, port) for i, port in enumerate(ports[:count])]
        self._home, self._logs, self._java = home, logs, java
        self._class_path = f"{jars}/*"
        self._env = {VARIABLE: str(classes)}
        self.children: list[Child] = []

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{p.port}" for p in self._plans)

    def start(self) -> None:
        """Format the storage and start every broker; does not wait until they are ready."""
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._home.mkdir(parents=True, exist_ok=True)
        (self._home / "log4j2.properties").write_text(_LOG4J)
        note_class_path("kafka", self._env, lambda: self._class_path)
        configs: list[Path] = []
        for plan in self._plans:
            state = self._home / f"broker-{plan.number}"
            config = self._home / f"broker-{plan.number}.properties"
            text = broker_properties(plan, self._controller_port, len(self._plans), state)
            config.write_text(text)
            self._format(state, plan.number, cluster_id)
            configs.append(config)
        for plan, config in zip(self._plans, configs, strict=True):
            command = [*self._command(plan.number), str(config)]
            log = self._logs / f"broker-{plan.number}.log"
            with held():
                self.children.append(Child(f"broker-{plan.number}", command, {}, log))

    def _format(self, state: Path, node: int, cluster_id: str) -> None:
        # What `StorageTool format` writes, without starting a JVM for each broker.
        state.mkdir(parents=True)
        directory_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        (state / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node}\ndirectory.id={directory_id}\n"
        )

    def _command(self, number: int) -> list[str]:
        return [
            self._java.program,
            f"-Xmx{HEAP_MB}m",
            f"-Xms{HEAP_MB}m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            f"-Djava.io.tmpdir={self._home}",
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self._home}/log4j2.properties",
            *class_archive_options("kafka", number, self._env),
            "-cp",
            self._class_path,
            "kafka.Kafka",
        ]

    def wait_until_ready(self, tick: Callable[[str], None]) -> Cluster:
        """Wait until every broker answers; the last thing seen is in the error."""
        deadline = time.monotonic() + READY_S_MAX
        seen = "no broker answered"
        while time.monotonic() < deadline:
            self.check()
            try:
                cluster = Cluster(self.bootstrap_servers)
            except ServiceFailed as error:
                seen = str(error)
            else:
                try:
                    alive = cluster.broker_numbers()
                except ServiceFailed as error:
                    seen = str(error)
                else:
                    if len(alive) == len(self._plans):
                        return cluster
                    seen = f"only brokers {sorted(alive)} of {len(self._plans)} have joined"
                cluster.close()
            tick(seen)
            time.sleep(0.25)
        raise ServiceFailed(f"kafka not ready after {READY_S_MAX} s: {seen}")

    def check(self) -> None:
        """Raise if a broker has died."""
        for child in self.children:
            if child.exit_code() is not None:
                tail = "\n  ".join(child.log_tail(6))
                raise ServiceFailed(
                    f"{child.name} died with exit code {child.exit_code()}; its log ends:\n  {tail}"
                )

    def stop(self) -> None:
        """End all brokers at once; their state is of no use afterwards, so no grace is given."""
        for child in self.children:
            child.kill()
        self.children = []
