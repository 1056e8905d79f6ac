"""The docker runtime starts what it is told to, sees who has died, and leaves nobody behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from conductor.appliance.answers import namenode_is_ready
from conductor.appliance.runtime import DockerRuntime, cluster_id, daemons
from conductor.engine_choice import EngineChoice
from conductor.runtime import Refusal
from conductor.runtime import Runtime as RuntimeProtocol
from contract.engine import EngineSpec, Service
from contract.errors import ServiceFailed
from tests.unit.conductor.appliance.fakes import (
    IMAGES,
    JUDGE_SUBNET,
    PROJECT,
    SUBNET,
    FakeContainer,
    FakeEngine,
    id_of,
    runtime,
)
from tests.unit.conductor.test_embedded import ORDER, spec_of

CLUSTER = ("namenode", "datanode-1", "datanode-2", "datanode-3", "influxdb", "cadvisor")
SPEC = spec_of(Service("main", ("./run",), 1), Service("aide", ("./run",), None))


class Site:
    """A runtime whose compose makes fake containers of whatever it is told to start."""

    def __init__(self, folder: Path, *, kept: bool = False) -> None:
        self.folder, self.engine = folder, FakeEngine()
        self.engine.images = set(IMAGES.values())
        self.env: dict[str, str] = {}
        self.ups: list[list[str]] = []
        self.defined: dict[str, dict[str, Any]] = {}
        self.lost: set[str] = set()
        self.at_once: dict[str, int] = {}
        self.runtime = runtime(folder, self.engine, kept=kept)

    # as Compose

    def compose(self, project: str, _folder: Path, env: Mapping[str, str], log: Path) -> Site:
        assert project == PROJECT
        assert log.parent == self.runtime.scratch
        self.env = dict(env)
        return self

    def up(self, services: Sequence[str], more: Path | None = None) -> None:
        self.ups.append(list(services))
        if more is not None:
            self.defined |= json.loads(more.read_text())["services"]
        for service in services:
            if service in self.lost:
                continue
            container = FakeContainer(service, lines=("one", f"last of {service}"))
            container.image = IMAGES["engine mine" if service.startswith("engine") else "kafka"]
            container.complaints = b"unknown stage\n"
            if service in self.at_once:
                self.engine.watch.ends(container, self.at_once[service])
            self.engine.there.append(container)

    def there(self, service: str) -> FakeContainer:
        (found,) = (c for c in self.engine.there if c.id == f"id-of-{service}")
        return found

    def start_engine(self, spec: EngineSpec = SPEC, instances: int = 2) -> Any:
        state = self.folder / "state"
        state.mkdir(exist_ok=True)
        order = replace(ORDER, instances=instances, state_dir=str(state))
        log = self.folder / "logs" / "engine.log"
        return self.runtime.start_engine(EngineChoice(spec, self.folder), order, log)


class Shared:
    """The folders that were given to containers' user, and those that were given back."""

    def __init__(self) -> None:
        self.out: list[Path] = []
        self.back: list[Path] = []

    def share(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.out.append(folder)


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> Shared:
    """Folders stay this user's: as root they would be given away, with another umask for all."""
    made = Shared()
    monkeypatch.setattr("conductor.appliance.runtime.share", made.share)
    monkeypatch.setattr("conductor.appliance.runtime.give_back", made.back.append)
    return made


@pytest.fixture(autouse=True)
def no_daemons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a Docker engine runs on this machine changes no test: here none does."""
    monkeypatch.setattr("conductor.appliance.runtime.daemons", dict)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Nothing of it was started."""
    made = Site(tmp_path)
    monkeypatch.setattr("conductor.appliance.runtime.Compose", made.compose)
    yield made
    made.runtime.end_run()


def test_it_is_a_runtime_like_the_other(site: Site) -> None:
    made: RuntimeProtocol = site.runtime
    assert (made.name, made.clock_broker, made.run_children) == ("docker", 1, [])
    assert made.resources_file != "resources.jsonl", "the evaluator brings that one"


def test_a_cluster_is_brokers_storage_and_monitoring(site: Site) -> None:
    site.runtime.start_brokers(3, 1)
    assert site.ups == [["broker-1", "broker-2", "broker-3", *CLUSTER]]
    assert site.runtime.bootstrap_servers == ",".join(f"{SUBNET}.{n}:9092" for n in (11, 12, 13))
    assert [broker.name for broker in site.runtime.brokers] == ["broker-1", "broker-2", "broker-3"]
    assert site.env["BROKERS"] == "3"
    assert site.runtime.dead() == []


def test_a_cluster_that_is_kept_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, kept=True)
    monkeypatch.setattr("conductor.appliance.runtime.Compose", site.compose)
    site.up(["broker-1", *CLUSTER])
    site.runtime.start_brokers(1, 1)
    assert len(site.ups) == 1, "it was started anew"
    site.start_engine(instances=1)
    site.up(["evaluator", "publisher", "broker-2"])
    site.runtime.end()
    gone = {c.id.removeprefix("id-of-") for c in site.engine.there if c.gone}
    assert gone == {"engine-main", "engine-aide", "evaluator", "publisher", "broker-2"}
    assert f"take down {PROJECT}" not in site.engine.happened
    assert site.engine.closed and site.engine.watch.closed


