"""Keep evidence of what was sent when: a page a slot, spooled to disk once all of it is settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

from publisher.messages import Totals
from publisher.plan import Ints

Clock = Callable[[], int]

#: what stands in `Page.acknowledged_ns` for a record that was refused, or is still under way
NEVER_NS = -1
#: what stands in the spool for "never"
_NEVER_US = np.iinfo(np.int32).min
_INT32_MAX = np.iinfo(np.int32).max
_ROWS_PER_GROUP = 1 << 18

_ROW = np.dtype([("slot", "<i4"), ("due_us", "<i8"), ("late_us", "<i4"), ("ack_us", "<i4")])
_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("due_us", pa.int64()),
        ("late_us", pa.int32()),
        ("ack_us", pa.int32()),
    ]
)


class Page:
    """The records of one slot: when each was due, sent and acknowledged, in clock's ns."""

    __slots__ = ("_pending", "acknowledged_ns", "due_ns", "first_row", "sent_ns", "slot")

    def __init__(self, slot: int, first_row: int, records: int) -> None:
        self.slot = slot
        #: over all slots of the sender
        self.first_row = first_row
        self.due_ns = np.zeros(records, dtype=np.int64)
        self.sent_ns = np.zeros(records, dtype=np.int64)
        self.acknowledged_ns = np.full(records, NEVER_NS, dtype=np.int64)
        self._pending = records

    def __len__(self) -> int:
        return len(self.due_ns)

    def settle(self, indices: Ints, at_ns: int | Ints) -> None:
        """These were acknowledged then; each is told once."""
        self.acknowledged_ns[indices] = at_ns
        self._pending -= len(indices)

    @property
    def settled(self) -> bool:
        """Whether each row has been acknowledged or refused."""
        return not self._pending

    def rows(self, start_ns: int) -> npt.NDArray[np.void]:
        """As the rows of the evidence file."""
        rows = np.empty(len(self), dtype=_ROW)
        rows["slot"] = self.slot
        rows["due_us"] = (self.due_ns - start_ns) // 1000
        rows["late_us"] = _us_within_int32(self.sent_ns - self.due_ns)
        rows["ack_us"] = np.where(
            self.acknowledged_ns == NEVER_NS,
            _NEVER_US,
            _us_within_int32(self.acknowledged_ns - self.due_ns),
        )
        return rows


def _us_within_int32(ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.clip(ns // 1000, _NEVER_US + 1, _INT32_MAX)


class Ledger:
    """One sender's pages. Settled ones go to a spool, so memory holds what is under way only."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._pages: deque[Page] = deque()
        self._rows = 0
        self._totals = Totals()
        self.start_ns = 0

    def open_page(self, slot: int, records: int) -> Page:
        """A new page; spools the older ones that are settled."""
        while self._pages and self._pages[0].settled:
            self._put_away(self._pages.popleft())
        page = Page(slot, self._rows, records)
        self._rows += records
        self._pages.append(page)
        return page

    def settle(self, rows: Ints, delivered: npt.NDArray[np.bool_], at_ns: int) -> None:
        """Rows of any pages were delivered by now, or never will be."""
        first, last = int(rows.min()), int(rows.max())
        for page in self._pages:
            if first >= page.first_row + len(page) or last < page.first_row:
                continue
            indices = rows - page.first_row
            ours = (indices >= 0) & (indices < len(page))
            page.settle(indices[ours], np.where(delivered[ours], at_ns, NEVER_NS))

    def close(self) -> Totals:
        """Spool all pages; what is not acknowledged by now has failed."""
        while self._pages:
            self._put_away(self._pages.popleft())
        self._spool.flush()
        return self._totals

    def _put_away(self, page: Page) -> None:
        rows = page.rows(self.start_ns)
        self._spool.write(rows.tobytes())
        acknowledged = int(np.count_nonzero(rows["ack_us"] != _NEVER_US))
        self._totals += Totals(len(rows), len(rows), acknowledged, len(rows) - acknowledged)


def write_parquet(spool: Path, target: Path) -> None:
    """Turn a spool into the evidence file, a block at a time, whole or not at all."""
    draft = target.with_name(f".{target.name}.draft")
    with spool.open("rb") as rows, pq.ParquetWriter(draft, _SCHEMA) as writer:
        while block := rows.read(_ROWS_PER_GROUP * _ROW.itemsize):
            writer.write_table(_table(np.frombuffer(block, dtype=_ROW)))
    draft.replace(target)
    spool.unlink()


def _table(rows: npt.NDArray[np.void]) -> Any:
    columns = [pa.array(np.ascontiguousarray(rows[name])) for name in ("slot", "due_us", "late_us")]
    acknowledged = np.ascontiguousarray(rows["ack_us"])
    columns.append(pa.array(acknowledged, mask=acknowledged == _NEVER_US))
    return pa.table(columns, schema=_SCHEMA)
