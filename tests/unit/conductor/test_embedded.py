"""The embedded runtime starts what it is told to, sees who has died, and leaves nobody behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from conductor.embedded import EmbeddedRuntime
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.java import Java
from conductor.runtime import Refusal
from contract.class_archive import VARIABLE
from contract.engine import EngineOrder, EngineSpec, Execution, Place, Service
from contract.errors import EnvironmentLacking
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


class Site:
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
        # the brokers' program is the checkout's
        (self.home.path / "images" / "kafka").symlink_to(ROOT / "images" / "kafka")
        program(folder / "java" / "bin" / "java", "exec sleep 1000")
        self.runtime = EmbeddedRuntime(self.home, self.java, self.scratch)

    def started(self, script: str) -> dict[str, int]:
        program(self.engine / "run", script)
        spec = spec_of(Service("main", ("./run", "a"), 1), Service("aide", ("./run",), 1))
        self.runtime.start_engine(EngineChoice(spec, self.engine), ORDER, self.logs / "engine.log")
        return self.runtime.pids()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Everything is ended with the test."""
    made = Site(tmp_path)
    yield made
    made.runtime.end()


def test_an_engines_services_are_started_the_first_being_its_life(site: Site) -> None:
    program(site.engine / "run", STAYS)
    spec = spec_of(Service("main", ("./run",), 2), Service("aide", ("./run",), 1))
    life = site.runtime.start_engine(
        EngineChoice(spec, site.engine), ORDER, site.logs / "engine.log"
    )
    pids = site.runtime.pids()
    assert list(pids) == ["main", "main-2", "aide"]
    assert len(set(pids.values())) == 3
    assert (life.name, life.pid) == ("main", pids["main"])
    logs = {f"engine-{name}.log" for name in pids}
    assert {p.name for p in site.logs.iterdir()} == logs


TELLS = 'echo "$SERVICE $INSTANCE $PEERS"; exec sleep 1000'


def place_of(log: Path) -> Place:
    """Where a service of an engine was told that it is."""
    until(lambda: log.exists() and "\n" in log.read_text())
    service, instance, peers = log.read_text().split(" ", 2)
    return Place.from_environment({"SERVICE": service, "INSTANCE": instance, "PEERS": peers})


def test_every_service_of_an_engine_knows_who_it_is_and_where_all_are(site: Site) -> None:
    program(site.engine / "run", TELLS)
    spec = spec_of(Service("main", ("./run",), 1), Service("aide", ("./run",), None))
    order = replace(ORDER, instances=3)
    site.runtime.start_engine(EngineChoice(spec, site.engine), order, site.logs / "engine.log")
    names = ["main", "aide", "aide-2", "aide-3"]
    assert list(site.runtime.pids()) == names
    told = [place_of(site.logs / f"engine-{name}.log") for name in names]
    assert [(each.service, each.instance) for each in told] == [
        *(("main", 1), ("aide", 1), ("aide", 2), ("aide", 3)),
    ]
    assert {name: len(found) for name, found in told[0].peers.items()} == {"main": 1, "aide": 3}
    assert all(each.peers == told[0].peers for each in told)
    addresses = {each.address for each in told}
    assert len(addresses) == 4, "two would listen at one address"
    assert all(host == "127.0.0.1" and 1024 <= port < 65536 for host, port in addresses)


def test_only_the_services_that_the_settings_ask_for_are_started(site: Site) -> None:
    program(site.engine / "run", TELLS)
    aide = Service("aide", ("./run",), None, {"master": "cluster"})
    spec = spec_of(Service("main", ("./run",), 1), aide)
    for master, names in (("local", ["main"]), ("cluster", ["main", "aide"])):
        order = replace(ORDER, engine_settings={"master": master})
        site.runtime.start_engine(EngineChoice(spec, site.engine), order, site.logs / "engine.log")
        assert list(site.runtime.pids()) == names
        site.runtime.end_run()


def test_an_engine_runs_in_its_folder_with_the_contracts_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNEXPECTED", "yes")
    site.started(STAYS)
    log = site.logs / "engine-main.log"
    until(lambda: "\n" in log.read_text())
    assert log.read_text() == f"join  {site.engine}\n"


