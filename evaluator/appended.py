"""Tell how records were appended: how many when, in which order, by which clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.arrays import FloatArray, IntArray
from evaluator.evidence import TimeAxis
from evaluator.grouped import Grouped
from evaluator.window_ends import WindowEnds
from evaluator.workload import NO_SECOND


@dataclass(frozen=True, slots=True)
class Appended:
    """The input topics by slot and millisecond."""

    of_slot: dict[int, int]
    malformed: int
    #: milliseconds in which inputs were appended, ascending
    at_ms: IntArray
    #: by how much event time fell behind what had been appended before, in ms of event time
    disorder_ms_max: float
    window_ends: WindowEnds

    @classmethod
    def none(cls) -> Appended:
        nothing = np.empty(0, np.int64)
        return cls({}, 0, nothing, 0.0, WindowEnds(nothing, nothing))


class Arrivals:
    """Input records, as the judge reads them, by second and millisecond."""

    def __init__(self) -> None:
        self._grouped = Grouped(
            ("timestamp_ms", "second"),
            {"count": "sum", "malformed": "sum", "event_us_min": "min", "event_us_max": "max"},
        )

    def add(self, records: pa.Table) -> None:
        """Some of them."""
        one = pa.repeat(1, records.num_rows)
        malformed = pc.invert(records["well_formed"]).cast(pa.int64())
        event_us = records["event_us"]
        columns = [records["timestamp_ms"], records["second"], one, malformed, event_us, event_us]
        names = ["timestamp_ms", "second", "count", "malformed", "event_us_min", "event_us_max"]
        self._grouped.add(pa.table(columns, names))

    def appended(self, axis: TimeAxis) -> Appended:
        """What all of them say."""
        rows = self._grouped.table()
        if rows is None or not rows.num_rows:
            return Appended.none()
        rows = rows.sort_by("timestamp_ms")
        timed = rows.filter(pc.not_equal(rows["second"], NO_SECOND))
        slot, count = timed["second"].to_numpy() - axis.event_start_s, timed["count"].to_numpy()
        at_ms = timed["timestamp_ms"].to_numpy()
        slots, where = np.unique(slot, return_inverse=True)
        counts = np.bincount(where, count).astype(int)
        return Appended(
            dict(zip(slots.tolist(), counts.tolist(), strict=True)),
            int(np.sum(rows["malformed"].to_numpy())),
            np.unique(rows["timestamp_ms"].to_numpy()),
            disorder_ms(
                at_ms,
                timed["event_us_min"].to_numpy() / 1000,
                timed["event_us_max"].to_numpy() / 1000,
            ),
            WindowEnds.of(slot, at_ms),
        )


def disorder_ms(at_ms: IntArray, event_ms_min: FloatArray, event_ms_max: FloatArray) -> float:
    """How far a record's event time lay behind the latest one appended in an earlier millisecond.

    Within a millisecond the order over topics cannot be told, and is no disorder.
    """
    if not at_ms.size:
        return 0.0
    _, where = np.unique(at_ms, return_inverse=True)
    least, most = np.full(where.max() + 1, np.inf), np.full(where.max() + 1, -np.inf)
    np.minimum.at(least, where, event_ms_min)
    np.maximum.at(most, where, event_ms_max)
    seen = np.maximum.accumulate(most)
    return float(max(0.0, np.max(seen[:-1] - least[1:], initial=0.0)))


@dataclass(frozen=True, slots=True)
class AppendClock:
    """What the append timestamps say of the clock that gave them."""

    #: how far a timestamp fell back behind an earlier offset's of the same partition
    back_ms_max: int
    timestamp_types: tuple[int, ...]


class Stamps:
    """Collected records' timestamps, of inputs and outputs alike.

    Of each batch's part of a partition little is kept, for a batch holds consecutive offsets.
    """

    def __init__(self) -> None:
        self._types: set[int] = set()
        #: topic and partition → first offset, least and largest time, how far it fell back
        self._runs: dict[tuple[str, int], list[tuple[int, int, int, int]]] = {}

    def add(self, batch: pa.Table) -> None:
        """Some records as they were collected."""
        self._types.update(batch["timestamp_type"].unique().to_pylist())
        # without keys and values, which would be copied for nothing
        batch = batch.select(["topic", "partition", "offset", "timestamp_ms"])
        places = batch.select(["topic", "partition"]).group_by(["topic", "partition"])
        for place in places.aggregate([]).to_pylist():
            mine = pc.and_(
                pc.equal(batch["topic"], place["topic"]),
                pc.equal(batch["partition"], place["partition"]),
            )
            part = batch.filter(mine).sort_by("offset")
            at_ms = part["timestamp_ms"].to_numpy()
            back_ms = int((np.maximum.accumulate(at_ms) - at_ms).max())
            runs = self._runs.setdefault((place["topic"], place["partition"]), [])
            first = part["offset"][0].as_py()
            runs.append((first, int(at_ms.min()), int(at_ms.max()), back_ms))

    def clock(self) -> AppendClock:
        """What all of them say."""
        worst_ms = 0
        for runs in self._runs.values():
            seen_ms: Any = None
            for _, least_ms, most_ms, back_ms in sorted(runs):
                before_ms = 0 if seen_ms is None else seen_ms - least_ms
                worst_ms = max(worst_ms, back_ms, before_ms)
                seen_ms = most_ms if seen_ms is None else max(seen_ms, most_ms)
        return AppendClock(worst_ms, tuple(sorted(self._types)))
