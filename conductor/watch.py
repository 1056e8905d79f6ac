"""What is seen of a run's topics while it goes on: ends, newest slots; disturbs nothing."""

from __future__ import annotations

import math
import time

from conductor.conditions import Seen
from conductor.topics import Cluster
from contract.engine import Topics
from contract.settings import RunSettings
from contract.workload import load_workload

#: how far behind the newest due slot an engine that keeps up may be: a batch, a checkpoint
READY_LAG_S = 2.5
READY_LOOKS = 3
#: who is closer than this need not be watched as long: nothing of its start is left to work off
PROMPT_LAG_S = 1.0
#: what a window waits for besides: its own end and the record that shows it
WINDOWED_LAG_SLOTS = 2
#: outputs have come to rest when none came for so long
QUIET_S = 1.5
#: or for so long, where all partitions are at the last slot that was published
COMPLETE_S = 0.5
#: where it is known how many outputs are owed: the silence after them, and that which gives up
SETTLED_S = 3.0
CEASED_S = 20.0
#: where one partition is there, so long a silence of the others says that they owe nothing
SILENT_S = 5.0


class Watch:
    """Looks at one run's topics."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Topics,
        settings: RunSettings,
        seen: Seen,
        owed: int | None = None,
    ) -> None:
        self._cluster, self._topics, self._settings = cluster, topics, settings
        self._workload = load_workload(settings.workload)
        self._seen, self._owed = seen, owed
        now = time.monotonic()
        self._outputs: tuple[float, int] = (now, 0)
        self._inputs: tuple[float, int] = (now, 0)
        self._in_step = 0
        self.newest: list[int] = []

    def due_slot(self) -> int:
        """The slot that is due now; below zero before the first."""
        return math.floor((time.time() * 1000 - self._seen.first_due_ms) / self._seen.slot_ms)

    def keeps_up(self) -> bool:
        """Whether every partition's newest output was near what is due, several looks long.

        In its first seconds an engine is not far behind because little is due yet: then it must
        be right behind, with more than twice that distance answered.
        """
        lag, prompt = self._slots_in(READY_LAG_S), self._slots_in(PROMPT_LAG_S)
        self.newest, due = self._newest_output_slots(), self.due_slot()
        self.count()
        furthest_behind = min(self.newest, default=-1)
        if due > 2 * lag:
            near = furthest_behind >= due - lag
        else:
            near = self._all_answered() and furthest_behind >= max(due - prompt, 2 * prompt)
        self._in_step = self._in_step + 1 if near else 0
        return self._in_step >= READY_LOOKS

    def _slots_in(self, lag_s: float) -> int:
        """How many slots behind that is, for an output of this dialect."""
        slots = math.ceil(lag_s * 1000 / self._seen.slot_ms)
        return slots + WINDOWED_LAG_SLOTS * (self._settings.dialect == "windowed")

    def at_rest(self, target: int | None, last: int | None = None) -> bool:
        """Whether no more outputs come: every partition is there, or one is and all are silent.

        Sooner, where all are at the `last` slot that was published and it is not measured: what
        may still come is the rest of that slot.

        Where it is known how many are owed, their number and silence decide: what an engine puts
        out last need not be of the last slot.
        """
        _, outputs = self.count()
        quiet_s = self.quiet_s()
        end = last
        if self._owed is not None or target is None or last is None or last <= target:
            end = None
        if quiet_s < (QUIET_S if end is None else COMPLETE_S) or outputs == 0:
            return False
        self.newest = self._newest_output_slots()
        if end is not None and quiet_s < QUIET_S:
            return self._all_answered() and min(self.newest) >= end
        if self._owed is not None:
            return quiet_s >= (SETTLED_S if outputs >= self._owed else CEASED_S)
        if target is None:
            return True
        if not self.newest or max(self.newest) < target:
            return False
        return min(self.newest) >= target or quiet_s >= SILENT_S

    def _all_answered(self) -> bool:
        """Whether each partition was seen to have an output; one may be slow to be read."""
        return len(self.newest) == self._settings.partitions

    def quiet_s(self) -> float:
        """How long no new output has been seen."""
        return time.monotonic() - self._outputs[0]

    def count(self) -> tuple[float, int]:
        """Records in a second and outputs so far, from the topics' ends."""
        ends = self._cluster.ends(self._topics.all, self._settings.partitions)
        outputs = ends[self._topics.output]
        inputs = sum(ends.values()) - outputs
        now = time.monotonic()
        if outputs != self._outputs[1]:
            self._outputs = (now, outputs)
        then, before = self._inputs
        rate = (inputs - before) / (now - then) if now > then else 0.0
        self._inputs = (now, inputs)
        row = {"at_ms": round(time.time() * 1000), "inputs": inputs, "outputs": outputs}
        self._seen.progress.append(row)
        return rate, outputs

    def _newest_output_slots(self) -> list[int]:
        """The slot of the newest output in each partition that has one."""
        values = self._cluster.tail(self._topics.output, self._settings.partitions)
        seconds = [self._workload.event_second_of(v) for v in values]
        return [s - self._seen.event_start_s for s in seconds if s is not None]
