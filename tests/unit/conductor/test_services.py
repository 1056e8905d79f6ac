"""Brokers, their client and the evaluator come up together, and all go again."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conductor.interrupts import listen
from conductor.progress import Progress
from conductor.services import Services, services, temporary_folder
from contract.errors import ServiceFailed


class World:
    """Stands for runtime, client and evaluator, and notes what becomes of them."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.scratch = self.logs = Path()
        self.trouble: dict[str, ServiceFailed] = {}

    def note(self, what: str) -> None:
        self.happened.append(what)
        if what in self.trouble:
            raise self.trouble[what]

    # as what makes a runtime, and as the runtime

    def runtime(self, scratch: Path) -> Any:
        self.scratch = scratch
        (scratch / "kafka").mkdir()
        self.note("make the runtime")
        return self

    def start_brokers(self, count: int, _number: int) -> None:
        self.note(f"start {count} brokers")

    def wait_for_brokers(self, _tick: Callable[[str], None]) -> World:
        self.note("brokers are ready")
        return self

    def start_evaluator(self, log: Path) -> World:
        assert log == self.logs / "evaluator.log"
        self.note("start evaluator")
        return self

    def end(self) -> None:
        assert self.scratch.is_dir(), "what it was to end had its files below"
        self.note("end brokers")

    # as Cluster and Evaluator

    def close(self) -> None:
        self.note("close client")

    def stop(self) -> None:
        self.note("stop evaluator")


@pytest.fixture
def world(tmp_path: Path, temporary: Path) -> World:
    """Nothing of it is real but the scratch folder."""
    made = World()
    made.scratch, made.logs = temporary, tmp_path / "logs"
    return made


def up(world: World, work: Callable[[Services], None]) -> None:
    with services(world.runtime, 3, world.logs, Progress(io.StringIO())) as made:
        work(made)


UP = ["make the runtime", "start 3 brokers", "start evaluator", "brokers are ready"]
#: the last that came up goes first
DOWN = ["close client", "stop evaluator", "end brokers"]


def test_the_evaluator_starts_while_brokers_do_and_all_go_at_the_end(world: World) -> None:
    def work(made: Services) -> None:
        assert world.happened == UP
        assert made == Services(world, world, world)  # type: ignore[arg-type]
        assert world.scratch.is_dir()

    up(world, work)
    assert world.happened == [*UP, *DOWN]
    assert not world.scratch.exists()


def test_all_go_when_something_fails_inside(world: World) -> None:
    def work(_: Services) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        up(world, work)
    assert world.happened == [*UP, *DOWN]
    assert not world.scratch.exists()


@pytest.mark.parametrize("at", range(len(UP)))
def test_what_came_up_before_a_failure_goes_too(at: int, world: World) -> None:
    world.trouble[UP[at]] = ServiceFailed("no")

    def work(_: Services) -> None:
        raise AssertionError

    with pytest.raises(ServiceFailed):
        up(world, work)
    started = UP[:at]
    gone = ["stop evaluator"] * ("start evaluator" in started)
    gone += ["end brokers"] * ("make the runtime" in started)
    assert world.happened == [*UP[: at + 1], *gone]
    assert not world.scratch.exists()


@pytest.mark.parametrize("which", [{each} for each in DOWN] + [set(DOWN)], ids=" and ".join)
def test_each_is_ended_though_the_end_of_another_failed(which: set[str], world: World) -> None:
    world.trouble = {what: ServiceFailed(f"{what}: no") for what in which}
    with pytest.raises(ServiceFailed, match=r": no$"):
        up(world, lambda _: None)
    assert world.happened == [*UP, *DOWN]
    assert not world.scratch.exists()


def test_what_went_wrong_inside_is_known_though_an_end_failed_too(world: World) -> None:
    world.trouble = {"stop evaluator": ServiceFailed("it does not end")}

    def work(_: Services) -> None:
        raise ZeroDivisionError

    with pytest.raises(ServiceFailed, match="it does not end") as failure:
        up(world, work)
    assert isinstance(failure.value.__context__, ZeroDivisionError)
    assert world.happened == [*UP, *DOWN]


@pytest.mark.usefixtures("heard_signals")
def test_an_interruption_waits_until_all_have_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen()
    monkeypatch.setattr(world, "close", lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(KeyboardInterrupt):
        up(world, lambda _: None)
    assert world.happened == [*UP, *DOWN[1:]]
    assert not world.scratch.exists()


def test_a_temporary_folder_is_gone_however_it_was_used(temporary: Path) -> None:
    with pytest.raises(ZeroDivisionError), temporary_folder() as scratch:
        (scratch / "deep" / "er").mkdir(parents=True)
        assert scratch.is_relative_to(temporary)
        raise ZeroDivisionError
    assert list(temporary.iterdir()) == []
