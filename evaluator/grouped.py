"""Group rows that come a table at a time, and keep no more than the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pyarrow as pa

Fold = Literal["sum", "min", "max"]
#: rows that wait before they are grouped again
_ROWS_MAX = 2_000_000


class Grouped:
    """By the columns `keys`: of each column in `folds` its sum, least or largest."""

    def __init__(self, keys: tuple[str, ...], folds: Mapping[str, Fold]) -> None:
        self._keys, self._folds = keys, folds
        self._held: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        """Rows with all these columns."""
        self._held.append(self._grouped(rows))
        if sum(table.num_rows for table in self._held) > _ROWS_MAX:
            self._held = [self._grouped(pa.concat_tables(self._held))]

    def table(self) -> pa.Table | None:
        """A row a group; None where no table was ever given."""
        if not self._held:
            return None
        self._held = [self._grouped(pa.concat_tables(self._held))]
        return self._held[0]

    def _grouped(self, rows: pa.Table) -> pa.Table:
        found = rows.group_by(list(self._keys)).aggregate(list(self._folds.items()))
        named = [f"{name}_{fold}" for name, fold in self._folds.items()]
        return found.select([*self._keys, *named]).rename_columns([*self._keys, *self._folds])
