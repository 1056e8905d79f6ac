"""The embedded runtime starts what it is told to, sees who has died, and leaves nobody behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.embedded import EmbeddedRuntime
from conductor.home import Home
from conductor.java import Java
from contract.class_archive import VARIABLE
from contract.engine import EngineOrder, EngineSpec, Execution, Service
from tests.unit.conductor.fakes import ROOT, WAIT_S_MAX, program, runs, until

ORDER = EngineOrder(
    run_id="r1",
    workload="traffic",
    stage="join",
    mode="only",
    dialect="eager",
    bootstrap_servers="127.0.0.1:1",
    input_topics={"flow": "r1.flow", "speed": "r1.speed"},
    output_topic="r1.out",
    parallelism=2,
    instances=1,
    state_dir="/state",
    workload_params={},
    engine_settings={},
)
STAYS = 'echo "$STAGE $UNEXPECTED $(pwd)"; exec sleep 1000'


def spec_of(*services: Service) -> EngineSpec:
    executions = (Execution("only", "eager", "none", None),)
    return EngineSpec("mine", "1", "at-least-once", {}, executions, services, {})


class Place:
    """A runtime with an engine whose programs are small shell scripts."""

    def __init__(self, folder: Path) -> None:
        (folder / "checkout" / "images").mkdir(parents=True)
        for lock in ("images/artifacts.lock", "requirements.lock"):
            (folder / "checkout" / lock).touch()
        self.home, self.java = Home(folder / "checkout"), Java(folder / "java", "21")
        self.engine, self.logs, self.scratch = (
            folder / "engine",
            folder / "logs",
            folder / "scratch",
        )
        self.scratch.mkdir()
        program(folder / "java" / "bin" / "java", "exec sleep 1000")
        self.runtime = EmbeddedRuntime(self.home, self.java, self.scratch)

    def started(self, script: str) -> dict[str, int]:
        program(self.engine / "run", script)
        spec = spec_of(Service("main", ("./run", "a"), 1), Service("aide", ("./run",), 1))
        self.runtime.start_engine(self.engine, spec, ORDER, self.logs / "engine.log")
        return self.runtime.pids()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Everything is ended with the test."""
    made = Place(tmp_path)
    yield made
    made.runtime.end()


def test_an_engines_services_are_started_the_first_being_its_life(place: Place) -> None:
    program(place.engine / "run", STAYS)
    spec = spec_of(Service("main", ("./run",), 2), Service("aide", ("./run",), 1))
    life = place.runtime.start_engine(place.engine, spec, ORDER, place.logs / "engine.log")
    pids = place.runtime.pids()
    assert list(pids) == ["main", "main-2", "aide"]
    assert len(set(pids.values())) == 3
    assert (life.name, life.pid) == ("main", pids["main"])
    logs = {f"engine-{name}.log" for name in pids}
    assert {p.name for p in place.logs.iterdir()} == logs


def test_an_engine_runs_in_its_folder_with_the_contracts_environment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNEXPECTED", "yes")
    place.started(STAYS)
    log = place.logs / "engine-main.log"
    until(lambda: "\n" in log.read_text())
    assert log.read_text() == f"join  {place.engine}\n"


def test_programs_of_the_path_are_not_looked_for_beside_the_engine(place: Place) -> None:
    place.engine.mkdir()
    spec = spec_of(Service("main", ("sh", "-c", 'echo "$0 $1"', "x", "y"), 1))
    child = place.runtime.start_engine(place.engine, spec, ORDER, place.logs / "engine.log")
    assert child.wait(WAIT_S_MAX) == 0
    assert child.log_tail() == ["x y"]


def test_the_dead_are_known_and_have_no_pid_any_more(place: Place) -> None:
    place.started('[ "$1" = a ] && exit 9; exec sleep 1000')
    until(lambda: [c.exit_code() for c in place.runtime.dead()] == [9])
    assert [child.name for child in place.runtime.dead()] == ["main"]
    assert list(place.runtime.pids()) == ["aide"]


def test_a_runs_end_leaves_the_brokers(place: Place) -> None:
    place.runtime.start_brokers(2, 1)
    pids = place.started(STAYS)
    assert list(pids) == ["broker-1", "broker-2", "main", "aide"]
    place.runtime.end_run()
    assert [runs(pid) for pid in pids.values()] == [True, True, False, False]
    assert place.runtime.run_children == []
    assert place.runtime.dead() == []
    assert list(place.runtime.pids()) == ["broker-1", "broker-2"]
    place.runtime.end()
    assert not any(map(runs, pids.values()))
    assert place.runtime.brokers == []
    place.runtime.end()


def test_each_cluster_has_a_place_and_addresses_of_its_own(place: Place) -> None:
    servers = []
    for number in (1, 2):
        place.runtime.start_brokers(2, number)
        servers.append(place.runtime.bootstrap_servers)
        assert len(set(servers[-1].split(","))) == 2
        assert (place.scratch / f"kafka-{number}" / "state" / "broker-2").is_dir()
        place.runtime.end_brokers()
    assert servers[0] != servers[1]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done", 0),
        ("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", 5),
        ("trap '' TERM; echo ready; while :; do sleep 0.01; done", None),
    ],
)
def test_an_engine_is_asked_to_stop_and_given_the_contracts_time(
    script: str, code: int | None, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code is None:
        monkeypatch.setattr("conductor.embedded.STOP_S_MAX", 0.05)
    place.started(script)
    until(lambda: "ready" in (place.logs / "engine-main.log").read_text())
    engine = place.runtime.run_children[0]
    assert place.runtime.stop_engine(engine) == code
    assert not runs(engine.pid)


def test_programs_know_where_the_archives_of_classes_are(place: Place) -> None:
    folder = Path(place.runtime.env[VARIABLE])
    assert folder.is_dir()
    assert folder.is_relative_to(place.home.artifacts)


def test_the_publisher_is_ours_and_is_told_by_its_environment_alone(
    place: Place, tmp_path: Path
) -> None:
    # no more is asked of it here than to say what it lacks
    place.runtime.env["PYTHONPATH"] = str(ROOT)
    child = place.runtime.start_publisher({"RUN_ID": "r1"}, tmp_path / "publisher.log")
    assert child.wait(WAIT_S_MAX) not in (0, None)
    assert any("does not set" in line or "publisher" in line for line in child.log_tail())
    assert place.runtime.dead() == [child]
