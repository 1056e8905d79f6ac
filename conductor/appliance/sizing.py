"""How much of this machine each service of the appliance may take; starts nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from conductor.brokers import HEAP_MB as BROKER_HEAP_MB
from contract.errors import EnvironmentLacking

MIB = 1024**2
#: with so many cores engine, brokers and the rest are kept apart
APART_CORES_MIN = 8

#: of the JVM that copies to HDFS
EVALUATOR_HEAP_MB = 512
#: what a JVM takes beside its heap: code, classes, threads, buffers
BESIDES_HEAP_MB = 448
ENGINE_BESIDES_HEAP_MB = 1024
#: the evaluator judges in Python, beside its JVM
EVALUATOR_BESIDES_HEAP_MB = 2048
#: of an engine whose engine.toml does not say (memory_mb)
ENGINE_HEAP_MB = 1024

#: service → megabytes it may take, where that depends on nothing
_FIXED_MB = {
    "publisher": 768,
    "namenode": 640,
    "datanode": 512,
    "influxdb": 512,
    "cadvisor": 192,
}
#: which part of the machine a service belongs to, where there are parts
_PART = {"engine": "engine", "kafka": "kafka"}


@dataclass(frozen=True, slots=True)
class Size:
    """What one service may take."""

    cpus: float
    memory_bytes: int
    cpuset: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """What every kind of service may take: kafka, namenode, datanode, engine and so on."""

    of: dict[str, Size]

    def environment(self) -> dict[str, str]:
        """As the variables that the compose files name."""
        env: dict[str, str] = {
            "KAFKA_HEAP_MB": str(BROKER_HEAP_MB),
            "EVALUATOR_HEAP_MB": str(EVALUATOR_HEAP_MB),
        }
        for name, size in self.of.items():
            env[f"{name.upper()}_CPUS"] = f"{size.cpus:g}"
            env[f"{name.upper()}_CPUSET"] = size.cpuset
            env[f"{name.upper()}_MEMORY_BYTES"] = str(size.memory_bytes)
        return env


def usable_cores() -> list[int]:
    """The cores that this process may use, by their numbers."""
    return sorted(os.sched_getaffinity(0))


def sizes_for(cores: Sequence[int], memory_bytes: int, engine_heap_mb: int) -> Sizes:
    """Limits that keep one service from taking the machine, and none so tight that it is felt.

    A CPU limit stops a container for the rest of each tenth of a second in which it has used up its
    share: that would show in the latencies. So brokers, engine and publisher may use all the cores
    of their part, and only what merely accompanies a run gets less.
    """
    parts = _parts(list(cores))
    megabytes = {
        **_FIXED_MB,
        "kafka": BROKER_HEAP_MB + BESIDES_HEAP_MB,
        "evaluator": EVALUATOR_HEAP_MB + EVALUATOR_BESIDES_HEAP_MB,
        "engine": engine_heap_mb + ENGINE_BESIDES_HEAP_MB,
    }
    largest = max(megabytes, key=lambda name: megabytes[name])
    if megabytes[largest] * MIB > memory_bytes:
        raise EnvironmentLacking(
            f"the {largest} may need {megabytes[largest]} MiB and this machine has "
            f"{memory_bytes // MIB}"
        )
    sizes: dict[str, Size] = {}
    for name, amount in megabytes.items():
        own = parts[_PART.get(name, "driver")]
        share = min(len(own), 1.0 if name in ("influxdb", "cadvisor") else float(len(own)))
        sizes[name] = Size(share, amount * MIB, ",".join(map(str, own)))
    return Sizes(sizes)


def _parts(cores: list[int]) -> dict[str, list[int]]:
    """The cores of engine, brokers and all the rest: apart where there are enough."""
    if len(cores) < APART_CORES_MIN:
        return {"engine": cores, "kafka": cores, "driver": cores}
    quarter = len(cores) // 4
    return {
        "driver": cores[:quarter],
        "kafka": cores[quarter : 2 * quarter],
        "engine": cores[2 * quarter :],
    }
