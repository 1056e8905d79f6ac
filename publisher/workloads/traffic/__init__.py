"""The traffic workload's observations: of a network that is made up, or of recorded files."""

from __future__ import annotations

from pathlib import Path

from publisher.order import Order
from publisher.source import Share, Source
from publisher.workloads.traffic.network import NetworkSource
from publisher.workloads.traffic.recorded import RecordedSource
from publisher.workloads.traffic.recording import Recording

NETWORK = "network"


def look_at(source: str) -> None:
    """Refuse a recorded source that holds no usable line; reads up to the first one."""
    if source != NETWORK:
        Recording(Path(source), first_only=True)


def open_source(order: Order, share: Share) -> Source:
    """Prepare a sender's share of the order's source: `network`, or a recorded file or folder."""
    if order.source == NETWORK:
        return NetworkSource(order, share)
    return RecordedSource(order, share, Path(order.source))
