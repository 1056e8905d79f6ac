"""Decide when each observation is due, in which order and by which sender; send nothing."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from contract.settings import Arrival

Ints = npt.NDArray[np.int64]

_FIRST_MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
_WEEKS = 51
#: runs start between six and ten: the hours in which the readings change most
_START_HOUR = 6
_START_MINUTES = 240


def due_ns(slot: int, index: int, records: int, slot_ns: int) -> int:
    """When record `index` of `records` of a slot is due, counted from the start."""
    return slot * slot_ns + index * slot_ns // records


def offsets_ns(records: int, slot_ns: int) -> Ints:
    """When each of a slot's records is due, counted from the slot's start."""
    # in two steps, so that no product leaves 64 bits
    whole, rest = divmod(slot_ns, records) if records else (0, 0)
    index = np.arange(records, dtype=np.int64)
    return index * whole + index * rest // max(records, 1)


def event_ms(records: int) -> Ints:
    """The milliseconds of event time of each of a slot's records."""
    return np.arange(records, dtype=np.int64) * 1000 // max(records, 1)


def sending_order(arrival: Arrival, location_of: Ints, locations: int) -> Ints:
    """Which record comes when: indices into records that are given location by location.

    Spread: record j of the m of a location comes after the share (j + location/locations)/m of
    the slot, so locations follow one another in each of its m parts.
    """
    if arrival == "adjacent":
        return np.arange(len(location_of), dtype=np.int64)
    counts = np.bincount(location_of, minlength=locations)
    firsts = np.cumsum(counts) - counts
    rank = np.arange(len(location_of), dtype=np.int64) - firsts[location_of]
    share = (rank + location_of / max(locations, 1)) / counts[location_of]
    return np.argsort(share, kind="stable")


def partition_of(location: str, partitions: int) -> int:
    """The partition of a location's records, the same in each topic."""
    return zlib.crc32(location.encode()) % partitions


def event_second(start: datetime, slot: int) -> bytes:
    """What a timestamp of that slot begins with."""
    return (start + timedelta(seconds=slot)).strftime("%Y-%m-%dT%H:%M:%S").encode()


def event_start(seed: int) -> datetime:
    """Where event time starts: a whole minute of a working day of 2026's, told by the seed."""
    drawn = zlib.crc32(f"event start of seed {seed}".encode())
    drawn, week = divmod(drawn, _WEEKS)
    drawn, weekday = divmod(drawn, 5)
    minute = drawn % _START_MINUTES
    return _FIRST_MONDAY + timedelta(weeks=week, days=weekday, hours=_START_HOUR, minutes=minute)
