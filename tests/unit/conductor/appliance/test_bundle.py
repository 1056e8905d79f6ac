"""A bundle says what is in it; one of another checkout, or one that was cut, is not loaded."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from conductor.appliance import bundle
from conductor.appliance.building import shipped
from conductor.appliance.bundle import FACTS, load_bundle, path_given, read_facts
from conductor.appliance.images import Tags, read_images
from conductor.home import Home
from conductor.progress import Progress
from contract.errors import EnvironmentLacking, UsageError
from tests.unit.conductor.appliance.fakes import FakeEngine, id_of

COMMIT = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


#: what containerd calls an image in a bundle's index
NAME = "io.containerd.image.name"


def config_of(image_id: str) -> str:
    """The digest of an image's settings, without what kind of digest it is."""
    return image_id.removeprefix("sha256:")


def manifest_of(image_id: str) -> str:
    """The digest of its manifest: another store's id of the same image."""
    return id_of(f"manifest of {image_id}")


class Loading(FakeEngine):
    """An engine that notes what is loaded; its images have the ids that they are said to have."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = 0
        self.ids: dict[str, str] = {}

    def load_images(self, archive: Any) -> list[str]:
        assert archive.read(1)
        self.loaded += 1
        return []

    def image_facts(self, tag: str) -> dict[str, Any]:
        return {"id": self.ids[tag]}


class Case:
    """A bundle of this checkout's images, to be damaged by a test."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home, self.path, self.engine = home, folder / "a bundle.tar", Loading()
        images = read_images(home)
        tags = Tags(images, home.artifacts_lock)
        self.images = {tags.of(image): id_of(image.name) for image in shipped(images)}
        self.engine.ids = dict(self.images)
        self.write({"schema": 1, "images": self.images, "pins": {"git_commit": COMMIT}})

    def write(self, facts: Any, name: str = FACTS) -> None:
        """Those facts, and what `docker save` writes beside its layers."""
        manifest = [
            {"Config": f"blobs/sha256/{config_of(i)}", "RepoTags": [tag], "Layers": []}
            for tag, i in self.images.items()
        ]
        index = [
            {"digest": manifest_of(i), "annotations": {NAME: f"docker.io/{tag}"}}
            for tag, i in self.images.items()
        ]
        with tarfile.open(self.path, "w") as tar:
            texts = {name: facts}
            if name == FACTS:
                texts |= {"manifest.json": manifest, "index.json": {"manifests": index}}
            for each, told in texts.items():
                text = told if isinstance(told, bytes) else json.dumps(told).encode()
                member = tarfile.TarInfo(each)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))

    def load(self) -> int:
        return load_bundle(self.home, [f"BUNDLE={self.path}"], Progress(io.StringIO()))


@pytest.fixture
def case(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """It is whole, and fits."""
    made = Case(home, tmp_path)
    monkeypatch.setattr(bundle, "DockerEngine", lambda: made.engine)
    return made


def test_a_bundle_of_this_checkout_is_loaded(
    case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    assert case.load() == 0
    assert case.engine.loaded == 1 and case.engine.closed
    assert f"loaded {len(case.images)} images" in capsys.readouterr().out


def test_a_bundle_of_another_checkout_is_refused_before_anything_is_loaded(case: Case) -> None:
    gone = next(tag for tag in case.images if tag.startswith("tollgate/kafka:"))
    images = {tag: i for tag, i in case.images.items() if tag != gone}
    case.write({"schema": 1, "images": images, "pins": {"git_commit": COMMIT}})
    with pytest.raises(UsageError) as refusal:
        case.load()
    assert COMMIT in str(refusal.value) and str(refusal.value).endswith("other images of kafka")
    assert case.engine.loaded == 0


def test_an_image_may_have_the_id_that_another_store_gives_it(case: Case) -> None:
    case.engine.ids = {tag: manifest_of(i) for tag, i in case.images.items()}
    assert case.load() == 0
    # the bundle may have been made by such a store, too
    facts = {tag: manifest_of(i) for tag, i in case.images.items()}
    case.write({"schema": 1, "images": facts, "pins": {"git_commit": COMMIT}})
    case.engine.ids = dict(case.images)
    assert case.load() == 0


def test_the_id_of_another_image_of_the_bundle_is_none_of_this_ones(case: Case) -> None:
    one, other = list(case.images)[:2]
    case.engine.ids[one] = manifest_of(case.images[other])
    with pytest.raises(EnvironmentLacking, match=f"^{one} is image sha256:"):
        case.load()


def test_an_image_that_is_not_the_one_that_was_said_is_refused(case: Case) -> None:
    tag = next(iter(case.images))
    case.engine.ids[tag] = "sha256:another"
    with pytest.raises(EnvironmentLacking, match="is image sha256:another, and the bundle says"):
        case.load()
    assert case.engine.closed


@pytest.mark.parametrize("facts", [b"{", b"[]", b"{}", b'{"images": []}', b"\xff"])
def test_a_bundle_that_says_nothing_of_itself_is_refused(facts: bytes, case: Case) -> None:
    case.write(facts)
    with pytest.raises(UsageError, match=r"is not what `make bundle` writes, or was cut$"):
        read_facts(case.path)


def test_any_other_file_is_refused(case: Case, tmp_path: Path) -> None:
    case.write({"images": {}}, name="manifest.json")
    with pytest.raises(UsageError, match="is not what `make bundle` writes"):
        read_facts(case.path)
    for content in (b"", b"no archive", b"\0" * 10_240):
        case.path.write_bytes(content)
        with pytest.raises(UsageError, match="is not what `make bundle` writes"):
            read_facts(case.path)
    with pytest.raises(UsageError, match="is not what `make bundle` writes"):
        read_facts(tmp_path)
    with pytest.raises(UsageError, match="there is no such file"):
        read_facts(tmp_path / "none")


def test_a_bundle_that_was_cut_is_refused(case: Case) -> None:
    whole = case.path.read_bytes()
    for size in (100, 512, 700, 1024):
        case.path.write_bytes(whole[:size])
        with pytest.raises(UsageError, match="was cut"):
            read_facts(case.path)


def test_where_none_is_named_it_is_in_the_checkout(home: Home, tmp_path: Path) -> None:
    assert path_given(home, {}) == home.path / "tollgate-bundle.tar"
    assert path_given(home, {"BUNDLE": f"{tmp_path}/x.tar"}) == tmp_path / "x.tar"
