"""Replay a file of given records verbatim, malformed ones too: what conformance is tested with."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contract.errors import UsageError
from publisher.order import Order
from publisher.plan import partition_of
from publisher.source import Batch, Due, Facts, Share, SourceReport, Texts, slices


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One line of a raw source."""

    at_slot: float
    kind: str
    key: str
    value: str | None

    @property
    def location(self) -> str:
        """What a key is partitioned by: all before its last slash, or all of it."""
        return self.key.rpartition("/")[0] or self.key


def read_raw(path: Path, kinds: tuple[str, ...]) -> list[RawRecord]:
    """The records of a file, by due time; a bad line is its writer's mistake."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"SOURCE=raw:{path} cannot be read: {error}") from None
    records = [
        _parse(line, kinds, f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not records:
        raise UsageError(f"SOURCE=raw:{path} holds no record")
    return sorted(records, key=lambda record: record.at_slot)


def _parse(line: str, kinds: tuple[str, ...], where: str) -> RawRecord:
    try:
        raw: dict[str, Any] = json.loads(line)
        record = RawRecord(float(raw["at_slot"]), raw["kind"], raw["key"], raw["value"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{where} is no raw record: {error!r}") from None
    if not (math.isfinite(record.at_slot) and record.at_slot >= 0):
        raise UsageError(f"{where} is no raw record: at_slot is {record.at_slot}")
    if record.kind not in kinds:
        raise UsageError(f"{where} is no raw record: its kind is {record.kind!r}")
    if not isinstance(record.key, str) or not isinstance(record.value, str | None):
        raise UsageError(f"{where} is no raw record: key and value must be texts")
    return record


def open_source(order: Order, share: Share) -> RawSource:
    """Prepare a sender's share of a raw file."""
    return RawSource(order, share)


class RawSource:
    """A sender's share of a raw file. Backlog is due at the start, and so in slot 0."""

    def __init__(self, order: Order, share: Share) -> None:
        path = order.raw_path
        if path is None or order.raw_event_start_s is None:
            raise ValueError("not a raw source")
        everything = read_raw(path, tuple(order.topics))
        locations = list(dict.fromkeys(record.location for record in everything))
        ours = set(locations[share.index :: share.senders])
        by_slot: dict[int, list[tuple[int, RawRecord]]] = {}
        in_slot: dict[int, int] = {}
        for record in everything:
            backlog = record.at_slot < order.skip_pacing_before_slot
            due_ns = 0 if backlog else round(record.at_slot * order.slot_ns)
            # a slot bounds what is sent, so a backlog's record keeps to its own
            if int(record.at_slot) >= order.slots_max:
                continue
            slot = due_ns // order.slot_ns
            in_slot[slot] = in_slot.get(slot, 0) + 1
            if record.location in ours:
                by_slot.setdefault(slot, []).append((due_ns, record))
        self._by_slot = by_slot
        self._order = order
        self._facts = Facts(
            locations=len(locations),
            records_per_slot=max(in_slot.values(), default=0),
            event_start_s=order.raw_event_start_s,
            slots=max(in_slot, default=-1) + 1,
            report=SourceReport(order.source, (str(path),), len(everything)),
        )

    @property
    def facts(self) -> Facts:
        """What holds of the file as a whole."""
        return self._facts

    def due(self, slot: int) -> Due:
        """The share's records of a slot, as they stand in the file."""
        records = self._by_slot.get(slot, [])
        return Due(len(records), (self._batch(records[rows]) for rows in slices(len(records))))

    def _batch(self, due: Sequence[tuple[int, RawRecord]]) -> Batch:
        order = self._order
        numbers = {kind: number for number, kind in enumerate(order.topics)}
        records = [record for _, record in due]
        places = [partition_of(record.location, order.partitions) for record in records]
        values = [None if r.value is None else r.value.encode() for r in records]
        return Batch(
            due_ns=np.array([due_ns for due_ns, _ in due], dtype=np.int64),
            topics=np.array([numbers[record.kind] for record in records], dtype=np.int64),
            partitions=np.array(places, dtype=np.int64),
            keys=Texts.of([record.key.encode() for record in records]),
            values=Texts.of(values),
        )
