"""Set the rows of latency.parquet against those that the topics give."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.rebuild.counting import Row
from evaluator.rebuild.stored import BATCH_ROWS
from evaluator.verify_parts import Check

#: of moments that are means or due times, in ms: a double of today has a quarter of a µs
MOMENT_MS = 1e-3

_IDENTITY = ("location", "lane", "kind", "slot")
#: output_ms first: rows of one identity are set against each other in its order
_MEASURED = ("output_ms", "input_last_ms", "input_mean_ms", "due_ms", "window_end_ms")
COLUMNS = (*_IDENTITY, *_MEASURED)

_Place = tuple[str, str, str, int]
_Values = tuple[Any, ...]


def told_rows(path: Path) -> Iterator[pa.Table]:
    """latency.parquet, some rows at a time; no rows where there is no file."""
    if not path.is_file():
        return
    file = pq.ParquetFile(path)
    there = [name for name in COLUMNS if name in file.schema_arrow.names]
    for batch in file.iter_batches(BATCH_ROWS, columns=there):
        yield pa.Table.from_batches([batch])


class Samples:
    """What differs between told and found rows."""

    def __init__(self, window_ends_ms: dict[int, int | None] | None) -> None:
        #: slot → when its window may close; None: nothing waits for that in this run
        self._window_ends_ms = window_ends_ms
        self._amiss: Counter[str] = Counter()
        self._example: dict[str, str] = {}
        self._columns: list[str] = list(_MEASURED)

    def compare(self, found: Iterable[Row], told: pa.Table) -> None:
        """The rows of some locations."""
        if told.column_names:
            self._columns = [name for name in _MEASURED if name in told.column_names]
        of_told = _by_place(told, self._columns) if told.column_names else {}
        of_found = self._by_place(found)
        for place, values in of_found.items():
            self._compare_place(place, sorted(of_told.pop(place, [])), sorted(values))
        for place, more in of_told.items():
            self._compare_place(place, more, [])

    def _by_place(self, found: Iterable[Row]) -> dict[_Place, list[_Values]]:
        known = len(self._columns)
        ends_ms = self._window_ends_ms or {}
        grouped: dict[_Place, list[_Values]] = {}
        for row in found:
            values = (*row[4:], ends_ms.get(row.slot))
            grouped.setdefault(row[:4], []).append(values[:known])
        return grouped

    def _compare_place(self, place: _Place, told: list[_Values], found: list[_Values]) -> None:
        if len(told) != len(found):
            more = "the topics do not hold" if len(told) > len(found) else "left out"
            self._note(more, place, abs(len(told) - len(found)), None)
            return
        for told_row, found_row in zip(told, found, strict=True):
            for name, one, other in zip(self._columns, told_row, found_row, strict=True):
                if one != other and not _near(one, other):
                    self._note(name, place, 1, (one, other))

    def _note(self, what: str, place: _Place, number: int, pair: _Values | None) -> None:
        self._amiss[what] += number
        where = " ".join(filter(None, place[:3])) + f" slot {place[3]}"
        says = f": written {pair[0]}, the topics say {pair[1]}" if pair else ""
        self._example.setdefault(what, f"{where}{says}")

    def checks(self, name: str) -> Iterator[Check]:
        """One for each column, and for rows that only one side has."""
        for what in ("the topics do not hold", "left out"):
            yield self._check(f"{name} latency.parquet, rows {what}", what)
        for column in self._columns:
            yield self._check(f"{name} latency.parquet {column}, rows amiss", column)

    def _check(self, where: str, what: str) -> Check:
        number = self._amiss[what]
        return Check(where, 0, f"{number}, first {self._example[what]}" if number else 0)


def _by_place(told: pa.Table, columns: list[str]) -> dict[_Place, list[_Values]]:
    places = (told[name].to_pylist() for name in _IDENTITY)
    values = zip(*(told[name].to_pylist() for name in columns), strict=True)
    grouped: dict[_Place, list[_Values]] = {}
    for location, lane, kind, slot, measured in zip(*places, values, strict=True):
        place = (location or "", lane or "", kind or "", slot)
        grouped.setdefault(place, []).append(measured)
    return grouped


def _near(one: Any, other: Any) -> bool:
    """Whether two moments are the same but for a double's last digits."""
    both = isinstance(one, float) and isinstance(other, int | float)
    return both and math.isclose(one, other, rel_tol=0, abs_tol=MOMENT_MS)
