"""Number identities: rows of several tables that tell the same thing get the same number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from evaluator.arrays import IntArray
from evaluator.workload import IDENTITY

#: above it a product of numbers may not fit 64 bits
_CODE_MAX = 2**62


def numbered(tables: Sequence[pa.Table]) -> tuple[list[IntArray], int]:
    """For each table the numbers of its rows' identities, and how many there are: 0, 1, 2, …"""
    code, size = np.zeros(sum(table.num_rows for table in tables), np.int64), 1
    for name in IDENTITY:
        chunks = [chunk for table in tables for chunk in table[name].chunks]
        column, different = _coded(pa.chunked_array(chunks, tables[0][name].type))
        if size * different > _CODE_MAX:
            code, size = _coded(pa.chunked_array([code]))
        code, size = code * different + column, size * different
    number, size = _coded(pa.chunked_array([code]))
    return np.split(number, np.cumsum([table.num_rows for table in tables])[:-1]), size


def _coded(values: pa.ChunkedArray) -> tuple[IntArray, int]:
    coded = values.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    indices: IntArray = coded.indices.to_numpy().astype(np.int64)
    return indices, max(1, len(coded.dictionary))
