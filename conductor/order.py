"""Say in which order a campaign's runs are made; make none."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from contract.engine import Execution

#: a run that ended so is not made again, whatever came out
ENDED = ("valid", "invalid", "failed")


@dataclass(frozen=True, slots=True)
class Planned:
    """One run to be made."""

    #: from 1, in the order in which they are made
    number: int
    stage: str
    execution: Execution
    #: from 1; the runs of one repetition share their brokers
    repetition: int


def order_of(
    stages: Sequence[str], executions: Sequence[Execution], repeat: int, seed: int
) -> list[Planned]:
    """Block by block: each repetition holds every stage of every execution once.

    Within a block the order is shuffled, so that neither a warming machine nor a slow hour favours
    a stage. A single repetition of one execution is a look, no series: its stages come in theirs.
    """
    found: list[Planned] = []
    for repetition in range(1, repeat + 1):
        block = [(stage, execution) for execution in executions for stage in stages]
        if repeat > 1 or len(executions) > 1:
            random.Random(f"{seed}/{repetition}").shuffle(block)
        for stage, execution in block:
            found.append(Planned(len(found) + 1, stage, execution, repetition))
    return found