def test_what_a_campaign_that_was_killed_left_is_taken_away_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    site.runtime.start_brokers(1, 1)
    assert f"take down {PROJECT}" in site.engine.happened
    beside = Site(tmp_path, kept=True)
    monkeypatch.setattr("conductor.appliance.runtime.Compose", beside.compose)
    beside.up(["broker-1", *CLUSTER, "engine-spark", "evaluator", "broker-2"])
    beside.runtime.start_brokers(1, 1)
    gone = {c.id.removeprefix("id-of-") for c in beside.engine.there if c.gone}
    assert gone == {"engine-spark", "evaluator", "broker-2"}
    assert f"take down {PROJECT}" not in beside.engine.happened


def test_a_service_that_is_not_there_though_it_was_started_is_named(site: Site) -> None:
    site.lost = {"datanode-2"}
    with pytest.raises(ServiceFailed, match=r"^there is no container of datanode-2, though it w"):
        site.runtime.start_brokers(1, 1)


def test_an_engines_services_are_started_together_the_first_being_its_life(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    life = site.start_engine()
    names = ["main", "aide", "aide-2"]
    assert site.ups[-1] == [f"engine-{name}" for name in names]
    assert life.name == "main"
    assert [child.name for child in site.runtime.run_children] == names
    assert [child.log.name for child in site.runtime.run_children] == [
        f"engine-{name}.log" for name in names
    ]
    assert {site.defined[f"engine-{name}"]["image"] for name in names} == {IMAGES["engine mine"]}


def test_the_publisher_is_told_by_a_file_beside_its_own(site: Site, tmp_path: Path) -> None:
    site.runtime.start_brokers(1, 1)
    env = {"EVIDENCE_DIR": str(tmp_path / "evidence"), "SOURCE": "network", "RUN_ID": "a $1"}
    child = site.runtime.start_publisher(env, tmp_path / "logs" / "publisher.log")
    assert site.ups[-1] == ["publisher"]
    assert site.defined["publisher"]["environment"]["RUN_ID"] == "a $$1"
    assert (child.name, child.log) == ("publisher", tmp_path / "logs" / "publisher.log")
    assert (tmp_path / "evidence").is_dir()


def test_the_dead_are_known_and_have_no_pid_any_more(site: Site) -> None:
    site.runtime.start_brokers(2, 1)
    site.start_engine(instances=1)
    site.engine.watch.ends(site.there("engine-aide"), 9)
    site.engine.watch.ends(site.there("broker-2"), 137)
    assert {child.name: child.exit_code() for child in site.runtime.dead()} == {
        "broker-2": 137,
        "aide": 9,
    }
    assert set(site.runtime.pids()) == {"broker-1", "main", *CLUSTER}


def test_of_storage_and_monitoring_only_the_namenode_cannot_be_made_up_for(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    for service in ("datanode-1", "influxdb", "cadvisor"):
        site.engine.watch.ends(site.there(service), 1)
    assert site.runtime.dead() == []
    site.engine.watch.ends(site.there("namenode"), 134)
    (dead,) = site.runtime.dead()
    assert (dead.name, dead.exit_code()) == ("namenode", 134)


def test_the_engines_own_processes_are_none_of_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.appliance.runtime.daemons", lambda: {"dockerd": 7})
    site = Site(tmp_path)
    monkeypatch.setattr("conductor.appliance.runtime.Compose", site.compose)
    assert site.runtime.pids() == {"dockerd": 7}
    site.runtime.start_brokers(1, 1)
    assert site.runtime.pids() == dict.fromkeys(("broker-1", *CLUSTER), 4321) | {"dockerd": 7}
    assert site.runtime.dead() == []


def test_the_engines_own_processes_are_found_by_their_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("bash", "dockerd", "containerd", "containerd-shim-runc-v2", "dockerd", None)
    processes = [
        SimpleNamespace(info={"name": name}, pid=pid) for pid, name in enumerate(names, 100)
    ]
    monkeypatch.setattr("psutil.process_iter", lambda _attrs: iter(processes))
    assert daemons() == {"dockerd": 101, "containerd": 102}


def test_a_runs_end_leaves_the_cluster_and_keeps_the_logs(site: Site, tmp_path: Path) -> None:
    site.runtime.start_brokers(1, 1)
    site.start_engine(instances=1)
    site.runtime.end_run()
    assert {c.id for c in site.engine.there if c.gone} == {"id-of-engine-main", "id-of-engine-aide"}
    assert site.runtime.run_children == []
    log = tmp_path / "logs" / "engine-main.log"
    assert log.read_text() == "one\nlast of engine-main\n"
    site.runtime.end_run()


def test_one_runs_containers_are_not_taken_for_the_next_ones(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    for _ in range(2):
        site.start_engine(instances=1)
        site.runtime.end_run()
        site.engine.there = [c for c in site.engine.there if not c.gone]
    assert len({path.name for path in site.runtime.scratch.glob("compose-*.json")}) == 2


@pytest.mark.parametrize("code", [0, 5, None])
def test_an_engine_is_asked_to_stop_and_given_its_time(code: int | None, site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    life = site.start_engine(instances=1)
    container = site.there("engine-main")
    if code is None:
        grace_s = 0.02
    else:
        grace_s = 30.0
        container.on_signal = lambda: site.engine.watch.ends(container, code)
    assert life.stop(grace_s) == code
    assert container.signals == ["SIGTERM"]
    assert container.gone
    # at the run's end nothing is missed
    site.runtime.end_run()


@pytest.mark.parametrize("code", [64, None])
def test_a_refusal_is_what_an_engine_says_on_stderr_and_its_exit_code(
    code: int | None, site: Site
) -> None:
    site.runtime.start_brokers(1, 1)
    if code is not None:
        site.at_once["refusal"] = code
    refusal = site.runtime.try_engine(
        EngineChoice(SPEC, site.folder), {"STAGE": "no-such-thing"}, 0.02
    )
    assert refusal == Refusal(code, "unknown stage\n")
    assert site.there("refusal").gone
    assert site.defined["refusal"]["environment"]["STAGE"] == "no-such-thing"
    assert (site.runtime.run_children, site.runtime.dead()) == ([], [])


def test_limits_and_images_of_every_service_are_told(site: Site) -> None:
    site.runtime.start_brokers(2, 1)
    site.start_engine()
    facts = site.runtime.resource_facts()
    names = {"broker-1", "broker-2", *CLUSTER, "main", "aide", "aide-2"}
    assert set(facts["limits"]) == set(facts["images"]) == names
    # as the engine has them: those of a kept cluster are of another day
    assert facts["limits"]["main"] == {
        "cpus": None,
        "memory_bytes": 2048 * 1024**2,
        "cpuset": None,
    }
    assert facts["images"]["main"]["tag"] == IMAGES["engine mine"]
    assert facts["images"]["main"]["packages_sha256"] is None
    source = facts["monitoring_source"]
    assert (source["url"], set(source["services"])) == (f"http://{JUDGE_SUBNET}.41:8086", names)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_a_run_tells_nothing_of_the_run_before(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    site.runtime.watch_resources(site.folder)
    site.start_engine(instances=1)
    site.runtime.end_run()
    assert "main" in site.runtime.resource_facts()["limits"], "it is told once it is over"
    site.runtime.watch_resources(site.folder)
    facts = site.runtime.resource_facts()
    own = {"broker-1", *CLUSTER}
    assert set(facts["limits"]) == set(facts["images"]) == own
    assert set(facts["monitoring_source"]["services"]) == own


def test_an_image_is_what_a_service_ran_whatever_its_tag_is_now(site: Site) -> None:
    # the same tag was given to a newer image while the campaign ran
    container = FakeContainer("broker-1")
    tag, old = IMAGES["kafka"], id_of("an older image")
    site.engine.images.add("an older image")
    site.engine.packages = {"an older image": b"bash 5.1\n", tag: b"bash 5.2\n"}
    attrs = container.attrs | {"Image": old}
    site.runtime._record.note("broker-1", SimpleNamespace(attrs=attrs))
    site.runtime._record.note("broker-2", container)
    images = site.runtime.resource_facts()["images"]
    assert {name: (facts["tag"], facts["id"]) for name, facts in images.items()} == {
        "broker-1": (tag, old),
        "broker-2": (tag, id_of(tag)),
    }
    logs = site.folder / "results" / "campaign" / "logs"
    for name, packages in {"broker-1": b"bash 5.1\n", "broker-2": b"bash 5.2\n"}.items():
        assert images[name]["packages_sha256"] == hashlib.sha256(packages).hexdigest()
        kept = logs / f"packages-{images[name]['id'][-12:]}.txt"
        assert kept.read_bytes() == packages
    assert len(list(logs.glob("packages-*"))) == 2


def test_one_image_is_looked_into_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(site.engine, "file_of_image", lambda image, _: asked.append(image))
    site.runtime.start_brokers(3, 1)
    assert asked == [id_of(IMAGES["kafka"])]
    assert not list(site.folder.glob("results/**/packages-*")), "it has no list"


def test_an_engine_that_was_refused_is_none_of_the_services_that_are_watched(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    site.at_once["refusal"] = 64
    site.runtime.try_engine(EngineChoice(SPEC, site.folder), {}, 0.02)
    services = site.runtime.resource_facts()["monitoring_source"]["services"]
    assert set(services) == {"broker-1", *CLUSTER}


def test_what_was_shared_is_given_back_at_the_end(tmp_path: Path, shared: Shared) -> None:
    made = runtime(tmp_path, store=tmp_path / "mine")
    results = tmp_path / "results"
    campaign = [results / "campaign", results / "store" / "campaign", tmp_path / "mine/campaign"]
    assert set(shared.out) == {*campaign, made.scratch}
    made.end()
    assert set(shared.back) == set(campaign)


def test_stores_of_other_campaigns_are_not_shared(tmp_path: Path, shared: Shared) -> None:
    results = tmp_path / "results"
    runtime(tmp_path).end()
    assert {results, results / "store"}.isdisjoint(shared.out + shared.back)
    assert set(shared.back) == {results / "campaign", results / "store" / "campaign"}


@pytest.mark.parametrize(("uid", "there"), [(1000, True), (1000, False), (0, True)])
def test_what_engines_wrote_is_removed_by_root_where_the_user_is_not(
    uid: int, there: bool, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = site.runtime.scratch / "state"
    if there:
        state.mkdir()
    monkeypatch.setattr("os.geteuid", lambda: uid)
    site.runtime.end()
    emptied = f"{IMAGES['tollgate']} empties {state}"
    assert (emptied in site.engine.happened) is (uid != 0 and there)
    if emptied in site.engine.happened:
        order = [site.engine.happened.index(what) for what in (f"take down {PROJECT}", emptied)]
        assert order == sorted(order), "somebody could still write there"


def test_logs_of_aides_that_died_are_kept_with_the_campaign(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    site.engine.watch.ends(site.there("cadvisor"), 1)
    site.runtime.end()
    logs = site.folder / "results" / "campaign" / "logs"
    assert [path.name for path in logs.iterdir()] == ["cadvisor.log"]
    assert (logs / "cadvisor.log").read_text() == "one\nlast of cadvisor\n"


def test_all_is_taken_down_at_the_end(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    site.start_engine()
    site.runtime.end()
    assert site.engine.happened[-1] == f"take down {PROJECT}"
    assert all(c.gone for c in site.engine.there if c.id.startswith("id-of-engine"))
    assert site.engine.closed and site.engine.watch.closed


def test_connections_are_given_back_though_something_could_not_be_taken_down(site: Site) -> None:
    site.engine.trouble = ServiceFailed("the disk is on fire")
    with pytest.raises(ServiceFailed, match="the disk is on fire"):
        site.runtime.end()
    assert site.engine.closed and site.engine.watch.closed


def test_the_cluster_goes_though_a_container_of_the_run_could_not_be_taken_away(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.runtime.start_brokers(1, 1)
    site.start_engine()

    def refuses(**_: bool) -> None:
        raise APIError("the disk is on fire")

    site.engine.happened.clear()
    monkeypatch.setattr(site.there("engine-main"), "remove", refuses)
    with pytest.raises(ServiceFailed, match="could not be removed: the disk is on fire"):
        site.runtime.end()
    site.runtime.run_children = []
    assert site.there("engine-aide").gone
    assert f"take down {PROJECT}" in site.engine.happened


def test_what_make_up_started_is_left_running(site: Site) -> None:
    site.runtime.start_brokers(1, 1)
    site.engine.happened.clear()
    site.runtime.leave()
    assert not any(container.gone for container in site.engine.there)
    assert site.engine.happened == []
    assert site.engine.closed and site.engine.watch.closed


def test_two_projects_have_two_clusters() -> None:
    assert cluster_id("tollgate-0") == cluster_id("tollgate-0") != cluster_id("tollgate-1")
    assert len(cluster_id(PROJECT)) == 22


@pytest.mark.parametrize(
    ("told", "ready"),
    [
        ({"FSState": "Operational", "NumLiveDataNodes": 3}, True),
        ({"FSState": "Operational", "NumLiveDataNodes": 2}, False),
        ({"FSState": "safeMode", "NumLiveDataNodes": 3}, False),
        ({"FSState": "Operational"}, False),
        ({}, False),
    ],
)
def test_storage_is_ready_out_of_safe_mode_with_all_datanodes(
    told: dict[str, Any], ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = json.dumps({"beans": [told]})
    monkeypatch.setattr("conductor.appliance.answers.get", lambda _: answer)
    assert namenode_is_ready("198.18.7.31", 3) is ready


@pytest.mark.parametrize("answer", [None, "", "<html>", '{"beans": []}', "{}"])
def test_storage_that_does_not_answer_as_it_should_is_not_ready(
    answer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.appliance.answers.get", lambda _: answer)
    assert not namenode_is_ready("198.18.7.31", 3)


def test_a_storage_that_died_or_does_not_come_is_said_with_its_last_words(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.appliance.answers.get", lambda _: None)
    monkeypatch.setattr("conductor.appliance.runtime.wait_for_cluster", lambda *_: None)
    monkeypatch.setattr("conductor.appliance.runtime.READY_S_MAX", 0.0)
    site.runtime.start_brokers(1, 1)
    for says in ("namenode did not answer", "namenode ended with exit code 1"):
        with pytest.raises(ServiceFailed, match=rf"^{says}; its log ends:\n  one\n  last of name"):
            site.runtime.wait_for_brokers(lambda _: None)
        site.engine.watch.ends(site.there("namenode"), 1)


def test_a_runtime_is_made_in_folders_that_may_not_be_there_yet(tmp_path: Path) -> None:
    made = runtime(tmp_path)
    assert isinstance(made, DockerRuntime)
    assert (tmp_path / "results" / "campaign").is_dir()
    assert (tmp_path / "results" / "store" / "campaign").is_dir()
    passwd = (made.scratch / "passwd").read_text().splitlines()
    assert all(len(line.split(":")) == 7 for line in passwd)
    assert any(line.startswith("tollgate:x:10001:10001:") for line in passwd)


@pytest.mark.parametrize("brought", [False, True])
def test_a_kept_cluster_stays_though_a_campaign_did_not_get_to_use_it(
    brought: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, kept=True)
    monkeypatch.setattr("conductor.appliance.runtime.Compose", site.compose)
    site.up(["broker-1", *(service for service in CLUSTER if service != "datanode-2")])
    if brought:
        with pytest.raises(ServiceFailed):
            site.runtime.start_brokers(1, 1)
    site.runtime.end()
    assert [container.id for container in site.engine.there if container.gone] == []
