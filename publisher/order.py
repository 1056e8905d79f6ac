"""Read what the publisher is asked to do from its environment; start nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from contract.engine import parse_topics
from contract.errors import UsageError
from contract.settings import Arrival, RunSettings
from contract.workload import load_workload

NS_PER_S = 1_000_000_000
PUBLISHERS_MAX = 64
RAW_PREFIX = "raw:"
#: longer than any slot, so that the settings' check of DURATION is none of ours
_ANY_DURATION_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Order:
    """What the publisher is asked to do."""

    run_id: str
    workload: str
    bootstrap_servers: str
    #: kind → topic, in the workload's order
    topics: Mapping[str, str]
    partitions: int
    rate: int
    seed: int
    arrival: Arrival
    source: str
    slots_max: int
    #: sender processes; 0: choose
    publishers: int
    evidence_dir: Path
    slot_ns: int
    #: what the rate asks for; a recorded or raw source may give another number
    records_per_slot: int
    #: the first record is due soon after this file is there; None: as soon as all are prepared
    go_file: Path | None = None
    #: raw source only: where its event time starts, and what of it is backlog
    raw_event_start_s: int | None = None
    skip_pacing_before_slot: float = 0.0

    @property
    def slot_ms(self) -> float:
        """How long a slot lasts on the wall."""
        return self.slot_ns / 1e6

    @property
    def raw_path(self) -> Path | None:
        """The file of a raw source, or None where the source is another."""
        if not self.source.startswith(RAW_PREFIX):
            return None
        return Path(self.source.removeprefix(RAW_PREFIX))

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Self:
        """Read and check the environment; a missing or odd variable is named."""
        workload = load_workload(_text(env, "WORKLOAD"))
        settings = RunSettings(
            workload=workload.name,
            stage=workload.stages[0].name,
            rate=_integer(env, "RATE", 2),
            seed=_integer(env, "SEED", 0),
            temporal_scale=_number(env, "TEMPORAL_SCALE"),
            arrival=_text(env, "ARRIVAL"),  # type: ignore[arg-type]  # checked by RunSettings
            partitions=_integer(env, "PARTITIONS", 1),
            source=_text(env, "SOURCE"),
            duration_s=_ANY_DURATION_S,
        )
        order = cls(
            run_id=_text(env, "RUN_ID"),
            workload=workload.name,
            bootstrap_servers=_text(env, "BOOTSTRAP_SERVERS"),
            topics=_topics(env, workload.kinds),
            partitions=settings.partitions,
            rate=settings.rate,
            seed=settings.seed,
            arrival=settings.arrival,
            source=settings.source,
            slots_max=_integer(env, "SLOTS_MAX", 1),
            publishers=_integer(env, "PUBLISHERS", 0),
            evidence_dir=Path(_text(env, "EVIDENCE_DIR")),
            slot_ns=round(settings.slot_s * NS_PER_S),
            records_per_slot=settings.records_per_slot,
            go_file=Path(env["GO_FILE"]) if env.get("GO_FILE", "").strip() else None,
            raw_event_start_s=_optional_integer(env, "RAW_EVENT_START_S"),
            skip_pacing_before_slot=_number(env, "SKIP_PACING_BEFORE_SLOT", 0.0),
        )
        if order.publishers > PUBLISHERS_MAX:
            raise UsageError(f"PUBLISHERS={order.publishers} cannot be; give 0 to {PUBLISHERS_MAX}")
        if order.raw_path is not None and order.raw_event_start_s is None:
            raise UsageError("a raw SOURCE needs RAW_EVENT_START_S in the environment")
        return order


def _text(env: Mapping[str, str], name: str) -> str:
    value = env.get(name, "").strip()
    if not value:
        raise UsageError(f"the environment does not set {name}")
    return value


def _integer(env: Mapping[str, str], name: str, low: int) -> int:
    text = _text(env, name)
    try:
        value = int(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not a whole number") from None
    if value < low:
        raise UsageError(f"{name}={value} cannot be; give at least {low}")
    return value


def _optional_integer(env: Mapping[str, str], name: str) -> int | None:
    return _integer(env, name, 0) if env.get(name, "").strip() else None


def _number(env: Mapping[str, str], name: str, default: float | None = None) -> float:
    if default is not None and not env.get(name, "").strip():
        return default
    text = _text(env, name)
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not a number") from None
    if not math.isfinite(value):
        raise UsageError(f"{name}={text} is not a number")
    return value


def _topics(env: Mapping[str, str], kinds: tuple[str, ...]) -> dict[str, str]:
    text = _text(env, "INPUT_TOPICS")
    try:
        topics = {kind.strip(): topic.strip() for kind, topic in parse_topics(text).items()}
    except ValueError:
        topics = {}
    if set(topics) != set(kinds) or not all(topics.values()):
        wanted = ",".join(f"{kind}=<topic>" for kind in kinds)
        raise UsageError(f"INPUT_TOPICS={text} cannot be; give {wanted}")
    return {kind: topics[kind] for kind in kinds}
