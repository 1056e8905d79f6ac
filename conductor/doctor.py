"""Say what this machine has, what a campaign will cost, and what would stop it; start nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from conductor.appliance.kept import misfit, noted
from conductor.artifacts import folders_of, is_complete
from conductor.asked import Asked
from conductor.engine_choice import Contender
from conductor.home import Home, nearest
from conductor.java import find_java
from conductor.prepared import is_prepared
from conductor.runtimes import lacking_images
from conductor.sources import look_at_source
from contract.engine import heap_mb
from contract.errors import TollgateError

MIB = 1024**2
GIB = 1024**3
#: resident sizes and shares as measured: docs/performance.md
BROKER_BYTES = 420 * MIB
#: of an engine that does not say
HEAP_MB = 1024
ENGINE_BESIDES_HEAP_BYTES = 500 * MIB
EVALUATOR_BYTES = 1500 * MIB
PUBLISHER_BYTES = 200 * MIB
#: of the appliance: a NameNode and three DataNodes; InfluxDB and cAdvisor
STORAGE_BYTES = 900 * MIB
MONITORING_BYTES = 200 * MIB
#: where Debian's and Docker's own packages keep images and containers
DOCKER_ROOT = "/var/lib/docker"
CONTAINERS = "containers"
RECORD_BYTES = 260
#: of the bytes of its topics, what a run leaves: they are stored compressed
KEPT_SHARE = 0.3
#: once a campaign, and around each run
AROUND_S = {"embedded": (25.0, 27.0), "docker": (50.0, 38.0)}
#: collecting and judging a record, its share of the outputs with it: docs/performance.md
JUDGE_S_PER_RECORD = 18e-6
FETCH_S = 150.0
#: of one image, with what is fetched for it; all together took 5 min 22 s
BUILD_S = 40.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What a campaign takes, roughly and rather too much than too little."""

    seconds: float
    memory_bytes: int
    disk_bytes: int


def cost_of(asked: Asked) -> Cost:
    """Estimate from the settings."""
    settings = asked.settings
    heap = (largest_heap_mb(asked) or HEAP_MB) * MIB
    processes = max(_heaps(asked, contender) for contender in asked.contenders)
    memory = settings.brokers * BROKER_BYTES + processes * (heap + ENGINE_BESIDES_HEAP_BYTES)
    if settings.runtime == "docker":
        memory += cluster_bytes(0)
    a_run = _records(asked) * 2 * RECORD_BYTES
    # brokers hold the topics of a repetition, and go with it
    held = a_run * settings.replication * asked.runs / asked.repeat
    return Cost(
        seconds=asked.repeat * block_s(settings.runtime) + asked.runs * run_s(asked),
        memory_bytes=memory + EVALUATOR_BYTES + PUBLISHER_BYTES,
        disk_bytes=int(held + a_run * asked.runs * KEPT_SHARE),
    )


def largest_heap_mb(asked: Asked) -> int | None:
    """The largest heap that an engine asks for; None where none names one."""
    told = (heap_mb(asked.engine_settings(contender)) for contender in asked.contenders)
    return max((each for each in told if each is not None), default=None)


def _heaps(asked: Asked, contender: Contender) -> int:
    """How many processes have one: each worker's is as large as the first service's."""
    started = contender.engine.spec.started(
        asked.engine_settings(contender), asked.settings.instances
    )
    return 1 + sum(count for service, count in started if service.instances is None)


def block_s(runtime: str) -> float:
    """What it takes to have brokers and evaluator up, once a repetition."""
    return AROUND_S[runtime][0]


def run_s(asked: Asked) -> float:
    """What a run takes, with the start of its engine and its evaluation."""
    around_s = AROUND_S[asked.settings.runtime][1]
    return asked.settings.fed_s + around_s + _records(asked) * JUDGE_S_PER_RECORD


def _records(asked: Asked) -> float:
    """What is fed: until the engine keeps up, and from then on."""
    return asked.settings.rate * (asked.settings.fed_s + 20)


def cluster_bytes(brokers: int) -> int:
    """What brokers, storage and monitoring in containers hold."""
    return brokers * BROKER_BYTES + STORAGE_BYTES + MONITORING_BYTES


def takes_too_long(asked: Asked) -> str | None:
    """Why it would not end in the MINUTES that it was given."""
    minutes, given = cost_of(asked).seconds / 60, asked.minutes_max
    if given is None or minutes <= given:
        return None
    return (
        f"{asked.runs} runs take about {minutes:.0f} minutes and MINUTES={given:g} were given; "
        f"{'a lower REPEAT or ' * (asked.repeat > 1)}a shorter DURATION would take less"
    )


