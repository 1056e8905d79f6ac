"""The cluster that `make up` keeps between campaigns: what it is, and whether it still fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from conductor.appliance.docker_containers import SERVICE_LABEL
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.project import MONITORING, STORAGE, project_name
from conductor.brokers import in_words
from conductor.home import Home
from contract.errors import UsageError
from contract.results import read_json, write_json

_FILE = "kept-cluster.json"


@dataclass(frozen=True, slots=True)
class KeptCluster:
    """What was started by `make up`."""

    project: str
    brokers: int
    #: kafka, hadoop, influxdb, cadvisor → tag
    images: dict[str, str]


def _path(home: Home) -> Path:
    return home.artifacts / _FILE


def note_kept(home: Home, cluster: KeptCluster) -> None:
    """From now on campaigns use it."""
    write_json(_path(home), asdict(cluster))


def forget_kept(home: Home) -> None:
    """From now on campaigns start their own."""
    _path(home).unlink(missing_ok=True)


def noted(home: Home) -> KeptCluster | None:
    """What was noted, whether or not it still runs."""
    try:
        return KeptCluster(**read_json(_path(home)))
    except FileNotFoundError:
        return None
    except (TypeError, ValueError):
        forget_kept(home)
        return None


def misfit(cluster: KeptCluster, brokers: int) -> str | None:
    """Why a cluster is not what is asked for, in a sentence."""
    if cluster.brokers == brokers:
        return None
    return (
        f"`make up` keeps a cluster of {in_words(cluster.brokers)} and {brokers} are asked for; "
        f"say BROKERS={cluster.brokers}, or `make down` first"
    )


def read_kept(
    home: Home, engine: DockerEngine, brokers: int, images: Mapping[str, str]
) -> KeptCluster | None:
    """The cluster that is kept, if it runs; one that does not fit is refused, not taken down."""
    cluster = noted(home)
    if cluster is None:
        return None
    running = {
        container.labels.get(SERVICE_LABEL)
        for container in engine.containers(project_name(home.path))
        if container.status == "running"
    }
    if not running:
        # the machine was started anew, or somebody else took it down
        forget_kept(home)
        return None
    wanted = {f"broker-{n}" for n in range(1, cluster.brokers + 1)} | {*STORAGE, *MONITORING}
    if lost := sorted(wanted - running):
        raise UsageError(
            f"the cluster that `make up` keeps has lost {', '.join(lost)}; `make down` first"
        )
    if (says := misfit(cluster, brokers)) is not None:
        raise UsageError(says)
    if any(images.get(name) != tag for name, tag in cluster.images.items()):
        raise UsageError(
            "the cluster that `make up` keeps is of older images than this checkout's; "
            "`make down` first"
        )
    return cluster
