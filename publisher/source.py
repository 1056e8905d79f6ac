"""Say what a source of observations is, and how its records are handed on; hold none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from publisher.plan import Ints

#: what is put together at once: while it is, nothing is sent
BATCH_RECORDS_MAX = 2048


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


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in one block of bytes: where each begins, and how long it is; -1: there is none."""

    block: bytes
    starts: Ints
    sizes: Ints

    @classmethod
    def of(cls, texts: Sequence[bytes | None]) -> Self:
        """These, one after the other."""
        block = b"".join(text for text in texts if text is not None)
        return cls.end_to_end(block, np.array([-1 if t is None else len(t) for t in texts]))

    @classmethod
    def end_to_end(cls, block: bytes, sizes: Ints) -> Self:
        """A block that has been joined already."""
        # without a type an empty list makes doubles
        sizes = sizes.astype(np.int64, copy=False)
        held = np.maximum(sizes, 0)
        return cls(block, np.cumsum(held) - held, sizes)

    def __getitem__(self, rows: slice) -> Texts:
        """Some of them; the block is shared."""
        return Texts(self.block, self.starts[rows], self.sizes[rows])

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[bytes | None]:
        for start, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
            yield None if size < 0 else self.block[start : start + size]


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that follow one another, as columns."""

    #: counted from the start, ascending
    due_ns: Ints
    #: which of the order's topics, counted
    topics: Ints
    partitions: Ints
    keys: Texts
    values: Texts

    def __post_init__(self) -> None:
        columns = (self.topics, self.partitions, self.keys, self.values)
        if any(len(column) != len(self) for column in columns):
            raise ValueError("columns of different lengths")

    def __len__(self) -> int:
        return len(self.due_ns)


@dataclass(frozen=True, slots=True)
class Due:
    """All that is due in a slot: how many records, and one batch after the other."""

    records: int
    batches: Iterator[Batch]


class Source(Protocol):
    """One sender's share of the observations."""

    @property
    def facts(self) -> Facts: ...

    def due(self, slot: int) -> Due:
        """The share's records of a slot, by due time; each batch is made when it is asked for."""
        ...


def slices(records: int) -> Iterator[slice]:
    """Which rows each batch of a slot has."""
    for first in range(0, records, BATCH_RECORDS_MAX):
        yield slice(first, min(first + BATCH_RECORDS_MAX, records))
