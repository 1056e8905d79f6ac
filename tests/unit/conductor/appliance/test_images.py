"""What images are made of is read from their Dockerfiles, and their tags follow from all of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conductor.appliance.images import (
    CERTIFICATES,
    DEBIAN,
    TAG_DIGITS,
    Image,
    Tags,
    files_of,
    read_image,
    read_images,
)
from conductor.home import Home
from contract.errors import EnvironmentLacking, UsageError

LOCK = """# folder, organisation:module:version, sha256
kafka  org.a:one:1.0  01
kafka  org.a:two:1.0  02
hadoop org.b:one:1.0  03
"""
BASE = "ARG DEBIAN\nFROM ${DEBIAN}\n"


class Checkout:
    """A checkout of a few images."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.image("base", BASE)
        self.image(
            "java",
            "ARG BASE\nFROM ${BASE}\nCOPY .artifacts/ca-certificates.crt /etc/\n",
        )
        self.image(
            "kafka",
            "ARG JAVA\nFROM ${JAVA}\nCOPY .artifacts/kafka /opt/lib\n"
            "COPY images/kafka/entrypoint images/kafka/conf /opt/\n",
        )
        self.file("images/kafka/entrypoint", "#!/bin/sh\n").chmod(0o755)
        self.file("images/kafka/conf/deep/settings", "a=b\n")
        self.file("images/artifacts.lock", LOCK)

    def image(self, name: str, text: str) -> Path:
        return self.file(f"images/{name}/Dockerfile", text)

    def file(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def images(self) -> dict[str, Image]:
        return read_images(Home(self.path))

    def tags(self) -> dict[str, str]:
        images = self.images()
        tags = Tags(images, self.path / "images" / "artifacts.lock")
        return {name: tags.of(image) for name, image in images.items()}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Three images, each based on the one before it."""
    return Checkout(tmp_path)


def test_parents_are_the_arguments_of_from_and_sources_the_paths_of_copy(
    checkout: Checkout,
) -> None:
    kafka = checkout.images()["kafka"]
    assert kafka.parents == ("java",)
    assert kafka.sources == (".artifacts/kafka", "images/kafka/entrypoint", "images/kafka/conf")
    assert (kafka.root, kafka.dockerfile) == (
        checkout.path,
        checkout.path / "images" / "kafka" / "Dockerfile",
    )


def test_stages_of_the_file_itself_are_no_parents_and_what_they_made_no_sources(
    checkout: Checkout,
) -> None:
    checkout.image(
        "both",
        "ARG GO\nARG BASE\nFROM ${GO} AS build\nCOPY a b c /src/\nRUN make\n\n"
        "FROM build AS tested\nFROM ${BASE}\nCOPY --from=build /out/x /usr/bin/\n"
        "COPY a /a\nFROM ${BASE} AS again\n",
    )
    image = read_image("both", checkout.path / "images" / "both", checkout.path)
    assert image.parents == ("go", "base")
    assert image.sources == ("a", "b", "c")


def test_a_dockerfile_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Dockerfile cannot be read: No such file"):
        read_image("mine", tmp_path, tmp_path)


def test_an_engines_image_is_called_after_its_folder(checkout: Checkout) -> None:
    checkout.image("engines/mine", "ARG BASE\nFROM ${BASE}\n")
    assert checkout.images()["engines/mine"].repository == "tollgate/engine-mine"
    assert checkout.images()["kafka"].repository == "tollgate/kafka"


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("engines/My Engine", "tollgate/engine-my-engine"),
        ("engines/a__b..c", "tollgate/engine-a-b-c"),
        ("engines/_mine_", "tollgate/engine-mine"),
        ("engines/é", "tollgate/engine"),
        ("deep/er", "tollgate/deep-er"),
        ("Kafka", "tollgate/kafka"),
    ],
)
def test_whatever_a_folder_is_called_its_image_has_a_name_that_docker_takes(
    name: str, repository: str, tmp_path: Path
) -> None:
    image = Image(name, tmp_path, tmp_path / "Dockerfile", (), ())
    assert image.repository == repository


@pytest.mark.parametrize(
    "line", ["ADD a /opt/", "ADD https://host/x /opt/", 'COPY ["a b", "/opt/"]']
)
def test_lines_that_are_not_understood_are_refused(line: str, checkout: Checkout) -> None:
    checkout.image("java", f"ARG BASE\nFROM ${{BASE}}\n{line}\n")
    with pytest.raises(UsageError) as refusal:
        checkout.images()
    says = str(refusal.value)
    assert f"java/Dockerfile: {line[:40]}… cannot be read here; write COPY" in says


def test_what_an_engine_starts_from_beside_the_checkouts_images_is_its_own_affair(
    checkout: Checkout, tmp_path: Path
) -> None:
    images = checkout.images()
    text = "ARG OTHER=x:1\nARG BASE\nFROM ${OTHER}\nFROM ${BASE}\n"
    mine = checkout.file("mine/Dockerfile", text)
    image = read_image("engines/mine", mine.parent, mine.parent)
    tags = Tags(images, tmp_path / "images" / "artifacts.lock")
    assert image.parents == ("other", "base")
    assert tags.parents_of(image) == ["base"]
    before = tags.of(image)
    mine.write_text(text.replace("x:1", "x:2"))
    assert Tags(images, tmp_path / "images" / "artifacts.lock").of(image) != before


def test_the_outermost_parent_is_told_though_it_has_no_folder(checkout: Checkout) -> None:
    images = checkout.images()
    tags = Tags(images, checkout.path / "images" / "artifacts.lock")
    assert tags.parents_of(images["base"]) == [DEBIAN]


def test_parents_come_first_whatever_their_names_are(checkout: Checkout) -> None:
    checkout.image("aaa", "ARG ZZZ\nARG KAFKA\nFROM ${ZZZ} AS x\nFROM ${KAFKA}\n")
    checkout.image("zzz", "ARG BASE\nFROM ${BASE}\n")
    order = list(checkout.images())
    assert sorted(order) == ["aaa", "base", "java", "kafka", "zzz"]
    for name, image in checkout.images().items():
        for parent in image.parents:
            assert parent == DEBIAN or order.index(parent) < order.index(name)


def test_images_that_need_each_other_are_refused(checkout: Checkout) -> None:
    checkout.image("base", "ARG KAFKA\nFROM ${KAFKA}\n")
    with pytest.raises(EnvironmentLacking, match=r"^images base → kafka → java → base need each"):
        checkout.images()
    checkout.image("base", "ARG BASE\nFROM ${BASE}\n")
    with pytest.raises(EnvironmentLacking, match=r"^images base → base need each other$"):
        checkout.images()


def test_a_parent_that_nobody_knows_is_refused(checkout: Checkout) -> None:
    checkout.image("java", "ARG BAES\nFROM ${BAES}\n")
    with pytest.raises(EnvironmentLacking, match=r"java/Dockerfile starts from baes: no such im"):
        checkout.images()


def test_a_tag_is_a_name_and_a_few_digits(checkout: Checkout) -> None:
    for name, tag in checkout.tags().items():
        repository, _, digits = tag.partition(":")
        assert repository == f"tollgate/{name}"
        assert len(digits) == TAG_DIGITS and int(digits, 16) >= 0


def changed(checkout: Checkout, before: dict[str, str]) -> set[str]:
    after = checkout.tags()
    assert set(after) == set(before)
    return {name for name, tag in after.items() if tag != before[name]}


def test_nothing_changed_no_tag_changes(checkout: Checkout) -> None:
    assert changed(checkout, checkout.tags()) == set()


def test_a_tag_does_not_depend_on_where_the_checkout_is(checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(checkout.path / "images", elsewhere / "images")
    images = read_images(Home(elsewhere))
    tags = Tags(images, elsewhere / "images" / "artifacts.lock")
    assert {name: tags.of(image) for name, image in images.items()} == checkout.tags()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("images/kafka/entrypoint", "#!/bin/sh\nset -eu\n"),
        ("images/kafka/conf/deep/settings", "a=c\n"),
        ("images/kafka/conf/new", ""),
    ],
)
def test_what_an_image_copies_changes_its_tag(name: str, text: str, checkout: Checkout) -> None:
    before = checkout.tags()
    path = checkout.path / name
    mode = path.stat().st_mode if path.exists() else 0o644
    checkout.file(name, text).chmod(mode)
    assert changed(checkout, before) == {"kafka"}


def test_where_a_source_is_changes_the_tag_too(checkout: Checkout) -> None:
    before = checkout.tags()
    conf = checkout.path / "images" / "kafka" / "conf"
    (conf / "deep" / "settings").rename(conf / "settings")
    assert changed(checkout, before) == {"kafka"}


def test_whether_a_source_can_be_executed_changes_the_tag(checkout: Checkout) -> None:
    before = checkout.tags()
    (checkout.path / "images" / "kafka" / "entrypoint").chmod(0o644)
    assert changed(checkout, before) == {"kafka"}


def test_a_dockerfile_changes_its_images_tag_and_those_of_all_that_start_from_it(
    checkout: Checkout,
) -> None:
    before = checkout.tags()
    checkout.image("java", "ARG BASE\nFROM ${BASE}\nRUN true\n")
    assert changed(checkout, before) == {"java", "kafka"}
    before = checkout.tags()
    checkout.image("base", f"{BASE}USER 1\n")
    assert changed(checkout, before) == {"base", "java", "kafka"}


@pytest.mark.parametrize(
    ("old", "new", "images"),
    [
        ("one:1.0  01", "one:1.1  01", {"kafka"}),
        ("one:1.0  01", "one:1.0  04", {"kafka"}),
        ("kafka  org.a:two:1.0  02\n", "", {"kafka"}),
        ("one:1.0  03", "one:1.0  05", set[str]()),
        ("# folder", "# a folder", set[str]()),
        ("  01", "         01", set[str]()),
    ],
)
def test_the_lines_of_the_lock_that_an_image_needs_change_its_tag(
    old: str, new: str, images: set[str], checkout: Checkout
) -> None:
    before = checkout.tags()
    assert old in LOCK
    checkout.file("images/artifacts.lock", LOCK.replace(old, new, 1))
    assert changed(checkout, before) == images


def test_what_the_lock_pins_need_not_be_there_and_changes_nothing_when_it_is(
    checkout: Checkout,
) -> None:
    before = checkout.tags()
    checkout.file(".artifacts/kafka/one-1.0.jar", "fetched")
    assert changed(checkout, before) == set()


def test_certificates_and_leftovers_change_no_tag(checkout: Checkout) -> None:
    before = checkout.tags()
    checkout.file(CERTIFICATES, "whom this machine trusts")
    checkout.file("images/kafka/conf/__pycache__/settings.cpython-311.pyc", "compiled")
    checkout.file("images/kafka/conf/.complete", "a hash")
    checkout.file("images/kafka/notes", "nobody copies it")
    assert changed(checkout, before) == set()


def test_a_source_that_is_not_there_is_a_sentence(checkout: Checkout) -> None:
    (checkout.path / "images" / "kafka" / "entrypoint").unlink()
    with pytest.raises(EnvironmentLacking, match=r"kafka/entrypoint, which an image is made of, i"):
        checkout.tags()


@pytest.mark.parametrize("there", [True, False])
def test_a_source_that_leads_out_of_the_checkout_is_refused(there: bool, tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    if there:
        (tmp_path / "secret").touch()
    with pytest.raises(UsageError, match=r"^COPY \.\./secret leads out of"):
        list(files_of(tmp_path / "checkout", "../secret"))


def test_the_files_of_a_source_come_in_one_order(checkout: Checkout) -> None:
    for name in ("z", "a", "deep/b"):
        checkout.file(f"images/kafka/conf/{name}", "")
    found = [
        str(path.relative_to(checkout.path / "images" / "kafka" / "conf"))
        for path in files_of(checkout.path, "images/kafka/conf")
    ]
    assert found == sorted(found) == ["a", "deep/b", "deep/settings", "z"]


def test_a_pattern_of_copy_brings_what_it_matches_in_one_order(checkout: Checkout) -> None:
    for name in ("b.conf", "a.conf", "c.txt"):
        checkout.file(f"images/kafka/{name}", "")
    (checkout.path / "images" / "kafka" / "d.conf").mkdir()
    found = [path.name for path in files_of(checkout.path, "images/kafka/*.conf")]
    assert found == ["a.conf", "b.conf"]
    found = [path.name for path in files_of(checkout.path, "images/kafka/[bc].???*")]
    assert found == ["b.conf", "c.txt"]


def test_what_a_pattern_matches_changes_the_tag(checkout: Checkout) -> None:
    checkout.image("kafka", "ARG JAVA\nFROM ${JAVA}\nCOPY images/kafka/*.conf /opt/\n")
    checkout.file("images/kafka/a.conf", "1")
    before = checkout.tags()
    checkout.file("images/kafka/a.conf", "2")
    assert changed(checkout, before) == {"kafka"}
    before = checkout.tags()
    checkout.file("images/kafka/b.conf", "")
    assert changed(checkout, before) == {"kafka"}


def test_a_pattern_that_matches_nothing_is_refused(checkout: Checkout) -> None:
    with pytest.raises(UsageError, match=r"^COPY images/\*\.none matches no file below "):
        list(files_of(checkout.path, "images/*.none"))
