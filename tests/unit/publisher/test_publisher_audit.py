"""The evidence files: their columns, and what stands in them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped,unused-ignore]
from confluent_kafka import KafkaError

from publisher.audit import Page, write_parquet

START_NS = 7_000_000_000


def test_evidence_has_the_documented_columns(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    page = Page(3, lambda: START_NS + 5_000_000)
    for due_ns in (0, 2_000_000):
        page.open_row(START_NS + due_ns)
        page.sent_ns.append(START_NS + due_ns + 1_500)
    page.acknowledge(1, None, None)
    assert not page.settled()
    page.acknowledge(0, KafkaError(-192), None)
    assert page.settled()
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
    page = Page(0, lambda: START_NS)
    page.open_row(START_NS)
    page.sent_ns.append(START_NS + 10_000 * 1_000_000_000)
    assert page.rows(START_NS)["late_us"].tolist() == [2**31 - 1]


def test_a_sender_without_a_record_leaves_an_empty_table(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.touch()
    write_parquet(spool, tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert (table.num_rows, table.num_columns) == (0, 4)
