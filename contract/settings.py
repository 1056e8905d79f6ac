"""The settings of a run: their names, defaults and bounds; nothing half-valid exists."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self

from contract.errors import UsageError, unknown_name
from contract.workload import load_workload

Arrival = Literal["adjacent", "spread"]
ARRIVALS: tuple[Arrival, ...] = ("adjacent", "spread")
DIALECTS = ("eager", "windowed")
RUNTIMES = ("docker", "embedded")

#: as many as compose/kafka.yml has
BROKERS_MAX = 9
#: observations a second of a lane and kind: one a slot; a slot is a minute of data
SECONDS_PER_SLOT_OF_DATA = 60
#: with longer slots an engine could not be seen to keep up in the time it is given for that
TEMPORAL_SCALE_MIN = 4


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What one run is asked to do. `rate` counts records of all kinds together."""

    workload: str = "traffic"
    stage: str = "join"
    engine: str = "spark"
    mode: str = "real-time"
    dialect: str = "eager"
    runtime: str = "embedded"
    rate: int = 2000
    warmup_s: float = 10
    duration_s: float = 35
    cooldown_s: float = 4
    brokers: int = 3
    partitions: int = 2
    parallelism: int = 2
    instances: int = 1
    seed: int = 1
    temporal_scale: float = 60
    arrival: Arrival = "adjacent"
    source: str = "network"
    checkpoint_s: float = 10
    #: settings of the engine's own, by the names its engine.toml declares
    engine_settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        workload = load_workload(self.workload)
        stage = workload.stage(self.stage)
        object.__setattr__(self, "stage", stage.name)
        if self.arrival not in ARRIVALS:
            raise unknown_name("ARRIVAL", self.arrival, ARRIVALS)
        if self.dialect not in DIALECTS:
            raise unknown_name("DIALECT", self.dialect, DIALECTS)
        if self.runtime not in RUNTIMES:
            raise unknown_name("RUNTIME", self.runtime, [*RUNTIMES, "auto"])
        _within("RATE", self.rate, 2, 2_000_000)
        _within("WARMUP", self.warmup_s, 0, 3600)
        _within("DURATION", self.duration_s, 1, 24 * 3600)
        _within("COOLDOWN", self.cooldown_s, 0, 600)
        _within("BROKERS", self.brokers, 1, BROKERS_MAX)
        _within("PARTITIONS", self.partitions, 1, 256)
        _within("PARALLELISM", self.parallelism, 1, 256)
        _within("INSTANCES", self.instances, 1, 64)
        _within("SEED", self.seed, 0, 2**31 - 1)
        _within("TEMPORAL_SCALE", self.temporal_scale, TEMPORAL_SCALE_MIN, 6000)
        _within("CHECKPOINT", self.checkpoint_s, 1, 3600)
        if self.records_per_slot < 2:
            raise UsageError(
                f"RATE={self.rate} at TEMPORAL_SCALE={self.temporal_scale:g} gives less than one "
                f"lane a slot; raise RATE or lower TEMPORAL_SCALE"
            )
        if self.duration_slots < 1:
            raise UsageError(
                f"DURATION={self.duration_s:g} is shorter than one slot of {self.slot_s:g} s"
            )
        if self.duration_slots <= stage.look_back_slots and stage.look_back_slots:
            raise UsageError(
                f"DURATION={self.duration_s:g} is shorter than what {stage.name} looks back "
                f"({stage.look_back_slots} slots of {self.slot_s:g} s); give at least "
                f"{math.ceil((stage.look_back_slots + 1) * self.slot_s)}"
            )

    @property
    def slot_s(self) -> float:
        """How long a slot lasts on the wall."""
        return SECONDS_PER_SLOT_OF_DATA / self.temporal_scale

    @property
    def records_per_slot(self) -> int:
        """Records of all kinds in a slot: two for each lane."""
        return 2 * max(0, round(self.rate * self.slot_s / 2))

    @property
    def warmup_slots(self) -> int:
        """Whole slots of warm-up, rounded up."""
        return math.ceil(self.warmup_s / self.slot_s)

    @property
    def duration_slots(self) -> int:
        """Whole slots that are measured."""
        return math.floor(self.duration_s / self.slot_s + 1e-9)

    @property
    def fed_s(self) -> float:
        """How long input goes on after the engine keeps up."""
        return self.warmup_s + self.duration_s + self.cooldown_s

    @property
    def cooldown_slots(self) -> int:
        """Whole slots of cool-down, rounded up."""
        return math.ceil(self.cooldown_s / self.slot_s)

    @property
    def replication(self) -> int:
        """How many brokers hold each partition."""
        return min(3, self.brokers)

    def to_json(self) -> dict[str, Any]:
        """As the `settings` of run.json, with what follows from them."""
        values = asdict(self)
        for name in ("workload", "stage", "engine", "mode", "dialect", "runtime"):
            del values[name]
        values["engine"] = values.pop("engine_settings")
        values["replication"] = self.replication
        return values

    @classmethod
    def from_json(cls, run: dict[str, Any]) -> Self:
        """From run.json or conditions.json (top-level names and `settings`)."""
        given = dict(run["settings"])
        given["engine_settings"] = given.pop("engine")
        for name in ("workload", "stage", "engine", "mode", "dialect", "runtime"):
            given[name] = run[name]
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in given.items() if k in known})


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        shown = f"{value:g}" if isinstance(value, float) else str(value)[:20]
        raise UsageError(f"{name}={shown} cannot be; give {low:,.10g} to {high:,.10g}")
