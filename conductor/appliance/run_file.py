"""The compose file of one run: what the publisher is told, and the engine's services; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conductor.appliance.sizing import Size
from contract.engine import EngineOrder, EngineSpec, Place
from contract.errors import UsageError

#: engines' addresses; what is above is given by Docker to whoever asks for none
FIRST_ADDRESS, LAST_ADDRESS = 64, 126
#: every process of an engine may listen there
PORT = 7000
PIDS_MAX = 8192
SERVICE_LABEL = "tollgate.service"
NETWORK = "bench"
#: before the path of records that are sent as they are
RAW = "raw:"


@dataclass(frozen=True, slots=True)
class EngineContainer:
    """One container of an engine."""

    #: as compose knows it
    service: str
    #: as the run knows it
    name: str
    definition: dict[str, Any]


def publisher_service(env: Mapping[str, str]) -> dict[str, Any]:
    """What a run adds to bench.yml's publisher."""
    service: dict[str, Any] = {"environment": escaped(env)}
    source = env.get("SOURCE", "network")
    if source != "network":
        service["volumes"] = [bind(source.removeprefix(RAW), read_only=True)]
    return service


def engine_containers(
    image: str, spec: EngineSpec, order: EngineOrder, size: Size, subnet: str
) -> list[EngineContainer]:
    """Every container of an engine; the first one's life is the engine's."""
    services = spec.started(order.engine_settings, order.instances)
    total = sum(count for _, count in services)
    if total > LAST_ADDRESS - FIRST_ADDRESS + 1:
        raise UsageError(f"an engine of {total} containers is too large for one machine")
    addresses = iter(range(FIRST_ADDRESS, LAST_ADDRESS + 1))
    peers = {
        service.name: tuple(f"{subnet}.{next(addresses)}:{PORT}" for _ in range(count))
        for service, count in services
    }
    found: list[EngineContainer] = []
    for service, count in services:
        for instance in range(1, count + 1):
            place = Place(service.name, instance, peers)
            name = service.name if instance == 1 else f"{service.name}-{instance}"
            env = order.to_environment() | place.to_environment()
            definition = _definition(image, list(service.command), env, size)
            definition["networks"] = {NETWORK: {"ipv4_address": place.address[0]}}
            definition["volumes"] = [bind(order.state_dir)]
            definition["labels"] = {SERVICE_LABEL: name}
            found.append(EngineContainer(f"engine-{name}", name, definition))
    return found


def refusing_container(
    image: str, spec: EngineSpec, env: Mapping[str, str], size: Size
) -> EngineContainer:
    """The engine's first service, with an environment that it must refuse."""
    service = spec.services[0]
    place = Place(service.name, 1, {service.name: (f"127.0.0.1:{PORT}",)})
    told = {**env, **place.to_environment()}
    definition = _definition(image, list(service.command), told, size)
    definition["networks"] = [NETWORK]
    return EngineContainer("refusal", service.name, definition)


def _definition(
    image: str, command: list[str], env: Mapping[str, str], size: Size
) -> dict[str, Any]:
    return {
        "image": image,
        "entrypoint": [word.replace("$", "$$") for word in command],
        "command": [],
        "environment": escaped(env),
        "cpus": size.cpus,
        "cpuset": size.cpuset,
        "mem_limit": size.memory_bytes,
        "memswap_limit": size.memory_bytes,
        "pids_limit": PIDS_MAX,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "logging": {"driver": "json-file", "options": {"max-size": "20m"}},
        "stop_grace_period": "30s",
    }


def escaped(env: Mapping[str, str]) -> dict[str, str]:
    """Values as they are: compose would take a dollar for a variable."""
    return {name: value.replace("$", "$$") for name, value in env.items()}


def bind(path: str | Path, *, read_only: bool = False) -> dict[str, Any]:
    """A path of this machine, under the same name inside."""
    name = str(path).replace("$", "$$")
    return {"type": "bind", "source": name, "target": name, "read_only": read_only}


def compose_file(services: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """As compose reads it."""
    return {"services": dict(services)}
