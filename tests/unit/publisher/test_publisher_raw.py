"""Raw sources: verbatim, in order, backlog first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.errors import UsageError
from publisher.order import Order
from publisher.raw import open_source
from publisher.source import Share
from tests.unit.publisher.records import Record, records_of

Sent = Callable[..., list[Record]]


def raw(at_slot: float, key: str = "p/lane1", value: str | None = "{", kind: str = "flow") -> str:
    """A line of a raw file."""
    return json.dumps({"at_slot": at_slot, "kind": kind, "key": key, "value": value})


def settings(tmp_path: Path, *lines: str, **more: Any) -> dict[str, Any]:
    """The order's changes for a raw file of these lines."""
    path = tmp_path / "raw.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return {"source": f"raw:{path}", "raw_event_start_s": 1000, "slots_max": 100, **more}


def test_records_are_sent_verbatim_when_they_are_due(
    order: Order, sent: Sent, tmp_path: Path
) -> None:
    more = settings(
        tmp_path,
        raw(3.25, value="x{"),
        raw(0.5, key="no slash", kind="speed", value=None),
        "",
        raw(3.0, value=""),
    )
    assert [r[:2] + r[3:] for r in sent(order, 0, **more)] == [
        (order.slot_ns // 2, "test.speed", b"no slash", None)
    ]
    assert sent(order, 1, **more) == []
    assert [r[4] for r in sent(order, 3, **more)] == [b"", b"x{"]
    assert [r[0] for r in sent(order, 3, **more)] == [3 * order.slot_ns, order.slot_ns * 13 // 4]


def test_equal_times_keep_the_files_order(order: Order, tmp_path: Path) -> None:
    values = [str(n) for n in (5, 3, 9, 1)]
    more = settings(tmp_path, raw(2), *(raw(1, value=v) for v in values))
    source = open_source(replace(order, **more), Share(0, 1))
    assert [r[4] for r in records_of(order, source, 1)] == [v.encode() for v in values]
    assert source.facts.slots == 3
    assert source.facts.event_start_s == 1000
    assert source.facts.report.records == 5


def test_backlog_is_due_at_the_start(order: Order, sent: Sent, tmp_path: Path) -> None:
    more = settings(tmp_path, raw(0), raw(1.5), raw(2), skip_pacing_before_slot=2.0)
    assert [r[0] for r in sent(order, 0, **more)] == [0, 0]
    assert [r[0] for r in sent(order, 2, **more)] == [2 * order.slot_ns]


def test_slots_max_bounds_it_and_senders_share_it(order: Order, sent: Sent, tmp_path: Path) -> None:
    lines = [raw(n / 10, key=f"p{n % 7}/lane1", value=str(n)) for n in range(50)]
    more = settings(tmp_path, *lines, slots_max=3)
    for slot, count in ((0, 10), (2, 10), (3, 0)):
        alone = sent(order, slot, **more)
        assert len(alone) == count
        assert sent(order, slot, 3, **more) == alone


@pytest.mark.parametrize(
    "line",
    [
        "rubbish",
        "[]",
        "{}",
        raw(-1),
        raw(0, kind="weather"),
        raw(float("nan")),
        raw(0).replace('"p/lane1"', "7"),
        raw(0).replace('"{"', "7"),
        "",
    ],
)
def test_a_line_that_is_no_raw_record_is_the_users_mistake(
    order: Order, sent: Sent, tmp_path: Path, line: str
) -> None:
    with pytest.raises(UsageError, match=r"raw\.jsonl"):
        sent(order, 0, **settings(tmp_path, line))
