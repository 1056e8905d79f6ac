"""The images: any Docker builds them, of what is pinned or of this checkout and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conductor.appliance.building import shipped
from conductor.appliance.images import CERTIFICATES, DEBIAN, Image, Tags, files_of, read_images
from conductor.artifacts import read_lock
from conductor.home import Home
from conductor.runtimes import CLUSTER_IMAGES

HOME = Path(__file__).resolve().parents[2]
IMAGES = read_images(Home(HOME))
LOCK = HOME / "images" / "artifacts.lock"
EACH = pytest.mark.parametrize("image", IMAGES.values(), ids=lambda image: image.name)


def instructions(image: Image) -> list[str]:
    """A Dockerfile's, each in one line and without the comments."""
    text = image.dockerfile.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return [line for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]


def test_every_image_of_the_checkout_is_known() -> None:
    names = {"base", "java", "go", "pyspark", "tollgate", "engines/spark", "engines/example"}
    names |= {"engines/flink"}
    assert names | set(CLUSTER_IMAGES) == set(IMAGES)
    repositories = [image.repository for image in IMAGES.values()]
    assert len(set(repositories)) == len(repositories)


def test_every_engine_of_the_checkout_has_an_image() -> None:
    for toml in (HOME / "images" / "engines").glob("*/engine.toml"):
        assert f"engines/{toml.parent.name}" in IMAGES


def test_all_are_made_of_one_debian() -> None:
    def outermost(image: Image) -> set[str]:
        if not set(image.parents) - {DEBIAN}:
            return {image.name}
        return set().union(*(outermost(IMAGES[parent]) for parent in image.parents))

    assert IMAGES["base"].parents == (DEBIAN,)
    for image in IMAGES.values():
        assert outermost(image) == {"base"}


def test_every_tag_can_be_told_and_none_is_anothers() -> None:
    tags = Tags(IMAGES, LOCK)
    found = {tags.of(image) for image in IMAGES.values()}
    assert len(found) == len(IMAGES)


@EACH
def test_an_image_starts_from_ours_or_from_a_stage_of_its_own(image: Image) -> None:
    stages: set[str] = set()
    declared = {
        line.split()[1].partition("=")[0] for line in instructions(image) if line.startswith("ARG ")
    }
    for line in instructions(image):
        words = line.split()
        if words[0] != "FROM":
            continue
        argument = re.fullmatch(r"\$\{([A-Z]+)\}", words[1])
        assert argument is not None or words[1] in stages, line
        assert argument is None or argument[1] in declared, f"{line} and no ARG"
        if len(words) > 2:
            assert words[2] == "AS", line
            stages.add(words[3])
    assert not any(line.split()[0] == "ADD" for line in instructions(image))


@EACH
def test_what_it_copies_is_there_or_pinned(image: Image) -> None:
    pinned = {artifact.folder for artifact in read_lock(LOCK)}
    for source in image.sources:
        if source == CERTIFICATES:
            continue
        if source.startswith(".artifacts/"):
            assert source.removeprefix(".artifacts/") in pinned
        else:
            assert list(files_of(HOME, source)), f"{source} is empty"
            assert not (HOME / source).is_symlink()


@EACH
def test_the_context_that_docker_itself_would_take_has_it_too(image: Image) -> None:
    allowed = {
        line[1:]
        for line in (HOME / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    for source in image.sources:
        parts = Path(source).parts
        above = {str(Path(*parts[:n])) for n in range(1, len(parts) + 1)}
        assert above & allowed, f".dockerignore leaves {source} out"


@EACH
def test_its_copy_lines_are_of_the_kind_that_is_read(image: Image) -> None:
    text = image.dockerfile.read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.lstrip().upper().startswith("COPY"):
            assert re.fullmatch(r"COPY (--from=\w+ )?[^\s\[\\-][^\[\\]*", line), line
            assert not re.search(r"\s--", line.removeprefix("COPY --from")), line


@EACH
def test_no_buildkit_is_needed(image: Image) -> None:
    text = image.dockerfile.read_text(encoding="utf-8")
    assert not re.search(r"^#\s*(syntax|escape|check)\s*=", text, re.MULTILINE | re.IGNORECASE)
    for line in instructions(image):
        assert "--mount" not in line, line
        assert "<<" not in line, f"a heredoc: {line}"
        assert not re.match(r"(COPY|ADD|RUN|FROM)\s+--(?!from)", line), line
        assert not re.match(r"COPY .*--(chmod|link|parents|exclude)", line), line


@EACH
def test_no_service_runs_as_root_unless_it_says_why(image: Image) -> None:
    if image not in shipped(IMAGES) or image.name == "cadvisor":
        return
    stage = [line for line in instructions(image) if line.split()[0] in ("FROM", "USER")]
    last = max(i for i, line in enumerate(stage) if line.startswith("FROM"))
    users = [line.split()[1] for line in stage[last + 1 :]]
    assert not users or users[-1] == "10001:10001"
    if not users:
        assert image.parents[-1] != DEBIAN


@EACH
def test_what_runs_is_started_without_a_shell(image: Image) -> None:
    for line in instructions(image):
        if line.split()[0] in ("ENTRYPOINT", "CMD"):
            assert line.split(maxsplit=1)[1].startswith("["), line


def test_what_is_started_can_be_executed() -> None:
    for name in (
        "kafka/entrypoint",
        "kafka/healthy",
        "kafka/topics",
        "hadoop/entrypoint",
        "hadoop/healthy",
        "engines/spark/entrypoint",
        "engines/example/entrypoint",
    ):
        path = HOME / "images" / name
        assert path.stat().st_mode & 0o111, name
        assert path.read_text().startswith("#!/"), name


@EACH
def test_an_engines_image_says_what_it_does(image: Image) -> None:
    if image.name.startswith("engines/"):
        toml = f"images/{image.name}/engine.toml"
        assert f"COPY {toml} /engine.toml" in instructions(image)
