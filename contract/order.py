"""In which order a campaign's runs are made: who makes them and who checks them agree on it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from contract.variant import Variant

#: a run that ended so is not made again, whatever came out
ENDED = ("valid", "invalid", "failed")


@dataclass(frozen=True, slots=True)
class Planned:
    """One run to be made."""

    #: from 1, in the order in which they are made
    number: int
    stage: str
    variant: Variant
    #: from 1; the runs of one repetition share their brokers
    repetition: int

    @property
    def path(self) -> str:
        """Its folder in the campaign's."""
        return f"runs/{self.number}-{self.stage}"

    def run_id(self, campaign_id: str, attempt: int = 1) -> str:
        """Its own name; an attempt after an interruption gets topics of its own."""
        again = f"-{attempt}" if attempt > 1 else ""
        return f"{campaign_id}-{self.number}-{self.stage}{again}"


def order_of(
    stages: Sequence[str], variants: Sequence[Variant], repeat: int, seed: int
) -> list[Planned]:
    """Block by block: each repetition holds every stage of every variant once.

    Within a block the order is shuffled, so that neither a warming machine nor a slow hour favours
    a stage. A single repetition of one variant is a look, no series: its stages come in theirs.
    """
    found: list[Planned] = []
    for repetition in range(1, repeat + 1):
        block = [(stage, variant) for variant in variants for stage in stages]
        if repeat > 1 or len(variants) > 1:
            random.Random(f"{seed}/{repetition}").shuffle(block)
        for stage, variant in block:
            found.append(Planned(len(found) + 1, stage, variant, repetition))
    return found