def lacks(asked: Asked, home: Home) -> list[str]:
    """What would stop the campaign, each in a sentence."""
    cost, settings = cost_of(asked), asked.settings
    problems = [says] if (says := takes_too_long(asked)) else []
    available = psutil.virtual_memory().available
    if settings.runtime == "docker" and noted(home) is not None:
        # what is needed is in part taken already, by the cluster that is kept
        available += cluster_bytes(settings.brokers)
    if available < cost.memory_bytes:
        problems.append(
            f"{available / GIB:.1f} GiB of memory are available and about "
            f"{cost.memory_bytes / GIB:.1f} are needed; fewer BROKERS or a smaller "
            f"ENGINE_SETTINGS=memory_mb=… would need less"
            + (", and so would RUNTIME=embedded" * (settings.runtime == "docker"))
        )
    places = [
        ("temporary files", Path(tempfile.gettempdir())),
        ("results", nearest(home.results)),
    ]
    if asked.store.startswith("file:"):
        store = Path(asked.store.removeprefix("file:"))
        if not store.is_relative_to(home.results):
            places.append(("the store", nearest(store)))
    if settings.runtime == "docker":
        places.append((CONTAINERS, nearest(Path(DOCKER_ROOT))))
    for name, folder in places:
        free = shutil.disk_usage(folder).free
        if free < cost.disk_bytes + GIB:
            problems.append(
                f"{free / GIB:.1f} GiB of disk are free for {name} in {folder} and about "
                f"{(cost.disk_bytes + GIB) / GIB:.1f} are needed; a lower RATE or a shorter "
                f"DURATION would need less"
            )
        # what containers write their engine writes
        if name != CONTAINERS and not os.access(folder, os.W_OK):
            problems.append(f"{folder} (for {name}) cannot be written to")
    return problems


def examine(asked: Asked, home: Home) -> tuple[list[str], bool]:
    """The lines of `tollgate doctor`, and whether anything would stop the campaign."""
    problems = lacks(asked, home)
    bring = _images if asked.settings.runtime == "docker" else _jars
    brought: list[str] = []
    once_s = 0.0
    try:
        brought, once_s = bring(asked, home)
    except TollgateError as error:
        problems.append(str(error))
    try:
        look_at_source(asked.settings, home.path)
    except TollgateError as error:
        problems.append(str(error))
    cost = cost_of(asked)
    settings = asked.settings
    cluster = noted(home) if settings.runtime == "docker" else None
    if cluster is not None and (says := misfit(cluster, settings.brokers)) is not None:
        problems.append(says)
    memory = psutil.virtual_memory()
    free = shutil.disk_usage(home.path).free
    lines = [
        f"machine     {psutil.cpu_count()} cores, {memory.available / GIB:.1f} of "
        f"{memory.total / GIB:.1f} GiB memory free, {free / GIB:.1f} GiB disk free",
        f"load        {os.getloadavg()[0]:.1f} now (a quiet machine measures better)",
        *brought,
        f"runtime     {asked.runtime_says}",
        *_engines(asked),
        f"brokers     {settings.brokers} Kafka, replication {settings.replication}",
        f"runs        {', '.join(asked.stages)}" + (f", {asked.repeat} times" * (asked.repeat > 1)),
        f"will take   about {cost.seconds / 60:.1f} minutes, {cost.memory_bytes / GIB:.1f} GiB "
        f"memory, {cost.disk_bytes / GIB:.2f} GiB disk"
        + (f"; this first time about {once_s / 60:.1f} minutes more" * (once_s > 0)),
    ]
    if (psutil.cpu_count() or 1) < 2:
        problems.append("one core is too few: engine, brokers and publisher would only queue")
    lines += [f"in the way  {p}" for p in problems] or ["in the way  nothing"]
    return lines, bool(problems)


def _engines(asked: Asked) -> list[str]:
    """Each engine, and how it executes."""
    lines = []
    for engine in asked.engines:
        own = [each.execution for each in asked.contenders if each.engine == engine]
        pairs = "; ".join(f"{each.mode}, {each.dialect}" for each in own)
        lines.append(f"engine      {engine.spec.name} {engine.spec.version}, {pairs}")
    return lines


def _jars(asked: Asked, home: Home) -> tuple[list[str], float]:
    """What plain processes run with, and how long it takes to have it."""
    java = find_java(home.artifacts)
    folders = folders_of(engine.spec for engine in asked.engines)
    fetched = is_complete(home.artifacts_lock, home.artifacts, folders)
    lines = [
        f"java        Java {java.version} ({java.home})",
        f"jars        {'fetched' if fetched else 'to be fetched once'} ({', '.join(folders)})",
    ]
    if todo := [e.spec.name for e in asked.engines if not is_prepared(e, home, java)]:
        lines.append(f"engines     to be prepared once: {', '.join(todo)}")
    return lines, 0.0 if fetched else FETCH_S


def _images(asked: Asked, home: Home) -> tuple[list[str], float]:
    """What containers are made of, and how long it takes to have it."""
    lacking = lacking_images(asked.engines, home)
    says = f"to be built once: {', '.join(lacking)}" if lacking else "all are there"
    return [f"images      {says}"], len(lacking) * BUILD_S


def folder_size(path: Path) -> int:
    """Bytes below a folder."""
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file() and not p.is_symlink())
