"""What a run is told, and what it tells engine and publisher in consequence; starts nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from conductor.engine_choice import EngineChoice
from contract.engine import (
    EngineOrder,
    EngineSpec,
    Execution,
    Topics,
    engine_settings_for,
    topics_text,
)
from contract.results import RunFolder
from contract.settings import RunSettings


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All that a run is told."""

    run_id: str
    folder: RunFolder
    settings: RunSettings
    engine: EngineChoice
    execution: Execution
    publisher_env: dict[str, str] = field(default_factory=dict)
    #: so many records are there before the engine is
    backlog: int = 0
    #: how many outputs must come, where that is known; otherwise those of the measured window
    owed: int | None = None
    #: processes besides the runtime's that must be idle before the engine is fed
    beside: tuple[int, ...] = ()
    #: done once the engine has been started: what may overlap with its start ends here
    before_input: Callable[[], None] = lambda: None

    @property
    def spec(self) -> EngineSpec:
        return self.engine.spec

    def engine_order(self, bootstrap_servers: str, topics: Topics, state_dir: str) -> EngineOrder:
        """What the engine is told."""
        settings = self.settings
        return EngineOrder(
            run_id=self.run_id,
            workload=settings.workload,
            stage=settings.stage,
            mode=settings.mode,
            dialect=settings.dialect,
            bootstrap_servers=bootstrap_servers,
            input_topics=topics.inputs,
            output_topic=topics.output,
            parallelism=settings.parallelism,
            instances=settings.instances,
            state_dir=state_dir,
            workload_params={},
            engine_settings=engine_settings_for(self.spec, settings),
        )

    def publisher_environment(
        self, bootstrap_servers: str, topics: Topics, bound_s: float
    ) -> dict[str, str]:
        """What the publisher is told; it ends by itself when `bound_s` have passed."""
        settings = self.settings
        return {
            "RUN_ID": self.run_id,
            "WORKLOAD": settings.workload,
            "BOOTSTRAP_SERVERS": bootstrap_servers,
            "INPUT_TOPICS": topics_text(topics.inputs),
            "PARTITIONS": str(settings.partitions),
            "RATE": str(settings.rate),
            "SEED": str(settings.seed),
            "TEMPORAL_SCALE": f"{settings.temporal_scale:g}",
            "ARRIVAL": settings.arrival,
            "SOURCE": settings.source,
            "SLOTS_MAX": str(math.ceil(bound_s / settings.slot_s)),
            "PUBLISHERS": "0",
            "EVIDENCE_DIR": str(self.folder.evidence),
        } | self.publisher_env

    @property
    def go_file(self) -> Path:
        """Once it is there, the prepared publisher begins."""
        return self.folder.evidence / ".publisher-go"
