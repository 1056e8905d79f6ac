"""What a campaign costs grows with what is asked; what would stop it is said before it starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import psutil
import pytest

from conductor.appliance.kept import KeptCluster
from conductor.asked import Asked, understand
from conductor.doctor import (
    BROKER_BYTES,
    DOCKER_ROOT,
    GIB,
    MIB,
    MONITORING_BYTES,
    STORAGE_BYTES,
    cluster_bytes,
    cost_of,
    examine,
    folder_size,
    lacks,
)
from conductor.home import Home
from conductor.java import Java
from contract.errors import EnvironmentLacking
from tests.unit.conductor.fakes import ROOT


class Usage(NamedTuple):
    """Stands for what `shutil.disk_usage` gives."""

    total: int
    used: int
    free: int


class Machine:
    """A machine with as much as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.memory, self.disk, self.cores = 64 * GIB, 500 * GIB, 8
        #: the folders whose disk was looked at
        self.looked_at: list[Path] = []
        monkeypatch.setattr(
            psutil,
            "virtual_memory",
            lambda: SimpleNamespace(available=self.memory, total=64 * GIB),
        )
        monkeypatch.setattr(shutil, "disk_usage", self._disk_usage)
        monkeypatch.setattr(psutil, "cpu_count", lambda: self.cores)
        monkeypatch.setattr(os, "access", lambda *_: True)
        monkeypatch.setattr("conductor.doctor.find_java", lambda folder: Java(folder, "21.0.1"))
        # whether `make up` was called in this checkout changes no test
        monkeypatch.setattr("conductor.doctor.noted", lambda _: None)
        monkeypatch.setattr("conductor.doctor.lacking_images", lambda *_: [])

    def _disk_usage(self, folder: str | Path) -> Usage:
        self.looked_at.append(Path(folder))
        return Usage(500 * GIB, 0, self.disk)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that has all that is needed."""
    return Machine(monkeypatch)


def ask(home: Home, *words: str) -> Asked:
    return understand(words, home)


def test_time_and_disk_grow_with_every_run(home: Home) -> None:
    one, two, six = (
        cost_of(ask(home, *words))
        for words in (["STAGE=2", "ALONE=1"], ["STAGE=2"], ["STAGE=2", "REPEAT=3"])
    )
    assert two.disk_bytes == pytest.approx(2 * one.disk_bytes, abs=2)
    # brokers go with their repetition, what is stored stays
    assert two.disk_bytes < six.disk_bytes < 3 * two.disk_bytes
    assert one.seconds < two.seconds < six.seconds
    # what is done once is not paid for again
    assert two.seconds < 2 * one.seconds
    assert one.memory_bytes == six.memory_bytes, "runs are one after another"


@pytest.mark.parametrize("word", ["RATE=4000", "DURATION=70", "WARMUP=60", "COOLDOWN=40"])
def test_what_feeds_longer_or_faster_needs_more_disk(word: str, home: Home) -> None:
    assert cost_of(ask(home, word)).disk_bytes > cost_of(ask(home)).disk_bytes


def test_more_records_take_longer_to_judge(home: Home) -> None:
    slow, fast = (cost_of(ask(home, f"RATE={rate}")).seconds for rate in (2000, 30000))
    # 86 s a run were seen at 2 000/s and 96 s at 26 000/s: docs/performance.md
    assert slow * 1.2 < fast < slow * 2


def test_brokers_cost_memory_and_replicas_cost_disk(home: Home) -> None:
    one, three, five = (cost_of(ask(home, f"BROKERS={n}")) for n in (1, 3, 5))
    assert one.memory_bytes < three.memory_bytes < five.memory_bytes
    assert one.disk_bytes < three.disk_bytes == five.disk_bytes


def test_an_engine_with_a_smaller_heap_needs_less_memory(home: Home) -> None:
    small, usual, large = (
        cost_of(ask(home, *words)).memory_bytes
        for words in (["ENGINE_SETTINGS=memory_mb=512"], [], ["ENGINE_SETTINGS=memory_mb=4096"])
    )
    assert small < usual < large
    assert large - small == (4096 - 512) * MIB


def test_a_campaign_takes_longer_than_its_input_is_fed(home: Home) -> None:
    asked = ask(home, "STAGE=all", "DURATION=100", "WARMUP=20", "COOLDOWN=10")
    assert cost_of(asked).seconds > 5 * 130


@pytest.mark.usefixtures("docker")
def test_containers_cost_memory_for_storage_and_monitoring_too(home: Home) -> None:
    for words in (["BROKERS=3"], ["BROKERS=5", "ENGINE_SETTINGS=memory_mb=512"]):
        inside = cost_of(ask(home, *words)).memory_bytes
        outside = cost_of(ask(home, *words, "RUNTIME=embedded")).memory_bytes
        assert inside - outside == STORAGE_BYTES + MONITORING_BYTES


def test_each_worker_of_a_cluster_has_a_heap_of_its_own(home: Home) -> None:
    words = ["SPARK_MASTER=cluster", "ENGINE_SETTINGS=memory_mb=2048"]
    local = cost_of(ask(home, "ENGINE_SETTINGS=memory_mb=2048")).memory_bytes
    one, three = (cost_of(ask(home, *words, f"INSTANCES={n}")).memory_bytes for n in (1, 3))
    assert local < one < three
    assert three - one > 2 * 2048 * MIB


@pytest.mark.usefixtures("docker")
def test_a_cluster_that_is_kept_has_its_memory_already(
    machine: Machine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(home, "BROKERS=5")
    machine.memory = cost_of(asked).memory_bytes - cluster_bytes(5)
    (says,) = lacks(asked, home)
    assert says.endswith(", and so would RUNTIME=embedded")
    monkeypatch.setattr(
        "conductor.doctor.noted", lambda _: KeptCluster("tollgate-0", 5, {"kafka": "k:1"})
    )
    assert lacks(asked, home) == []
    machine.memory -= 1
    assert len(lacks(asked, home)) == 1
    # processes have nothing of it
    outside = ask(home, "BROKERS=5", "RUNTIME=embedded")
    machine.memory = cost_of(outside).memory_bytes - 1
    (says,) = lacks(outside, home)
    assert "RUNTIME=embedded" not in says


@pytest.mark.usefixtures("docker", "machine")
def test_a_kept_cluster_of_other_brokers_is_in_the_way(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptCluster("tollgate-0", 1, {})
    monkeypatch.setattr("conductor.doctor.noted", lambda _: kept)
    lines, stopped = examine(ask(home, "BROKERS=5"), home)
    assert stopped
    assert "keeps a cluster of 1 broker and 5 are asked for" in lines[-1]
    assert not examine(ask(home, "BROKERS=1"), home)[1]
    assert not examine(ask(home, "BROKERS=5", "RUNTIME=embedded"), home)[1]


def test_a_cluster_is_its_brokers_and_what_they_have_beside_them() -> None:
    assert cluster_bytes(0) == STORAGE_BYTES + MONITORING_BYTES
    assert cluster_bytes(5) - cluster_bytes(3) == 2 * BROKER_BYTES


@pytest.mark.usefixtures("docker", "machine")
def test_images_bring_all_and_those_to_be_built_are_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked_for(_: object) -> Java:
        raise EnvironmentLacking("no Java 17 or newer was found")

    monkeypatch.setattr("conductor.doctor.find_java", asked_for)
    lacking: list[str] = []
    monkeypatch.setattr("conductor.doctor.lacking_images", lambda *_: lacking)
    lines, stopped = examine(ask(home), home)
    assert not stopped
    assert "images      all are there" in lines
    assert not any("this first time" in line for line in lines)
    lacking += ["base", "java", "kafka"]
    lines, stopped = examine(ask(home), home)
    assert not stopped
    assert "images      to be built once: base, java, kafka" in lines
    assert any("this first time about 2.0 minutes more" in line for line in lines)


@pytest.mark.usefixtures("docker", "machine")
def test_an_engine_that_went_away_is_in_the_way(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> list[str]:
        raise EnvironmentLacking("no Docker engine answers")

    monkeypatch.setattr("conductor.doctor.lacking_images", none)
    lines, stopped = examine(ask(home), home)
    assert stopped
    assert "in the way  no Docker engine answers" in lines


@pytest.mark.usefixtures("docker")
def test_the_disk_of_containers_is_looked_at_too(machine: Machine, home: Home) -> None:
    assert lacks(ask(home), home) == []
    assert any(Path(DOCKER_ROOT).is_relative_to(folder) for folder in machine.looked_at)
    machine.disk = GIB // 2
    assert sum("for containers" in says for says in lacks(ask(home), home)) == 1
    outside = lacks(ask(home, "RUNTIME=embedded"), home)
    assert not any("for containers" in says for says in outside)


@pytest.mark.usefixtures("docker", "machine")
def test_the_engines_folder_is_written_to_by_the_engine_and_not_by_its_user(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # it is root's alone, and who is of the group `docker` is not
    root = tmp_path / "var-lib-docker"
    root.mkdir()
    monkeypatch.setattr("conductor.doctor.DOCKER_ROOT", str(root))
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != root)
    assert lacks(ask(home), home) == []


def test_a_store_that_is_no_folder_of_this_machine_has_no_disk_here(
    machine: Machine, home: Home
) -> None:
    lacks(ask(home), home)
    usual = len(machine.looked_at)
    assert lacks(ask(home, "STORE=hdfs://host/x"), home) == []
    assert len(machine.looked_at) == 2 * usual


@pytest.mark.usefixtures("machine")
def test_nothing_stops_a_campaign_on_a_machine_that_has_enough(home: Home) -> None:
    assert lacks(ask(home), home) == []
    lines, stopped = examine(ask(home), home)
    assert not stopped
    assert lines[-1] == "in the way  nothing"


def test_too_little_memory_is_a_sentence_with_both_figures(machine: Machine, home: Home) -> None:
    needed = cost_of(ask(home)).memory_bytes
    machine.memory = needed
    assert lacks(ask(home), home) == []
    machine.memory = GIB
    (says,) = lacks(ask(home), home)
    assert says.startswith(f"1.0 GiB of memory are available and about {needed / GIB:.1f} are")


def test_too_little_disk_is_said_for_each_place(machine: Machine, home: Home) -> None:
    machine.disk = GIB // 2
    says = lacks(ask(home), home)
    assert ["temporary files" in s for s in says] == [True, False]
    assert ["results" in s for s in says] == [False, True]
    assert all("0.5 GiB of disk are free" in s for s in says)


def test_a_gigabyte_of_disk_is_to_be_left(machine: Machine, home: Home) -> None:
    machine.disk = cost_of(ask(home)).disk_bytes + GIB
    assert lacks(ask(home), home) == []
    machine.disk -= 1
    assert len(lacks(ask(home), home)) == 2


def test_disk_is_looked_at_where_results_would_go(
    machine: Machine, temporary: Path, tmp_path: Path
) -> None:
    elsewhere = Home(ROOT, tmp_path / "not" / "there" / "yet")
    assert lacks(ask(elsewhere), elsewhere) == []
    assert machine.looked_at == [temporary, tmp_path]
    (tmp_path / "not").mkdir()
    lacks(ask(elsewhere), elsewhere)
    assert machine.looked_at[-1] == tmp_path / "not"


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", ["temporary files", "results"])
def test_a_folder_that_cannot_be_written_to_is_named(
    name: str, home: Home, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # results are not there yet: what counts is the folder that they would be made in
    folders = {"temporary files": temporary, "results": home.results.parent}
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != folders[name])
    (says,) = lacks(ask(home), home)
    assert says == f"{folders[name]} (for {name}) cannot be written to"


def test_what_is_in_the_way_is_at_the_end_of_the_lines(
    machine: Machine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java(_: object) -> Java:
        raise EnvironmentLacking("no Java 17 or newer was found")

    monkeypatch.setattr("conductor.doctor.find_java", no_java)
    machine.cores = 1
    lines, stopped = examine(ask(home), home)
    assert stopped
    assert lines[-2].startswith("in the way  no Java 17 or newer")
    assert lines[-1].startswith("in the way  one core is too few")


@pytest.mark.usefixtures("machine")
def test_the_lines_tell_what_would_be_run(home: Home) -> None:
    text = "\n".join(examine(ask(home, "STAGE=2", "REPEAT=3", "BROKERS=2"), home)[0])
    assert "runs        parse, join, 3 times" in text
    assert "brokers     2 Kafka, replication 2" in text
    assert "engine      spark 4.3.0, real-time, eager" in text
    assert "times" not in "\n".join(examine(ask(home, "STAGE=2"), home)[0])


def test_a_folders_size_is_that_of_its_files_and_not_of_what_links_point_at(home: Home) -> None:
    folder = home.results / "campaign"
    (folder / "runs").mkdir(parents=True)
    (folder / "a").write_bytes(b"x" * 100)
    (folder / "runs" / "b").write_bytes(b"x" * 23)
    (folder / "link").symlink_to(folder / "a")
    (folder / "broken").symlink_to(folder / "none")
    assert folder_size(folder) == 123
