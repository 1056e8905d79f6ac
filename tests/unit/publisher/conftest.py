"""What the publisher's tests share: an order to vary, and ways to look at what is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from publisher.order import Order
from publisher.sender_process import open_source
from publisher.source import Record, Share

ENVIRONMENT = {
    "RUN_ID": "test",
    "WORKLOAD": "traffic",
    "BOOTSTRAP_SERVERS": "127.0.0.1:1",
    "INPUT_TOPICS": "flow=test.flow,speed=test.speed",
    "PARTITIONS": "3",
    "RATE": "200",
    "SEED": "1",
    "TEMPORAL_SCALE": "60",
    "ARRIVAL": "adjacent",
    "SOURCE": "network",
    "SLOTS_MAX": "5",
    "PUBLISHERS": "1",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment that the publisher takes."""
    return {**ENVIRONMENT, "EVIDENCE_DIR": str(tmp_path / "evidence")}


@pytest.fixture
def order(environment: dict[str, str]) -> Order:
    """The order that this environment gives."""
    return Order.from_environment(environment)


@pytest.fixture
def sent() -> Callable[..., list[Record]]:
    """What that many senders together send in a slot, by due time."""

    def send(order: Order, slot: int, senders: int = 1, **changes: Any) -> list[Record]:
        changed = replace(order, **changes)
        shares = [open_source(changed, Share(index, senders)) for index in range(senders)]
        return sorted(record for share in shares for record in share.records(slot))

    return send
