"""What a source has, record by record: as tests look at it."""

from __future__ import annotations

from collections.abc import Iterator

from publisher.order import Order
from publisher.source import Batch, Source

#: due_ns, topic, partition, key, value
Record = tuple[int, str, int, bytes, bytes | None]


def records_of(order: Order, source: Source, slot: int) -> list[Record]:
    """What a source has in a slot, one by one."""
    due = source.due(slot)
    found = [record for batch in due.batches for record in _each(order, batch)]
    assert len(found) == due.records
    return found


def _each(order: Order, batch: Batch) -> Iterator[Record]:
    topics = list(order.topics.values())
    for due_ns, topic, partition, key, value in zip(
        batch.due_ns.tolist(),
        batch.topics.tolist(),
        batch.partitions.tolist(),
        batch.keys,
        batch.values,
        strict=True,
    ):
        assert key is not None
        yield due_ns, topics[topic], partition, key, value
