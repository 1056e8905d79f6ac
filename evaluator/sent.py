"""Read the publisher's account slot by slot; of each only what is told of it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import ServiceFailed
from evaluator.arrays import BoolArray, FloatArray
from evaluator.distribution import Distribution

_COLUMNS = ["slot", "late_us", "ack_us"]
_BATCH_ROWS = 1 << 16
#: slots whose lateness waits to be put together
_WAITING_MAX = 64

#: a slot, how late its records were sent (not a number: never), and which were acknowledged
_Part = tuple[int, FloatArray, BoolArray]


@dataclass(frozen=True, slots=True)
class SentSlot:
    """What is kept of a slot."""

    scheduled: int
    sent: int
    acknowledged: int
    #: by the name of the quantile
    late_ms: Mapping[str, float | None]


LATE_QUANTILES = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))


@dataclass(frozen=True, slots=True)
class Sent:
    """The publisher's account of all records."""

    of_slot: Mapping[int, SentSlot]
    #: of the measured slots' records; of all, where no slot is measured
    late_ms: Distribution

    @classmethod
    def read(cls, evidence: Path, measured: tuple[int, int] | None) -> Sent:
        """All senders' accounts together; each must be in the order of its slots."""
        of_slot: dict[int, SentSlot] = {}
        waiting: list[Distribution] = []
        senders = map(_parts, sorted(evidence.glob("publisher-*.parquet")))
        for slot, parts in groupby(merge(*senders, key=itemgetter(0)), itemgetter(0)):
            if slot in of_slot:
                raise ServiceFailed(f"{evidence}: a publisher tells of slot {slot} twice")
            _, late_ms, acknowledged = map(list, zip(*parts, strict=True))
            late = Distribution.of(np.concatenate(late_ms))
            of_slot[slot] = SentSlot(
                sum(map(len, late_ms)),
                late.count,
                sum(int(each.sum()) for each in acknowledged),
                {name: late.quantile_if_any(q) for name, q in LATE_QUANTILES},
            )
            if measured is None or measured[0] <= slot <= measured[1]:
                waiting.append(late)
            if len(waiting) > _WAITING_MAX:
                waiting = [Distribution.merged(waiting)]
        return cls(of_slot, Distribution.merged(waiting))


def _parts(file: Path) -> Iterator[_Part]:
    """A sender's records, those of one slot together."""
    with pq.ParquetFile(file) as account:
        for batch in account.iter_batches(_BATCH_ROWS, columns=_COLUMNS):
            slot = batch["slot"].to_numpy()
            late_ms = batch["late_us"].cast(pa.float64()).to_numpy(zero_copy_only=False) / 1000
            acknowledged = batch["ack_us"].is_valid().to_numpy(zero_copy_only=False)
            starts = np.flatnonzero(np.diff(slot, prepend=-1))
            for start, end in zip(starts, [*starts[1:], slot.size], strict=True):
                yield int(slot[start]), late_ms[start:end], acknowledged[start:end]