def test_programs_of_the_path_are_not_looked_for_beside_the_engine(site: Site) -> None:
    site.engine.mkdir()
    spec = spec_of(Service("main", ("sh", "-c", 'echo "$0 $1"', "x", "y"), 1))
    child = site.runtime.start_engine(
        EngineChoice(spec, site.engine), ORDER, site.logs / "engine.log"
    )
    until(lambda: child.exit_code() == 0)
    assert child.log_tail() == ["x y"]


def test_the_dead_are_known_and_have_no_pid_any_more(site: Site) -> None:
    site.started('[ "$1" = a ] && exit 9; exec sleep 1000')
    until(lambda: [c.exit_code() for c in site.runtime.dead()] == [9])
    assert [child.name for child in site.runtime.dead()] == ["main"]
    assert list(site.runtime.pids()) == ["aide"]


def test_a_runs_end_leaves_the_brokers(site: Site) -> None:
    site.runtime.start_brokers(2, 1)
    pids = site.started(STAYS)
    assert list(pids) == ["broker-1", "broker-2", "main", "aide"]
    site.runtime.end_run()
    assert [runs(pid) for pid in pids.values()] == [True, True, False, False]
    assert site.runtime.run_children == []
    assert site.runtime.dead() == []
    assert list(site.runtime.pids()) == ["broker-1", "broker-2"]
    site.runtime.end()
    assert not any(map(runs, pids.values()))
    assert site.runtime.brokers == []
    site.runtime.end()


def test_each_cluster_has_a_place_and_addresses_of_its_own(site: Site) -> None:
    servers = []
    for number in (1, 2):
        site.runtime.start_brokers(2, number)
        servers.append(site.runtime.bootstrap_servers)
        assert len(set(servers[-1].split(","))) == 2
        state = site.scratch / f"kafka-{number}" / "state" / "broker-2"
        until((state / "server.properties").exists)
        site.runtime.end_brokers()
    assert servers[0] != servers[1]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done", 0),
        ("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", 5),
        ("trap '' TERM; echo ready; while :; do sleep 0.01; done", None),
    ],
)
def test_an_engine_is_asked_to_stop_and_given_its_time(
    script: str, code: int | None, site: Site
) -> None:
    site.started(script)
    until(lambda: "ready" in (site.logs / "engine-main.log").read_text())
    engine = site.runtime.run_children[0]
    assert engine.stop(0.05 if code is None else 30.0) == code
    assert not runs(engine.pid)


def test_programs_know_where_the_archives_of_classes_are(site: Site) -> None:
    folder = Path(site.runtime.env[VARIABLE])
    assert folder.is_dir()
    assert folder.is_relative_to(site.home.artifacts)


def test_the_publisher_is_ours_and_is_told_by_its_environment_alone(
    site: Site, tmp_path: Path
) -> None:
    # no more is asked of it here than to say what it lacks
    site.runtime.env["PYTHONPATH"] = str(ROOT)
    child = site.runtime.start_publisher({"RUN_ID": "r1"}, tmp_path / "publisher.log")
    until(lambda: child.exit_code() is not None)
    assert child.exit_code() != 0
    assert any("does not set" in line or "publisher" in line for line in child.log_tail())
    assert site.runtime.dead() == [child]


