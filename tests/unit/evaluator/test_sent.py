"""The publisher's account, told slot by slot, whoever sent what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contract.errors import ServiceFailed
from evaluator import sent as room
from evaluator.sent import LATE_QUANTILES, Sent, SentSlot

Row = tuple[int, int | None, int | None]


def account(folder: Path, sender: int, rows: list[Row]) -> None:
    slot, late_us, ack_us = (pa.array(list(c), pa.int32()) for c in zip(*rows, strict=True))
    table = pa.table({"slot": slot, "late_us": late_us, "ack_us": ack_us})
    pq.write_table(table, folder / f"publisher-{sender}.parquet", row_group_size=7)


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    """Two senders' accounts of ten slots; some records were not sent, some not acknowledged."""
    rng = np.random.default_rng(1)
    everything: list[Row] = []
    for sender in range(2):
        mine: list[Row] = []
        for slot in range(10):
            for _ in range(int(rng.integers(1, 30))):
                late = None if rng.random() < 0.1 else int(rng.integers(0, 50_000))
                mine.append((slot, late, None if rng.random() < 0.2 else 5))
        account(tmp_path, sender, mine)
        everything += mine
    return everything


def expected(rows: list[Row], slot: int) -> SentSlot:
    late = [row[1] / 1000 for row in rows if row[0] == slot and row[1] is not None]
    acknowledged = sum(row[0] == slot and row[2] is not None for row in rows)
    quantiles = {name: float(np.quantile(late, q)) for name, q in LATE_QUANTILES}
    return SentSlot(sum(row[0] == slot for row in rows), len(late), acknowledged, quantiles)


@pytest.mark.parametrize(("batch_rows", "waiting"), [(1, 1), (5, 3), (1 << 16, 64)])
def test_each_slot_is_told_as_if_all_had_been_read_at_once(
    batch_rows: int,
    waiting: int,
    rows: list[Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "_BATCH_ROWS", batch_rows)
    monkeypatch.setattr(room, "_WAITING_MAX", waiting)
    found = Sent.read(tmp_path, (2, 7))
    assert found.of_slot == {slot: expected(rows, slot) for slot in range(10)}
    late = [row[1] / 1000 for row in rows if 2 <= row[0] <= 7 and row[1] is not None]
    for _, q in LATE_QUANTILES:
        assert found.late_ms.quantile(q) == np.quantile(late, q)
    assert Sent.read(tmp_path, None).late_ms.count == sum(row[1] is not None for row in rows)


def test_what_was_never_sent_has_no_lateness(tmp_path: Path) -> None:
    account(tmp_path, 0, [(0, None, None), (0, None, None), (1, 3, 4)])
    found = Sent.read(tmp_path, (0, 0))
    assert found.of_slot[0] == SentSlot(2, 0, 0, dict.fromkeys(("p50", "p99", "max")))
    assert found.late_ms.count == 0


def test_no_account_tells_of_nothing(tmp_path: Path) -> None:
    found = Sent.read(tmp_path, (0, 9))
    assert (found.of_slot, found.late_ms.count) == ({}, 0)


def test_an_account_that_is_out_of_order_is_refused(tmp_path: Path) -> None:
    account(tmp_path, 0, [(0, 1, 1), (1, 1, 1), (0, 1, 1)])
    with pytest.raises(ServiceFailed, match="tells of slot 0 twice"):
        Sent.read(tmp_path, None)
