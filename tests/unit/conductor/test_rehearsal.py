"""The brokers' warm-up: on topics of its own, bounded, and no trace of it in the run."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.engine_choice import EngineChoice
from conductor.progress import Progress
from conductor.rehearsal import REHEARSAL_S_MAX, rehearse
from conductor.run_plan import RunPlan
from contract.engine import EngineSpec
from contract.results import RunFolder
from contract.settings import RunSettings
from tests.unit.conductor.fakes import ENGINES, Clock, FakeCluster, FakeRuntime


class Place:
    """A runtime of fakes and what a first run is told."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.cluster = FakeCluster(clock)
        (folder / "scratch" / "rehearsal").mkdir(parents=True)
        self.runtime = FakeRuntime(folder / "scratch", clock, self.cluster)
        spec = EngineSpec.read(ENGINES / "spark" / "engine.toml")
        self.plan = RunPlan(
            run_id="campaign-1-parse",
            folder=RunFolder(folder / "runs" / "1-parse"),
            settings=RunSettings(stage="parse", temporal_scale=120, source="/recorded"),
            engine=EngineChoice(spec, ENGINES / "spark"),
            execution=spec.executions[0],
        )

    def rehearse(self) -> None:
        rehearse(self.plan, self.runtime, self.cluster, Progress(io.StringIO()))


@pytest.fixture
def place(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A rehearsal whose waiting takes no time."""
    monkeypatch.setattr("conductor.rehearsal.time", clock)
    return Place(tmp_path, clock)


def ended(place: Place, code: int) -> Callable[[], None]:
    def end() -> None:
        place.runtime.publisher.ended = code

    return end


@pytest.mark.parametrize("code", [0, 1, -9])
def test_however_it_ends_nothing_of_it_is_left(place: Place, clock: Clock, code: int) -> None:
    clock.at(5, ended(place, code))
    place.rehearse()
    assert place.runtime.run_children == []
    topics = ["campaign-1-parse-rehearsal.flow", "campaign-1-parse-rehearsal.speed"]
    assert [created[0] for created in place.cluster.created] == [topics]
    env = place.runtime.publisher_env
    assert env["INPUT_TOPICS"] == f"flow={topics[0]},speed={topics[1]}"
    assert env["SOURCE"] == "network"
    assert env["SLOTS_MAX"] == str(round(REHEARSAL_S_MAX * 2))
    assert not place.plan.folder.path.exists()


@pytest.mark.parametrize("warmup_s", [2, 0])
def test_it_is_no_longer_than_the_warm_up(place: Place, clock: Clock, warmup_s: float) -> None:
    place.plan = replace(place.plan, settings=replace(place.plan.settings, warmup_s=warmup_s))
    clock.at(1, ended(place, 0))
    place.rehearse()
    slots = place.runtime.publisher_env.get("SLOTS_MAX")
    assert slots == (str(warmup_s * 2) if warmup_s else None)


def test_a_publisher_that_does_not_end_is_not_waited_for_for_long(
    place: Place, clock: Clock
) -> None:
    start = clock.monotonic()
    place.rehearse()
    assert REHEARSAL_S_MAX < clock.monotonic() - start < REHEARSAL_S_MAX + 30
    assert place.runtime.run_children == []


def test_a_death_beside_it_ends_it_and_is_left_for_the_run_to_see(place: Place) -> None:
    place.runtime.run_children.append(place.runtime.engine)
    place.runtime.engine.ended = 1
    place.rehearse()
    assert place.runtime.dead() == [place.runtime.engine]