def test_the_evaluator_is_ours_and_is_talked_to(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """read order
printf '{"ok": true, "words": "%s", "at": "%s", "unexpected": "%s"}\\n' "$*" "$(pwd)" "$UNEXPECTED"
exec sleep 1000"""
    monkeypatch.setenv("UNEXPECTED", "yes")
    monkeypatch.setattr(sys, "executable", str(program(site.scratch / "python", script)))
    evaluator = site.runtime.start_evaluator(site.logs / "evaluator.log")
    try:
        answer = evaluator.ask({"do": "campaign"}, WAIT_S_MAX, lambda _: None)
        assert answer["words"] == "-m evaluator serve"
        assert (answer["at"], answer["unexpected"]) == (str(site.scratch), "")
        assert evaluator.pid == evaluator.child.pid
        assert site.runtime.pids() == {}, "its CPU is the campaign's and no run's"
    finally:
        evaluator.stop()
    assert not runs(evaluator.pid)


def test_processes_have_no_limits_and_are_seen_by_the_machines_monitor(site: Site) -> None:
    facts = site.runtime.resource_facts()
    assert facts == {"limits": None, "images": None, "monitoring_source": None}
    site.runtime.watch_resources(site.logs)
    assert not site.logs.exists()
    assert site.runtime.resources_file == "resources.jsonl"


def tried(site: Site, script: str, *words: str, timeout_s: float = WAIT_S_MAX) -> Refusal:
    """How an engine of this one script takes an environment."""
    program(site.engine / "entrypoint", script)
    return tried_as(site, "./entrypoint", *words, timeout_s=timeout_s)


def tried_as(site: Site, *command: str, timeout_s: float = WAIT_S_MAX) -> Refusal:
    spec = spec_of(Service("mine", command, 1), Service("not-asked", ("false",), 1))
    return site.runtime.try_engine(
        EngineChoice(spec, site.engine), {"STAGE": "no-such-thing"}, timeout_s
    )


def test_a_refusal_is_what_an_engine_says_on_stderr_and_its_exit_code(site: Site) -> None:
    script = 'echo "unknown stage $STAGE" >&2\nexit 64'
    refusal = Refusal(64, "unknown stage no-such-thing\n")
    assert tried(site, script) == refusal
    assert tried(site, f"echo starting up\n{script}\necho") == refusal, "stdout is its own"
    assert tried(site, "exit 0") == Refusal(0, "")
    assert tried(site, "kill -9 $$") == Refusal(-9, "")


def test_a_refusal_is_asked_of_the_first_service_in_its_folder(site: Site) -> None:
    script = f'[ "$1" = word ] && [ "$(pwd)" = "{site.engine}" ] || exit 1\necho no >&2\nexit 64'
    assert tried(site, script, "word") == Refusal(64, "no\n")
    assert tried(site, script, "other") == Refusal(1, "")


def test_a_refusing_engine_has_the_environment_of_one_that_runs(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNEXPECTED", "yes")
    said = tried(site, 'echo "$UNEXPECTED$SERVICE $INSTANCE $JAVA_HOME" >&2').stderr
    assert said == f"mine 1 {site.java.home}\n"
    peers = tried(site, 'echo "$PEERS" >&2').stderr
    place = Place.from_environment({"SERVICE": "mine", "INSTANCE": "1", "PEERS": peers})
    assert place.address[0] == "127.0.0.1"


def test_an_engine_that_runs_on_is_ended_when_its_time_is_up(site: Site) -> None:
    script = "echo a word >&2\nexec sleep 1000"
    assert tried(site, script, timeout_s=0.2).exit_code is None
    assert running_from(site.engine) == []


def test_what_refuses_is_no_service_of_a_run(site: Site) -> None:
    tried(site, "exit 64")
    assert (site.runtime.run_children, site.runtime.dead()) == ([], [])


def test_an_engine_that_cannot_be_started_is_a_sentence(site: Site) -> None:
    site.engine.mkdir()
    (site.engine / "entrypoint").write_text("#!/bin/sh\nexit 64\n")
    for command in ("./entrypoint", "./none", "no-such-program-anywhere"):
        with pytest.raises(EnvironmentLacking, match=r"^mine cannot be started: "):
            tried_as(site, command)


@pytest.mark.parametrize(("end", "code"), [("echo no >&2\nexit 64", 64), ("wait", None)])
def test_what_a_refusing_engine_started_goes_with_it(
    end: str, code: int | None, site: Site
) -> None:
    program(site.engine / "helper", "while :; do sleep 1000; done")
    script = f'"{site.engine}/helper" 2> /dev/null &\n{end}'
    assert tried(site, script, timeout_s=1.0).exit_code == code
    assert running_from(site.engine) == []


def running_from(folder: Path) -> list[str]:
    """The processes whose program is in that folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line and runs(process.pid):
            found.append(line)
    return found
