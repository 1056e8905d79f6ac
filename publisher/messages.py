"""What senders and their parent tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from publisher.source import Facts

#: reading a long recording takes minutes; waiting for brokers has a bound of its own
PREPARE_S_MAX = 600.0
#: an engine becomes idle meanwhile
GO_S_MAX = 300.0


@dataclass(frozen=True, slots=True)
class Totals:
    """What became of the records of one sender, or of all."""

    scheduled: int = 0
    sent: int = 0
    acknowledged: int = 0
    failed: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.scheduled + other.scheduled,
            self.sent + other.sent,
            self.acknowledged + other.acknowledged,
            self.failed + other.failed,
        )


@dataclass(frozen=True, slots=True)
class Ready:
    """A sender is prepared."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class Done:
    """A sender has sent its last slot and written its evidence."""

    totals: Totals
    last_slot: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A sender cannot go on."""

    exit_code: int
    says: str


Message = Ready | Done | Failed
