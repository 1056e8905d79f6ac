"""What a runtime needs is fetched or built before anything is measured, and no more than that."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor import runtimes
from conductor.appliance.building import Built
from conductor.appliance.images import Image, read_images
from conductor.appliance.kept import KeptCluster
from conductor.appliance.presence import HDFS
from conductor.embedded import EmbeddedRuntime
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.java import Java
from conductor.prepared import state_of
from conductor.progress import Progress
from conductor.runtimes import build, engine_image, have_images, have_runtime, lacking_images
from contract.engine import EngineSpec
from contract.errors import EnvironmentLacking, UsageError
from tests.unit.conductor.appliance.fakes import FakeEngine, id_of
from tests.unit.conductor.fakes import ENGINES

JAVA = Java(Path("/java"), "21")
SPARK = EngineChoice(EngineSpec.read(ENGINES / "spark" / "engine.toml"), ENGINES / "spark")


class Workshop:
    """Stands for Builder, and for what fetches jars: notes what was asked of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine = FakeEngine()
        self.absent: set[str] = set()
        self.built: list[str] = []
        self.fetched: list[tuple[str, ...]] = []
        self.there = False
        self.told = io.StringIO()
        self.progress = Progress(self.told)
        monkeypatch.setattr(runtimes, "Builder", lambda *_: self)
        monkeypatch.setattr(runtimes, "DockerEngine", lambda: self.engine)
        monkeypatch.setattr(runtimes, "find_java", lambda _: JAVA)
        monkeypatch.setattr(runtimes, "is_complete", lambda *_: self.there)
        monkeypatch.setattr(runtimes, "ensure_artifacts", self._ensure)

    def _ensure(self, _lock: Path, _home: Path, java: Java, _say: Any, folders: Any) -> None:
        assert java == JAVA
        self.fetched.append(tuple(folders))

    def lacking(self, wanted: list[Image]) -> list[Image]:
        return [image for image in wanted if image.name in self.absent]

    def build(self, wanted: list[Image], _logs: Path) -> list[Built]:
        self.built += [image.name for image in wanted]
        self.engine.images |= {f"{image.repository}:1" for image in wanted}
        return [Built(image, f"{image.repository}:1", None, 1000) for image in wanted]


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Every image is there, and no jar."""
    return Workshop(monkeypatch)


def test_processes_need_the_jars_of_kafka_and_of_sparks_connector(
    workshop: Workshop, home: Home, tmp_path: Path
) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "images").mkdir()
    for lock in ("images/artifacts.lock", "requirements.lock"):
        (tmp_path / lock).touch()
    ready = have_runtime(
        "embedded", [SPARK], None, 3, tmp_path, HDFS, Home(tmp_path), JAVA, workshop.progress
    )
    assert workshop.fetched == [("kafka", "spark-kafka")]
    assert ready.docker is None
    assert ready.engines == {"spark": state_of(SPARK.folder)}
    made = ready.make(tmp_path / "scratch")
    assert isinstance(made, EmbeddedRuntime)
    workshop.there = True
    have_runtime("embedded", [SPARK], None, 3, tmp_path, HDFS, home, JAVA, workshop.progress)
    assert len(workshop.fetched) == 1


def test_a_campaign_has_images_of_cluster_evaluator_and_engine(
    workshop: Workshop, home: Home
) -> None:
    tags = have_images(workshop.engine, [SPARK], home, workshop.progress)
    assert tags == {
        **{name: f"tollgate/{name}:1" for name in ("kafka", "hadoop", "influxdb", "cadvisor")},
        "tollgate": "tollgate/tollgate:1",
        "engine spark": "tollgate/engine-spark:1",
    }
    assert workshop.fetched == [], "all images are there: no jar is needed"


def test_what_would_be_built_is_told_without_building_it(workshop: Workshop, home: Home) -> None:
    assert lacking_images([SPARK], home) == []
    workshop.absent = {"kafka", "engines/spark", "go"}
    assert lacking_images([SPARK], home) == ["kafka", "engines/spark"]
    given = EngineChoice(SPARK.spec, home.engines, "somebody/mine:7")
    assert lacking_images([given], home) == ["kafka"]
    assert (workshop.built, workshop.fetched, workshop.engine.closed) == ([], [], True)


def test_a_cluster_alone_needs_neither_engine_nor_evaluator(workshop: Workshop, home: Home) -> None:
    tags = have_images(workshop.engine, (), home, workshop.progress)
    assert set(tags) == {"kafka", "hadoop", "influxdb", "cadvisor"}


def test_an_image_that_was_given_is_not_built_and_must_be_there(
    workshop: Workshop, home: Home
) -> None:
    choice = EngineChoice(SPARK.spec, home.engines, "somebody/mine:7")
    with pytest.raises(
        EnvironmentLacking, match=r"^the Docker engine has no image somebody/mine:7$"
    ):
        have_images(workshop.engine, [choice], home, workshop.progress)
    workshop.engine.images.add("somebody/mine:7")
    tags = have_images(workshop.engine, [choice], home, workshop.progress)
    assert tags["engine spark"] == "somebody/mine:7"
    assert not any(name.startswith("engines/") for name in workshop.built)


def test_only_what_a_lacking_image_is_made_of_is_fetched(workshop: Workshop, home: Home) -> None:
    images = read_images(home)
    wanted = [images[name] for name in ("java", "kafka", "hadoop", "tollgate")]
    workshop.absent = {"java", "hadoop"}
    made = build(workshop.engine, wanted, images, home, workshop.progress)
    assert [each.image.name for each in made] == ["java", "kafka", "hadoop", "tollgate"]
    assert workshop.fetched == [("hadoop",)]
    assert "building 2 images, once: java, hadoop" in workshop.told.getvalue()
    workshop.absent = {"tollgate", "kafka"}
    build(workshop.engine, wanted, images, home, workshop.progress)
    assert workshop.fetched[1:] == [("kafka",)]


def test_an_engines_image_is_that_of_its_folder(home: Home, tmp_path: Path) -> None:
    images = read_images(home)
    assert engine_image(SPARK, home, images) is images["engines/spark"]
    mine = tmp_path / "Folder"
    mine.mkdir()
    (mine / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nCOPY run /opt/\n")
    # two folders may have one name; two engines of a campaign have not
    choice = EngineChoice(replace(SPARK.spec, name="mine"), mine)
    image = engine_image(choice, home, images)
    assert (image.repository, image.root) == ("tollgate/engine-mine", mine)
    assert (image.parents, image.sources) == (("base",), ("run",))
    (mine / "Dockerfile").unlink()
    with pytest.raises(UsageError, match="Dockerfile cannot be read"):
        engine_image(choice, home, images)


@pytest.fixture
def docker(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Gives the appliances that a docker runtime was made of."""
    made: list[Any] = []
    monkeypatch.setattr(FakeEngine, "facts", property(lambda _: {"version": "20"}), raising=False)
    monkeypatch.setattr(
        runtimes, "DockerRuntime", lambda _engine, appliance, *_: made.append(appliance)
    )
    assert workshop.engine is not None
    return made


