"""Keep tables apart by location: in memory, or in files where they are too large for it."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

#: records that are judged together: with their outputs they take a few hundred megabytes
RECORDS_PER_PILE = 250_000


class Piles:
    """Rows of one kind; those of a location are always on the same pile."""

    def __init__(self, name: str, number: int, scratch: Path) -> None:
        self.number = number
        self._held: list[pa.Table] = []
        self._paths = [scratch / f"{name}-{pile}.arrow" for pile in range(number)]
        self._writers: list[pa.ipc.RecordBatchStreamWriter | None] = [None] * number

    def add(self, table: pa.Table) -> None:
        """Lay each row on its pile."""
        if self.number == 1:
            self._held.append(table)
            return
        pile_of_row = _piles_of(table["location"], self.number)
        for pile in np.unique(pile_of_row).tolist():
            rows = table.filter(pa.array(pile_of_row == pile))
            writer = self._writers[pile]
            if writer is None:
                writer = pa.ipc.new_stream(self._paths[pile], table.schema)
                self._writers[pile] = writer
            writer.write_table(rows)

    def take(self, pile: int, schema: pa.Schema) -> pa.Table:
        """All rows of a pile, which is gone then; `schema` is what an empty one has."""
        if self.number == 1:
            held, self._held = self._held, []
            return pa.concat_tables(held) if held else schema.empty_table()
        writer, self._writers[pile] = self._writers[pile], None
        if writer is None:
            return schema.empty_table()
        writer.close()
        with pa.OSFile(str(self._paths[pile])) as file:
            table = pa.ipc.open_stream(file).read_all()
        self._paths[pile].unlink()
        return table


def _piles_of(location: pa.ChunkedArray, number: int) -> npt.NDArray[np.int64]:
    """The pile of each row, by its location's bytes; null counts as empty."""
    coded = location.combine_chunks().fill_null("").dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    piles = [zlib.crc32(str(name).encode()) % number for name in coded.dictionary.to_pylist()]
    of_row = np.array(piles, np.int64)[coded.indices.to_numpy()]
    return np.asarray(of_row, np.int64)
