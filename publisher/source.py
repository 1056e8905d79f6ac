"""Say what a source of observations is; hold none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

#: due_ns (counted from the start), topic, partition, key, value; a tuple: millions are made
Record = tuple[int, str, int, bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a source that one sender sends: each `senders`-th location from `index` on."""

    index: int
    senders: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.senders:
            raise ValueError(f"no sender {self.index} of {self.senders}")


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was found in a source, as publisher.json tells it."""

    name: str
    files: tuple[str, ...] = ()
    records: int = 0
    bad_lines: int = 0
    bad_examples: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As `source` of publisher.json."""
        return {
            "name": self.name,
            "files": list(self.files),
            "records": self.records,
            "bad_lines": self.bad_lines,
            "bad_examples": list(self.bad_examples),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds of a source as a whole, whoever sends which part of it."""

    locations: int
    records_per_slot: int
    event_start_s: int
    #: after how many slots it ends by itself; None: never
    slots: int | None = None
    report: SourceReport = field(default_factory=lambda: SourceReport("network"))


class Source(Protocol):
    """One sender's share of the observations."""

    @property
    def facts(self) -> Facts: ...

    def records(self, slot: int) -> Iterator[Record]:
        """The share's records of a slot, by due time."""
        ...
