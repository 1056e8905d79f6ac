"""The golden input of the conformance test: where it is and how long it lasts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from contract.errors import UsageError

EVENT_START_S = 1_767_596_400
#: windows of the last slots may never close: nothing comes after them
TAIL_SLOTS = 4
#: sent at once, before the engine is up
BACKLOG_SLOTS = 12


@dataclass(frozen=True, slots=True)
class Golden:
    """A recorded input with known outputs."""

    path: Path
    slots: int
    #: records that are sent at once, before the engine is up
    backlog: int

    @property
    def window(self) -> dict[str, int]:
        """The slots whose outputs are owed."""
        return {"first_slot": 0, "last_slot": self.slots - 1 - TAIL_SLOTS}

    def copied(self, path: Path, copies: int) -> Golden:
        """The same input at so many places: what an engine loses rarely shows in much of it.

        A copy's location has a number before it; whatever that makes of an odd key, the oracle
        judges what is in the topics.
        """
        lines = self.path.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines if line.strip()]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for record in records:
                for copy in range(copies):
                    key = f"{copy}~{record['key']}" if copy else record["key"]
                    file.write(json.dumps({**record, "key": key}) + "\n")
        return Golden(path, self.slots, self.backlog * copies)

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
    with path.open(encoding="utf-8") as file:
        at_slots = [float(json.loads(line)["at_slot"]) for line in file if line.strip()]
    backlog = sum(at_slot < BACKLOG_SLOTS for at_slot in at_slots)
    return Golden(path, math.floor(max(at_slots)) + 1, backlog)