@pytest.mark.parametrize(("told", "heap_mb"), [(2048, 2048), (None, 1024)])
def test_an_engines_container_has_room_for_the_heap_that_it_is_told(
    told: int | None,
    heap_mb: int,
    workshop: Workshop,
    docker: list[Any],
    tmp_path: Path,
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtimes, "read_kept", lambda *_: None)
    ready = have_runtime("docker", [SPARK], told, 5, tmp_path, HDFS, home, None, workshop.progress)
    ready.make(tmp_path)
    (appliance,) = docker
    assert appliance.sizes.of["engine"].memory_bytes == (heap_mb + 1024) * 1024**2
    assert (appliance.kept, appliance.images["engine spark"]) == (False, "tollgate/engine-spark:1")
    assert ready.docker == {"version": "20", "cluster_kept": False}
    assert ready.engines == {"spark": id_of("tollgate/engine-spark:1")}
    assert not workshop.engine.closed


def test_a_cluster_that_is_kept_is_told_with_the_engine(
    workshop: Workshop,
    docker: list[Any],
    tmp_path: Path,
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtimes, "read_kept", lambda *_: KeptCluster("tollgate-0", 5, {}))
    ready = have_runtime("docker", [SPARK], None, 5, tmp_path, HDFS, home, None, workshop.progress)
    ready.make(tmp_path)
    assert ready.docker == {"version": "20", "cluster_kept": True}
    assert [appliance.kept for appliance in docker] == [True]


@pytest.mark.usefixtures("docker")
def test_a_connection_is_given_back_when_something_is_lacking(
    workshop: Workshop, tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise UsageError("`make down` first")

    monkeypatch.setattr(runtimes, "read_kept", refuses)
    with pytest.raises(UsageError, match="`make down` first"):
        have_runtime("docker", [SPARK], None, 5, tmp_path, HDFS, home, None, workshop.progress)
    assert workshop.engine.closed


@pytest.mark.usefixtures("docker")
def test_a_machine_that_is_too_small_is_told_before_anything_is_built(
    workshop: Workshop, tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "read_kept", lambda *_: None)
    with pytest.raises(EnvironmentLacking, match="the engine may need"):
        have_runtime("docker", [SPARK], 10**9, 5, tmp_path, HDFS, home, None, workshop.progress)
    assert workshop.built == []
