"""What the appliance's tests put in the place of the Docker engine and its containers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound

from conductor.appliance.docker_containers import SERVICE_LABEL, EndWatch
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.runtime import Appliance, DockerRuntime
from conductor.appliance.sizing import Sizes, sizes_for

GIB = 1024**3
PROJECT = "tollgate-0"
SUBNET, JUDGE_SUBNET = "198.18.7", "198.18.8"
IMAGES = {
    name: f"tollgate/{name}:1"
    for name in ("kafka", "hadoop", "influxdb", "cadvisor", "tollgate", "engine mine")
}


def sizes() -> Sizes:
    return sizes_for([0, 1], 64 * GIB, 1024)


def id_of(tag: str) -> str:
    """The id that an image of that tag has."""
    return f"sha256:{hashlib.sha256(tag.encode()).hexdigest()}"


class FakeContainer:
    """A container as the Docker package knows it."""

    def __init__(self, service: str, status: str = "running", lines: tuple[str, ...] = ()) -> None:
        self.id = f"id-of-{service}"
        self.name = f"{PROJECT}_{service}_1"
        self.labels = {SERVICE_LABEL: service}
        self.status = status
        self.lines = list(lines)
        self.state: dict[str, Any] = {"Status": status, "Pid": 4321, "ExitCode": 0}
        self.host: dict[str, Any] = {"Memory": 2048 * 1024**2}
        self.image = IMAGES["kafka"]
        self.gone = False
        self.complaints = b""
        self.signals: list[str] = []
        self.on_signal: Callable[[], None] = lambda: None
        self.looks = 0

    @property
    def attrs(self) -> dict[str, Any]:
        return {
            "State": self.state,
            "HostConfig": self.host,
            "Config": {"Image": self.image},
            "Image": id_of(self.image),
        }

    def reload(self) -> None:
        self.looks += 1

    def get_archive(self, _path: str) -> Any:
        raise NotFound("no such file")

    def logs(self, tail: int | None = None, stdout: bool = True) -> bytes:
        if self.gone:
            raise NotFound("no such container")
        if not stdout:
            return self.complaints
        assert tail is not None
        return "".join(f"{line}\n" for line in self.lines[-tail:]).encode()

    def kill(self, name: str) -> None:
        if self.state["Status"] != "running":
            raise APIError("container is not running")
        self.signals.append(name)
        self.on_signal()

    def remove(self, v: bool, force: bool) -> None:
        assert v and force, "its volumes, or it, would be left"
        if self.gone:
            raise NotFound("no such container")
        self.gone = True


class FakeEnds(EndWatch):
    """Containers end when a test says so."""

    def __init__(self) -> None:
        self.lost: str | None = None
        self._ended: dict[str, int] = {}
        self.closed = False

    def ends(self, container: FakeContainer, code: int) -> None:
        container.state |= {"Status": "exited", "ExitCode": code}
        self._ended[container.id] = code

    def close(self) -> None:
        self.closed = True


class FakeEngine(DockerEngine):
    """An engine that has what a test gives it, and notes what it was asked for."""

    def __init__(self) -> None:
        self.there: list[FakeContainer] = []
        self.images: set[str] = set()
        #: why its containers are no processes of this machine
        self.elsewhere: str | None = None
        #: tag → the list of packages in it
        self.packages: dict[str, bytes] = {}
        self.trouble: Exception | None = None
        self.known_networks: list[dict[str, Any]] = [
            {
                "name": f"{PROJECT}_{network}",
                "labels": {
                    "com.docker.compose.project": PROJECT,
                    "com.docker.compose.network": network,
                },
                "subnets": [f"{subnet}.0/24"],
            }
            for network, subnet in (("bench", SUBNET), ("judge", JUDGE_SUBNET))
        ]
        self.watch = FakeEnds()
        self.closed = False
        self.registry_answers = False
        self.happened: list[str] = []
        self._facts = {"DockerRootDir": "/var/lib/docker", "KernelVersion": "0"}

    def close(self) -> None:
        self.closed = True

    def why_not_here(self) -> str | None:
        return self.elsewhere

    def has_image(self, tag: str) -> bool:
        return tag in self.images

    def image_facts(self, tag: str) -> dict[str, Any]:
        known = self._known(tag)
        return {"tag": tag, "id": id_of(known), "size_bytes": 1000, "user": ""}

    def attach(self, container: Any, addresses: Mapping[str, str]) -> None:
        self.happened.append(f"attach {container.name} to {', '.join(addresses)}")

    def file_of_image(self, tag: str, _path: str) -> bytes | None:
        return self.packages.get(self._known(tag))

    def _known(self, name: str) -> str:
        """The tag of what is asked for by its tag or by its id."""
        (tag,) = (tag for tag in self.images if name in (tag, id_of(tag)))
        return tag

    def empty_folder(self, tag: str, folder: Path) -> None:
        self.happened.append(f"{tag} empties {folder}")

    def pull(self, name: str, tag: str, _timeout_s: float) -> bool:
        self.happened.append(f"pull {name}")
        if self.registry_answers:
            self.images.add(tag)
        return self.registry_answers

    def containers(self, project: str) -> list[Any]:
        self.happened.append(f"containers of {project}")
        return list(self.there)

    def take_down(self, project: str) -> list[str]:
        self.happened.append(f"take down {project}")
        if self.trouble is not None:
            raise self.trouble
        return []

    def networks(self) -> list[dict[str, Any]]:
        return self.known_networks

    def ends(self, _project: str) -> EndWatch:
        return self.watch


def appliance(folder: Path) -> Appliance:
    return Appliance(PROJECT, folder, IMAGES, sizes())


def runtime(
    folder: Path, engine: FakeEngine | None = None, *, kept: bool = False, store: Path | None = None
) -> DockerRuntime:
    """A docker runtime of which nothing was started; its folders are below the one given."""
    (folder / "scratch").mkdir(parents=True, exist_ok=True)
    results = folder / "results" / "campaign"
    made = replace(appliance(folder), kept=kept, store=store)
    return DockerRuntime(engine or FakeEngine(), made, results, folder / "scratch")
