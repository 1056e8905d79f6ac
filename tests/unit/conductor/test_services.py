"""Brokers, their client and the evaluator come up together, and all go again."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from conductor.home import Home
from conductor.java import Java
from conductor.progress import Progress
from conductor.services import Services, services
from contract.errors import ServiceFailed


class World:
    """Stands for the classes that services are made of, and notes what becomes of them."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.scratch = Path()
        self.trouble: dict[str, ServiceFailed] = {}
        self.env: dict[str, str] = {"A": "b"}

    def note(self, what: str) -> None:
        self.happened.append(what)
        if what in self.trouble:
            raise self.trouble[what]

    # as EmbeddedRuntime

    def runtime(self, _home: Home, _java: Java, scratch: Path) -> World:
        self.scratch = scratch
        (scratch / "kafka").mkdir()
        self.note("make the runtime")
        return self

    def start_brokers(self, count: int, _number: int) -> None:
        self.note(f"start {count} brokers")

    def wait_for_brokers(self, _tick: Callable[[str], None]) -> World:
        self.note("brokers are ready")
        return self

    def end(self) -> None:
        self.note("end brokers")

    # as Cluster and Evaluator

    def close(self) -> None:
        self.note("close client")

    def evaluator(self, _python: str, env: dict[str, str], _log: Path, _cwd: Path) -> World:
        assert env == self.env
        self.note("start evaluator")
        return self

    def stop(self) -> None:
        self.note("stop evaluator")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> World:
    """Nothing of it is real but the scratch folder."""
    made = World()
    made.scratch = temporary
    monkeypatch.setattr("conductor.services.EmbeddedRuntime", made.runtime)
    monkeypatch.setattr("conductor.services.Evaluator", made.evaluator)
    return made


def up(home: Home, work: Callable[[Services], None]) -> None:
    java, progress = Java(Path("/java"), "21"), Progress(io.StringIO())
    with services(home, java, 3, home.results / "logs", progress) as made:
        work(made)


UP = ["make the runtime", "start 3 brokers", "start evaluator", "brokers are ready"]
DOWN = ["close client", "end brokers", "stop evaluator"]


def test_the_evaluator_starts_while_brokers_do_and_all_go_at_the_end(
    world: World, home: Home
) -> None:
    def work(_: Services) -> None:
        assert world.happened == UP
        assert world.scratch.is_dir()

    up(home, work)
    assert world.happened == [*UP, *DOWN]
    assert not world.scratch.exists()


def test_all_go_when_something_fails_inside(world: World, home: Home) -> None:
    def work(_: Services) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        up(home, work)
    assert world.happened == [*UP, *DOWN]
    assert not world.scratch.exists()


@pytest.mark.parametrize("at", range(len(UP)))
def test_what_came_up_before_a_failure_goes_too(at: int, world: World, home: Home) -> None:
    world.trouble[UP[at]] = ServiceFailed("no")

    def work(_: Services) -> None:
        raise AssertionError

    with pytest.raises(ServiceFailed):
        up(home, work)
    started = UP[:at]
    gone = ["end brokers"] * ("make the runtime" in started)
    gone += ["stop evaluator"] * ("start evaluator" in started)
    assert world.happened == [*UP[: at + 1], *gone]
    assert not world.scratch.exists()
