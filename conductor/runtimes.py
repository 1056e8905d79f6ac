"""Have ready what a runtime needs before a campaign: jars, or images; start no service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from conductor.appliance.building import Builder, Built
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.docker_errors import no_image
from conductor.appliance.images import Image, Tags, read_image, read_images
from conductor.appliance.kept import read_kept
from conductor.appliance.project import project_name
from conductor.appliance.runtime import Appliance, DockerRuntime, engine_role
from conductor.appliance.sizing import ENGINE_HEAP_MB, sizes_for, usable_cores
from conductor.artifacts import ensure_artifacts, folders_of, is_complete
from conductor.embedded import EmbeddedRuntime
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.java import Java, find_java
from conductor.prepared import have_prepared, state_of
from conductor.progress import Progress
from conductor.runtime import Runtime

#: the images that every campaign in containers runs
CLUSTER_IMAGES = ("kafka", "hadoop", "influxdb", "cadvisor")


@dataclass(frozen=True, slots=True)
class Ready:
    """A runtime that can be made once there is a temporary folder."""

    make: Callable[[Path], Runtime]
    #: for campaign.json: engine → a hash of its folder, or the id of its image
    engines: dict[str, str]
    #: for campaign.json: what the containers' engine is
    docker: dict[str, Any] | None = None


def have_runtime(
    name: str,
    choices: Sequence[EngineChoice],
    heap_mb: int | None,
    brokers: int,
    folder: Path,
    store: str,
    home: Home,
    java: Java | None,
    progress: Progress,
) -> Ready:
    """Fetch or build what is lacking. `heap_mb` is the largest that an engine asks for, and what
    all of them are sized by; `folder` is the campaign's.
    """
    if name == "embedded":
        own = java or find_java(home.artifacts)
        _have_artifacts(home, folders_of(choice.spec for choice in choices), progress)
        made = have_prepared(choices, home, own, partial(_say, progress))
        states = {choice.spec.name: state_of(choice.folder) for choice in choices}
        return Ready(lambda scratch: EmbeddedRuntime(home, own, scratch, made), states)
    memory_bytes = psutil.virtual_memory().total
    sizes = sizes_for(usable_cores(), memory_bytes, heap_mb or ENGINE_HEAP_MB)
    with ExitStack() as ends:
        engine = DockerEngine()
        ends.callback(engine.close)
        images = have_images(engine, choices, home, progress)
        kept = read_kept(home, engine, brokers, images)
        ready = Appliance(
            project=project_name(home.path),
            compose_folder=home.path / "compose",
            images=images,
            sizes=sizes,
            kept=kept is not None,
            store=Path(store.removeprefix("file:")) if store.startswith("file:") else None,
        )
        facts = engine.facts | {"cluster_kept": kept is not None}
        ids = {
            choice.spec.name: engine.image_facts(images[engine_role(choice)])["id"]
            for choice in choices
        }
        # from here on the runtime has it
        ends.pop_all()
    return Ready(lambda scratch: DockerRuntime(engine, ready, folder, scratch), ids, facts)


def have_images(
    engine: DockerEngine, choices: Sequence[EngineChoice], home: Home, progress: Progress
) -> dict[str, str]:
    """Role → tag of every image that a campaign runs; the lacking ones are built."""
    images = read_images(home)
    wanted = _wanted(choices, images, home)
    tags: dict[str, str] = {}
    for choice in choices:
        if choice.image is not None:
            if not engine.has_image(choice.image):
                raise no_image(choice.image)
            tags[engine_role(choice)] = choice.image
    built = build(engine, list(wanted.values()), images, home, progress)
    return tags | {role: made.tag for role, made in zip(wanted, built, strict=True)}


def lacking_images(choices: Sequence[EngineChoice], home: Home) -> list[str]:
    """The names of those that would be built first, and of what they are built from."""
    engine = DockerEngine()
    try:
        images = read_images(home)
        builder = Builder(engine, images, Tags(images, home.artifacts_lock), Progress())
        return [image.name for image in builder.lacking(_wanted(choices, images, home).values())]
    finally:
        engine.close()


def _wanted(
    choices: Sequence[EngineChoice], images: Mapping[str, Image], home: Home
) -> dict[str, Image]:
    """Role → image of ours; a cluster alone has no engine."""
    wanted = {name: images[name] for name in CLUSTER_IMAGES}
    if choices:
        wanted["tollgate"] = images["tollgate"]
    for choice in choices:
        if choice.image is None:
            wanted[engine_role(choice)] = engine_image(choice, home, images)
    return wanted


def engine_image(choice: EngineChoice, home: Home, images: Mapping[str, Image]) -> Image:
    """The image of an engine's folder, of the checkout or of somebody else's."""
    folder = choice.folder
    if folder.is_relative_to(home.engines):
        return images[f"engines/{folder.relative_to(home.engines)}"]
    # two folders may have one name, two engines of a campaign have not
    return read_image(f"engines/{choice.spec.name}", folder, folder)


def build(
    engine: DockerEngine,
    wanted: list[Image],
    images: Mapping[str, Image],
    home: Home,
    progress: Progress,
) -> list[Built]:
    """Have these images; only what a lacking one is made of is fetched for it."""
    builder = Builder(engine, images, Tags(images, home.artifacts_lock), progress)
    lacking = builder.lacking(wanted)
    fetched = {
        source.split("/")[1]
        for image in lacking
        for source in image.sources
        if source.startswith(".artifacts/") and not source.endswith(".crt")
    }
    if fetched:
        _have_artifacts(home, tuple(sorted(fetched)), progress)
    if lacking:
        names = ", ".join(image.name for image in lacking)
        progress.say(f"tollgate: building {len(lacking)} images, once: {names}")
    return builder.build(wanted, home.artifacts / "logs")


def _have_artifacts(home: Home, folders: tuple[str, ...], progress: Progress) -> None:
    if not is_complete(home.artifacts_lock, home.artifacts, folders):
        java = find_java(home.artifacts)
        ensure_artifacts(
            home.artifacts_lock, home.artifacts, java, partial(_say, progress), folders
        )


def _say(progress: Progress, sentence: str) -> None:
    progress.say(f"tollgate: {sentence}")
