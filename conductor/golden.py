"""The golden input of the conformance test: where it is and how long it lasts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contract.errors import UsageError
from contract.workload import Workload, load_workload

EVENT_START_S = 1_767_596_400
#: windows of the last slots may never close: nothing comes after them
TAIL_SLOTS = 4
#: sent at once, before the engine is up
BACKLOG_SLOTS = 12


@dataclass(frozen=True, slots=True)
class Golden:
    """A recorded input with known outputs."""

    path: Path
    #: slot of each record, and of each output of the stages that do more than pass records on;
    #: those of one copy
    input_slots: tuple[int, ...]
    output_slots: Mapping[str, tuple[int, ...]]
    copies: int = 1

    @property
    def slots(self) -> int:
        """How many slots it lasts."""
        return max(self.input_slots) + 1

    @property
    def backlog(self) -> int:
        """How many records are sent at once, before the engine is up."""
        return self.copies * sum(slot < BACKLOG_SLOTS for slot in self.input_slots)

    @property
    def window(self) -> dict[str, int]:
        """The slots whose outputs are owed."""
        return {"first_slot": 0, "last_slot": self.slots - 1 - TAIL_SLOTS}

    def owed(self, stage: str) -> int:
        """How many outputs a stage owes; about so many, where odd records are passed on."""
        last = self.window["last_slot"]
        slots = self.output_slots.get(stage, self.input_slots)
        return self.copies * sum(slot <= last for slot in slots)

    def copied(self, path: Path, copies: int) -> Golden:
        """The same input at so many places: what an engine loses rarely shows in much of it.

        A copy's location has a number before it; whatever that makes of an odd key, the oracle
        judges what is in the topics.
        """
        records = _rows(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for record in records:
                for copy in range(copies):
                    key = f"{copy}~{record['key']}" if copy else record["key"]
                    file.write(json.dumps({**record, "key": key}) + "\n")
        return replace(self, path=path, copies=copies)

    def publisher_env(self) -> dict[str, str]:
        """How the publisher is told to replay it."""
        return {
            "SOURCE": f"raw:{self.path}",
            "RAW_EVENT_START_S": str(EVENT_START_S),
            "SKIP_PACING_BEFORE_SLOT": str(BACKLOG_SLOTS),
            "SLOTS_MAX": str(self.slots + 1),
            "PUBLISHERS": "1",
        }


def golden_of(workload: str, contract: Path) -> Golden:
    """The golden input of a workload."""
    path = contract / "golden" / f"{workload}.input.jsonl"
    if not path.exists():
        raise UsageError(f"workload {workload} has no golden input ({path})")
    input_slots = tuple(math.floor(float(row["at_slot"])) for row in _rows(path))
    known = load_workload(workload)
    output_slots = {
        stage.name: tuple(_slots(known, file))
        for stage in known.stages
        if (file := path.with_name(f"{workload}.{stage.name}.jsonl")).exists()
    }
    return Golden(path, input_slots, output_slots)


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _slots(workload: Workload, outputs: Path) -> Iterator[int]:
    for row in _rows(outputs):
        second = workload.event_second_of(json.dumps(row["value"]).encode())
        if second is None:
            raise ValueError(f"{outputs} holds an output without a time")
        yield second - EVENT_START_S
