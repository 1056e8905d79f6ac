"""Lay rows apart, so that what belongs together is in memory together and the rest is not."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.arrays import IntArray


class Piles:
    """Rows of one schema on numbered piles; a single one stays in memory, others are files."""

    def __init__(self, name: str, schema: pa.Schema, number: int, scratch: Path) -> None:
        self.number, self._schema = number, schema
        self._in_memory: list[pa.Table] = []
        self._files = [scratch / f"{name}-{pile:05d}.arrows" for pile in range(number)]
        self._sinks: dict[int, pa.ipc.RecordBatchStreamWriter] = {}

    def lay(self, rows: pa.Table, pile_of_row: IntArray) -> None:
        """Put each row on its pile."""
        if self.number == 1:
            self._in_memory.append(rows)
            return
        by_pile = rows.take(np.argsort(pile_of_row, kind="stable"))
        ends = np.cumsum(np.bincount(pile_of_row, minlength=self.number)).tolist()
        for pile, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if end > start:
                self._sink(pile).write_table(by_pile.slice(start, end - start))

    def take(self, pile: int) -> pa.Table:
        """The rows of a pile, in one piece (each piece costs who works on it); it is gone then."""
        if self.number == 1:
            rows = pa.concat_tables([self._schema.empty_table(), *self._in_memory])
            self._in_memory.clear()
            return rows.combine_chunks()
        if pile not in self._sinks:
            return self._schema.empty_table()
        self._sinks.pop(pile).close()
        with pa.memory_map(str(self._files[pile])) as file:
            rows = pa.ipc.open_stream(file).read_all().combine_chunks()
        self._files[pile].unlink()
        return rows

    def _sink(self, pile: int) -> pa.ipc.RecordBatchStreamWriter:
        if pile not in self._sinks:
            self._sinks[pile] = pa.ipc.new_stream(str(self._files[pile]), self._schema)
        return self._sinks[pile]


def by_text(column: pa.ChunkedArray, number: int) -> IntArray:
    """For each text one of so many numbers, always the same for the same text."""
    coded = pc.dictionary_encode(column).unify_dictionaries().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], coded.type)
    of_text = [zlib.crc32(text.encode()) % number for text in coded.dictionary.to_pylist()]
    found: IntArray = np.array(of_text, np.int64)[coded.indices.to_numpy()]
    return found
