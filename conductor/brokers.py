"""Kafka brokers as plain processes on loopback; and how any cluster is waited for."""

from __future__ import annotations

import base64
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from conductor.interrupts import held
from conductor.java import Java
from conductor.processes import Child
from conductor.runtime import Running
from conductor.topics import Cluster
from contract.class_archive import VARIABLE, class_archive_options, note_class_path
from contract.errors import EnvironmentLacking, ServiceFailed

READY_S_MAX = 90
HEAP_MB = 384
#: the broker that leads every measured partition, and the cluster's only controller
CLOCK_BROKER = 1


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


def in_words(count: int) -> str:
    """So many brokers."""
    return f"{count} broker{'s' * (count > 1)}"


def kafka_id(sixteen: bytes) -> str:
    """Sixteen bytes as Kafka writes ids."""
    return base64.urlsafe_b64encode(sixteen).decode().rstrip("=")


def wait_for_cluster(
    bootstrap_servers: str, count: int, check: Callable[[], None], tick: Callable[[str], None]
) -> Cluster:
    """Wait until every broker answers; `check` raises when one has died."""
    deadline = time.monotonic() + READY_S_MAX
    seen = "no broker answered"
    while time.monotonic() < deadline:
        check()
        try:
            cluster = Cluster(bootstrap_servers)
        except ServiceFailed as error:
            seen = str(error)
        else:
            try:
                alive = cluster.broker_numbers()
            except ServiceFailed as error:
                seen = str(error)
            else:
                if len(alive) == count:
                    return cluster
                seen = f"only brokers {sorted(alive)} of {count} have joined"
            cluster.close()
        tick(seen)
        time.sleep(0.25)
    raise ServiceFailed(f"kafka not ready after {READY_S_MAX} s: {seen}")


def check_brokers(brokers: Iterable[Running]) -> None:
    """Raise if one has died, saying how and what it said last."""
    for broker in brokers:
        if broker.exit_code() is not None:
            tail = "\n  ".join(broker.log_tail(6))
            raise ServiceFailed(f"{broker.name} {broker.how_it_ended()}; its log ends:\n  {tail}")


class EmbeddedBrokers:
    """A KRaft cluster of plain processes; state and logs below two folders that are given."""

    def __init__(
        self,
        count: int,
        home: Path,
        logs: Path,
        program: Path,
        jars: Path,
        java: Java,
        classes: Path,
    ) -> None:
        ports = free_ports(count + 1)
        self._controller_port = ports[-1]
        self._plans = [BrokerPlan(i + 1, port) for i, port in enumerate(ports[:count])]
        self._home, self._logs = home, logs
        self._program, self._jars, self._java = program, jars, java
        self._archives = {VARIABLE: str(classes)}
        self.children: list[Child] = []

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{p.port}" for p in self._plans)

    def start(self) -> None:
        """Start every broker by its image's program; does not wait until they are ready."""
        cluster_id = kafka_id(uuid.uuid4().bytes)
        note_class_path("kafka", self._archives, lambda: f"{self._jars}/*")
        for plan in self._plans:
            options = class_archive_options("kafka", plan.number, self._archives)
            command = [str(self._program), *options]
            env = self._environment(plan, cluster_id)
            log = self._logs / f"broker-{plan.number}.log"
            with held():
                self.children.append(Child(f"broker-{plan.number}", command, env, log))

    def _environment(self, plan: BrokerPlan, cluster_id: str) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "JAVA_HOME": str(self._java.home),
            "JARS": str(self._jars),
            "NODE_ID": str(plan.number),
            "CLOCK": str(CLOCK_BROKER),
            "HOST": "127.0.0.1",
            "PORT": str(plan.port),
            "CONTROLLER": f"127.0.0.1:{self._controller_port}",
            "BROKERS": str(len(self._plans)),
            "CLUSTER_ID": cluster_id,
            "STATE_DIR": str(self._home / f"broker-{plan.number}"),
            "HEAP_MB": str(HEAP_MB),
        }

    def wait_until_ready(self, tick: Callable[[str], None]) -> Cluster:
        """Wait until every broker answers; the last thing seen is in the error."""
        return wait_for_cluster(self.bootstrap_servers, len(self._plans), self.check, tick)

    def check(self) -> None:
        """Raise if a broker has died."""
        check_brokers(self.children)

    def stop(self) -> None:
        """End all brokers at once; their state is of no use afterwards, so no grace is given."""
        for child in self.children:
            child.kill()
        self.children = []
