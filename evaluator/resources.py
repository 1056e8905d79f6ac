"""Tell what each service and the machine used; write resources.parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contract.results import RESOURCES_COLUMNS
from evaluator.evidence import Evidence
from evaluator.slots import write_table

MACHINE = "machine"


def write_resources(path: Path, evidence: Evidence) -> None:
    """A row a service and look, the machine itself being one of the services."""
    names = [name for name, _ in RESOURCES_COLUMNS]
    rows = [{name: line.get(name) for name in names} for line in evidence.resources]
    for look in evidence.machine:
        row = dict.fromkeys(names)
        rows.append(
            row | {"service": MACHINE, "at_ms": look["at_ms"], "cpu_cores": look.get("busy_cores")}
        )
    write_table(path, sorted(rows, key=lambda r: (r["service"], r["at_ms"])), RESOURCES_COLUMNS)


def summarise(evidence: Evidence) -> dict[str, dict[str, float | int | None]]:
    """As the `resources` of run.json: of each service over the measured window."""
    found = {service: _use(lines) for service, lines in sorted(evidence.of_service().items())}
    machine = [{**look, "cpu_cores": look["busy_cores"]} for look in evidence.machine_measured()]
    return found | ({MACHINE: _use(machine)} if machine else {})


def _use(lines: Sequence[Mapping[str, Any]]) -> dict[str, float | int | None]:
    cores = [line["cpu_cores"] for line in lines if line.get("cpu_cores") is not None]
    memory = [line["memory_bytes"] for line in lines if line.get("memory_bytes") is not None]
    return {
        "cpu_cores_avg": sum(cores) / len(cores) if cores else None,
        "cpu_cores_max": max(cores, default=None),
        "memory_bytes_max": max(memory, default=None),
    }
