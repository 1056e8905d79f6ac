"""The facts in which doubts are found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """What the doubts are found in; the defaults are a run without fault."""

    leaders_before: list[dict[str, Any]] = field(default_factory=list)
    leaders_after: list[dict[str, Any]] | None = None
    clock_broker: int | None = None
    declared_types: dict[str, str] = field(default_factory=dict)
    #: as collected: 1 is LogAppendTime
    collected_types: tuple[int, ...] = ()
    clock_step_ms: float = 0.0
    append_back_ms: float = 0.0
    #: the smallest `last`
    last_ms_min: float | None = None
    scheduled: int | None = None
    appended: int = 0
    late_ms_p99: float | None = None
    disorder_ms: float = 0.0
    disorder_ms_max: float | None = None
    missing: int = 0
    duplicate: int = 0
    wrong: int = 0
    unexpected: int = 0
    delivery: str = "exactly-once"
    fault_injected: bool = False
    deaths: list[dict[str, Any]] = field(default_factory=list)
    #: why the topics could not be collected
    not_collected: str | None = None
    interrupted: bool = False
    never_ready: str | None = None
    measured: bool = True
    drained: bool = True
    drain_says: str = ""
    #: outputs of measured slots, and outputs of any slot that were appended within the window
    came: int = 0
    put_out: int = 0
    #: the median of `last` in each measured slot, in their order
    slot_medians_ms: list[float] = field(default_factory=list)
    last_ms_p50: float | None = None
    due_ms_p50: float | None = None
    samples: int = 0
    #: how many of them came before their window could close, and by how much at most
    hasty: int = 0
    hasty_ms_max: float = 0.0
    #: how many of them came in stalls
    stalled: int = 0
    window_s: float | None = None
    checkpoint_s: float | None = None
    busy_share: float | None = None
    steal_share: float | None = None
    foreign_share: float | None = None
    monitoring: bool = True
    #: services that the Docker engine's own statistics stand in for
    stood_in: list[str] = field(default_factory=list)
    #: services that nobody looked at
    unseen: list[str] = field(default_factory=list)
    swapped_bytes: int = 0
    disk_free_bytes: int | None = None
