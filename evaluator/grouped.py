"""Group rows that come a table at a time, and keep no more than the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pyarrow as pa

Fold = Literal["sum", "min", "max"]
#: rows that wait at least before they are grouped again; then as many as there are groups
_ROWS_MIN = 500_000


class Grouped:
    """By the columns `keys`: of each column in `folds` its sum, least or largest."""

    def __init__(self, keys: tuple[str, ...], folds: Mapping[str, Fold]) -> None:
        self._keys, self._folds = keys, folds
        self._held: list[pa.Table] = []
        self._groups = 0

    def add(self, rows: pa.Table) -> None:
        """Rows with all these columns."""
        self._held.append(self._grouped(rows))
        held = sum(table.num_rows for table in self._held)
        if held - self._groups > max(_ROWS_MIN, self._groups):
            self._gather()

    def table(self) -> pa.Table | None:
        """A row a group; None where no table was ever given."""
        if not self._held:
            return None
        return self._gather()

    def _gather(self) -> pa.Table:
        rows = self._grouped(pa.concat_tables(self._held))
        self._held, self._groups = [rows], rows.num_rows
        return rows

    def _grouped(self, rows: pa.Table) -> pa.Table:
        found = rows.group_by(list(self._keys)).aggregate(list(self._folds.items()))
        named = [f"{name}_{fold}" for name, fold in self._folds.items()]
        return found.select([*self._keys, *named]).rename_columns([*self._keys, *self._folds])
