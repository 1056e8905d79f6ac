"""A checkout's own corner of the Docker engine: its project's name, networks and services."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable
from pathlib import Path

import psutil

from conductor.appliance.docker_containers import NETWORK_LABEL, PROJECT_LABEL
from conductor.appliance.docker_engine import DockerEngine
from contract.errors import EnvironmentLacking
from contract.settings import BROKERS_MAX

#: reserved for benchmarks (RFC 2544): nobody's real network is there
RANGE = ipaddress.ip_network("198.18.0.0/15")
SUBNETS = 512
#: as compose/network.yml has them
NETWORKS = ("bench", "judge")
DATANODES = 3
#: what a cluster has besides its brokers
STORAGE = ("namenode", *(f"datanode-{n}" for n in range(1, DATANODES + 1)))
MONITORING = ("influxdb", "cadvisor")
#: the last numbers of addresses, as the compose files have them; of a broker with its own added
BROKERS, NAMENODE, INFLUXDB, EVALUATOR = 10, 31, 41, 51
#: whatever `make up` may have started
CLUSTER = (*(f"broker-{n}" for n in range(1, BROKERS_MAX + 1)), *STORAGE, *MONITORING)


def project_name(checkout: Path) -> str:
    """Two checkouts do not meet: the name holds a hash of the path."""
    return f"tollgate-{hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:8]}"


def choose_subnet(project: str, taken: Iterable[str]) -> str:
    """The first three numbers of a /24 that overlaps with nothing that is taken."""
    others = [ipaddress.ip_network(text, strict=False) for text in taken]
    others = [network for network in others if network.version == RANGE.version]
    first = int(hashlib.sha256(project.encode()).hexdigest(), 16) % SUBNETS
    start = int(RANGE.network_address)
    for step in range(SUBNETS):
        address = ipaddress.ip_address(start + (first + step) % SUBNETS * 256)
        wanted = ipaddress.ip_network(f"{address}/24")
        if not any(wanted.overlaps(other) for other in others):
            return str(address).rpartition(".")[0]
    raise EnvironmentLacking(f"no /24 of {RANGE} is free on this machine")


def subnets_of(engine: DockerEngine, project: str) -> dict[str, str]:
    """Network → its subnet: the one that it has where it is there, otherwise a free one."""
    taken = list(_addresses())
    found: dict[str, str] = {}
    for network in engine.networks():
        own = network["labels"].get(PROJECT_LABEL) == project and network["subnets"]
        if own:
            subnet = str(network["subnets"][0]).partition("/")[0].rpartition(".")[0]
            found[network["labels"].get(NETWORK_LABEL, "")] = subnet
        taken += network["subnets"]
    for name in NETWORKS:
        if name not in found:
            found[name] = choose_subnet(f"{project}-{name}", taken)
            taken.append(f"{found[name]}.0/24")
    return {name: found[name] for name in NETWORKS}


def _addresses() -> Iterable[str]:
    """The networks that this machine's interfaces are in."""
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family.name == "AF_INET" and each.netmask:
                yield f"{each.address}/{each.netmask}"
