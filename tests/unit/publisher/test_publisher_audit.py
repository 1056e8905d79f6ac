"""The evidence files: their columns, and what stands in them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]

from publisher.audit import NEVER_NS, Ledger, Page, write_parquet
from publisher.messages import Totals

START_NS = 7_000_000_000


def test_evidence_has_the_documented_columns(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    page = Page(3, 100, 2)
    page.due_ns[:] = (START_NS, START_NS + 2_000_000)
    page.sent_ns[:] = page.due_ns + 1_500
    page.settle(np.array([1]), START_NS + 5_000_000)
    assert not page.settled
    page.settle(np.array([0]), NEVER_NS)
    assert page.settled
    spool.write_bytes(page.rows(START_NS).tobytes())
    write_parquet(spool, tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert [(f.name, str(f.type)) for f in table.schema] == [
        ("slot", "int32"),
        ("due_us", "int64"),
        ("late_us", "int32"),
        ("ack_us", "int32"),
    ]
    assert table.to_pylist() == [
        {"slot": 3, "due_us": 0, "late_us": 1, "ack_us": None},
        {"slot": 3, "due_us": 2000, "late_us": 1, "ack_us": 3000},
    ]
    assert not spool.exists()


def test_hours_of_lateness_stay_within_their_column() -> None:
    page = Page(0, 0, 1)
    page.due_ns[:] = START_NS
    page.sent_ns[:] = START_NS + 10_000 * 1_000_000_000
    assert page.rows(START_NS)["late_us"].tolist() == [2**31 - 1]


def test_a_sender_without_a_record_leaves_an_empty_table(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.touch()
    write_parquet(spool, tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert (table.num_rows, table.num_columns) == (0, 4)


def test_a_report_may_tell_of_several_pages() -> None:
    spool = io.BytesIO()
    ledger = Ledger(spool)
    ledger.start_ns = START_NS
    pages = [ledger.open_page(slot, 3) for slot in range(3)]
    for page in pages:
        page.due_ns[:] = page.sent_ns[:] = START_NS
    rows = np.array([1, 2, 3, 4, 5, 6])
    ledger.settle(rows, rows != 4, START_NS + 1_000)
    assert [page.settled for page in pages] == [False, True, False]
    ledger.settle(np.array([0]), np.array([True]), START_NS + 2_000)
    ledger.open_page(3, 0)
    assert len(spool.getvalue()) == 6 * 20
    assert ledger.close() == Totals(9, 9, 6, 3)
