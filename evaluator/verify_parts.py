"""What a check is, and what a run left to be checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import RunFolder, read_json, read_jsonl

RELATIVE = 1e-9


@dataclass(frozen=True, slots=True)
class Check:
    """What is written, and what was found instead; `agrees` unless said otherwise if equal."""

    where: str
    told: Any
    found: Any
    agrees: bool = False

    def __post_init__(self) -> None:
        same = type(self.told) is type(self.found) and self.told == self.found
        object.__setattr__(self, "agrees", self.agrees or same)

    def says(self) -> str:
        """The difference, in words."""
        return f"written {self.told}, found {self.found}"


def compare(where: str, told: Any, found: Any) -> Check:
    """Whole numbers and words exactly, doubles to 1e-9 relative."""
    if isinstance(told, int | float) and isinstance(found, int | float):
        whole = isinstance(told, int) and isinstance(found, int)
        near = math.isclose(told, found, rel_tol=RELATIVE, abs_tol=1e-12)
        return Check(where, told, found, agrees=told == found if whole else near)
    return Check(where, told, found)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run left: its figures, its evidence and its tables."""

    name: str
    run: dict[str, Any]
    conditions: dict[str, Any]
    latency: pa.Table | None
    slots: pa.Table | None
    resources: pa.Table | None
    publisher: dict[str, Any] | None
    sent: pa.Table | None
    #: what the services were seen to use; none where nobody wrote it down
    looks: list[dict[str, Any]]
    machine: list[dict[str, Any]]

    @classmethod
    def read(cls, folder: RunFolder) -> Kept:
        said = folder.evidence / "publisher.json"
        sent = [pq.read_table(p) for p in sorted(folder.evidence.glob("publisher-*.parquet"))]
        return cls(
            folder.path.name,
            read_json(folder.run_json),
            read_json(folder.conditions) if folder.conditions.is_file() else {},
            _table(folder.latency),
            _table(folder.slots),
            _table(folder.resources),
            read_json(said) if said.is_file() else None,
            pa.concat_tables(sent) if sent else None,
            read_jsonl(folder.evidence / "resources.jsonl"),
            read_jsonl(folder.evidence / "machine.jsonl"),
        )

    @property
    def span_ms(self) -> tuple[float, float] | None:
        """Begin and end of the measured window."""
        window = self.run.get("window") or {}
        start, end = window.get("start_ms"), window.get("end_ms")
        return None if start is None or end is None else (float(start), float(end))


def _table(path: Path) -> pa.Table | None:
    return pq.read_table(path) if path.is_file() else None
