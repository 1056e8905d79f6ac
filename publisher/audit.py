"""Keep evidence of what was sent when: a page a slot, spooled to disk once all of it is settled."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

from publisher.messages import Totals

Clock = Callable[[], int]

#: what stands in `Page.acknowledged_ns` for a record that was refused, or is still under way
REFUSED = -1
_PENDING = 0
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

    __slots__ = ("_clock", "acknowledged_ns", "due_ns", "sent_ns", "slot")

    def __init__(self, slot: int, clock: Clock) -> None:
        self.slot = slot
        self.due_ns = array("q")
        self.sent_ns = array("q")
        self.acknowledged_ns = array("q")
        self._clock = clock

    def open_row(self, due_ns: int) -> int:
        """A row for a record that is about to be sent; gives its index."""
        self.due_ns.append(due_ns)
        self.acknowledged_ns.append(_PENDING)
        return len(self.due_ns) - 1

    def acknowledge(self, index: int, error: object, _message: object) -> None:
        """The delivery report of the row with that index."""
        self.acknowledged_ns[index] = self._clock() if error is None else REFUSED

    def settled(self) -> bool:
        """Whether each row has been acknowledged or refused."""
        return _PENDING not in self.acknowledged_ns

    def rows(self, start_ns: int) -> npt.NDArray[np.void]:
        """As the rows of the evidence file."""
        due = np.array(self.due_ns, dtype=np.int64)
        rows = np.empty(len(due), dtype=_ROW)
        rows["slot"] = self.slot
        rows["due_us"] = (due - start_ns) // 1000
        rows["late_us"] = _us_within_int32(np.array(self.sent_ns, dtype=np.int64) - due)
        acknowledged = np.array(self.acknowledged_ns, dtype=np.int64)
        rows["ack_us"] = np.where(acknowledged > 0, _us_within_int32(acknowledged - due), _NEVER_US)
        return rows


def _us_within_int32(ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.clip(ns // 1000, _NEVER_US + 1, _INT32_MAX)


class Ledger:
    """One sender's pages. Settled ones go to a spool, so memory holds what is under way only."""

    def __init__(self, spool: IO[bytes], clock: Clock) -> None:
        self._spool = spool
        self._clock = clock
        self._pages: deque[Page] = deque()
        self._totals = Totals()
        self.start_ns = 0

    def open_page(self, slot: int) -> Page:
        """A new page; spools the older ones that are settled."""
        while self._pages and self._pages[0].settled():
            self._put_away(self._pages.popleft())
        page = Page(slot, self._clock)
        self._pages.append(page)
        return page

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
