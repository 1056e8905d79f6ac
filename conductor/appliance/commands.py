"""The verbs of the appliance: images, up, down; each a short story told to the user."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import psutil

from conductor.appliance.building import Built, shipped
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.images import read_images
from conductor.appliance.kept import KeptCluster, forget_kept, note_kept
from conductor.appliance.project import project_name
from conductor.appliance.runtime import Appliance, DockerRuntime
from conductor.appliance.sizing import ENGINE_HEAP_MB, sizes_for, usable_cores
from conductor.asked import DOCKER_BROKERS
from conductor.brokers import in_words
from conductor.doctor import GIB, cluster_bytes
from conductor.home import Home
from conductor.interrupts import held
from conductor.lock import only_one
from conductor.progress import Progress
from conductor.runtimes import build, have_images
from conductor.services import temporary_folder
from contract.errors import EnvironmentLacking, ExitCode, UsageError
from contract.settings import BROKERS_MAX

MB = 1000**2


def make_images(home: Home, progress: Progress) -> int:
    """Build every image that is lacking; print what each weighs."""
    engine = DockerEngine()
    try:
        images = read_images(home)
        wanted = shipped(images)
        built = build(engine, wanted, images, home, progress)
    finally:
        engine.close()
    print("\n".join(table_of(built)))
    return ExitCode.VALID


def table_of(built: Sequence[Built]) -> list[str]:
    """A line an image: its tag, its size with all it is based on, how long it took."""
    width = max(len(made.tag) for made in built)
    lines = [f"{'image':<{width}}  {'MB':>6}  {'built in':>9}"]
    for made in built:
        took = "was there" if made.seconds is None else f"{made.seconds:.0f} s"
        lines.append(f"{made.tag:<{width}}  {made.size_bytes / MB:>6.0f}  {took:>9}")
    return lines


def up(home: Home, given: dict[str, str], progress: Progress) -> int:
    """Start brokers, storage and monitoring, and leave them running."""
    brokers = _brokers(given)
    available, needed = psutil.virtual_memory().available, cluster_bytes(brokers)
    if available < needed:
        raise EnvironmentLacking(
            f"{available / GIB:.1f} GiB of memory are available and about {needed / GIB:.1f} are "
            f"needed; fewer BROKERS would need less"
        )
    with only_one(home, progress):
        engine = DockerEngine()
        images = have_images(engine, (), home, progress)
        project = project_name(home.path)
        appliance = Appliance(
            project,
            home.path / "compose",
            images,
            sizes_for(usable_cores(), psutil.virtual_memory().total, ENGINE_HEAP_MB),
        )
        forget_kept(home)
        with temporary_folder() as scratch, ExitStack() as ends:
            runtime = DockerRuntime(engine, appliance, scratch / "results" / "none", scratch)
            ends.callback(_end, runtime)
            progress.phase(f"start: {in_words(brokers)}, HDFS, monitoring")
            runtime.start_brokers(brokers, 1)
            runtime.wait_for_brokers(progress.tick).close()
            with held():
                note_kept(home, KeptCluster(project, brokers, images))
                servers = runtime.bootstrap_servers
                runtime.leave()
                # it is up and stays
                ends.pop_all()
    progress.clear()
    print(f"{in_words(brokers)} ({servers}), HDFS, InfluxDB and cAdvisor run and stay;")
    print(f"`make bench BROKERS={brokers}` uses them, `make down` takes them away")
    return ExitCode.VALID


def _end(runtime: DockerRuntime) -> None:
    with held():
        runtime.end()


def _brokers(given: dict[str, str]) -> int:
    text = given.get("BROKERS", str(DOCKER_BROKERS))
    if not text.isdecimal() or not 1 <= int(text) <= BROKERS_MAX:
        raise UsageError(f"BROKERS={text} cannot be; give 1 to {BROKERS_MAX}")
    return int(text)


def down(home: Home, progress: Progress) -> int:
    """Take every container, network and volume of this checkout away."""
    with only_one(home, progress):
        engine = DockerEngine()
        try:
            gone = engine.take_down(project_name(home.path))
        finally:
            engine.close()
        forget_kept(home)
    print(f"took away {len(gone)}: {', '.join(gone)}" if gone else "nothing was up")
    return ExitCode.VALID
