"""What is asked of the Docker engine, through its Python package: images, containers, networks."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from conductor.appliance.docker_containers import (
    PROJECT_LABEL,
    SERVICE_LABEL,
    EndWatch,
    file_of,
    remove,
)
from conductor.appliance.docker_errors import brief, no_image, said
from conductor.interrupts import held
from contract.errors import EnvironmentLacking, ServiceFailed

REQUEST_S_MAX = 120
#: where the Docker package looks, whatever context a `docker` command may have been given
DEFAULT_HOST = "unix:///var/run/docker.sock"
REMOVE_S_MAX = 60.0

NO_ENGINE = (
    "no Docker engine answers ({why}); `make engine` installs and starts one, and "
    "RUNTIME=embedded needs none"
)
NOT_ALLOWED = (
    "a Docker engine is there, but this login may not speak to it: be in the group docker (after "
    "`make engine`, with a new login or `newgrp docker`), or say RUNTIME=embedded"
)


class DockerEngine:
    """One Docker engine."""

    def __init__(self) -> None:
        try:
            self._client = docker.from_env(timeout=REQUEST_S_MAX)
            self._facts: dict[str, Any] = self._client.info()
            self._facts["ApiVersion"] = self._client.version().get("ApiVersion")
        except (DockerException, requests.RequestException) as error:
            if "PermissionError" in str(error) or "Permission denied" in str(error):
                raise EnvironmentLacking(NOT_ALLOWED) from None
            raise EnvironmentLacking(NO_ENGINE.format(why=_why_none(error))) from None

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    @property
    def facts(self) -> dict[str, Any]:
        """What a reader needs to know of the engine."""
        names = {
            "version": "ServerVersion",
            "storage_driver": "Driver",
            "cgroup_version": "CgroupVersion",
            "operating_system": "OperatingSystem",
            "api_version": "ApiVersion",
        }
        return {name: self._facts.get(key) for name, key in names.items()}

    @property
    def root(self) -> Path:
        """Where it keeps images and containers."""
        return Path(str(self._facts.get("DockerRootDir") or "/var/lib/docker"))

    def why_not_here(self) -> str | None:
        """Why its containers are no processes of this machine, with addresses that it reaches."""
        address = os.environ.get("DOCKER_HOST", DEFAULT_HOST)
        if not address.startswith("unix://"):
            return f"the Docker engine of DOCKER_HOST={address} is not on this machine"
        if self._facts.get("KernelVersion") != platform.release():
            return "the Docker engine that answers runs in a machine of its own"
        options = " ".join(map(str, self._facts.get("SecurityOptions") or ()))
        for name in ("rootless", "userns"):
            if name in options:
                return f"the Docker engine that answers keeps its containers apart ({name})"
        return None

    # images

    def has_image(self, tag: str) -> bool:
        """Whether an image of that tag is there."""
        with said("the engine did not tell its images"):
            try:
                self._client.images.get(tag)
            except ImageNotFound:
                return False
        return True

    def image_facts(self, tag: str) -> dict[str, Any]:
        """Id, size and labels of an image; a missing one is named."""
        with said(f"image {tag} could not be looked at"):
            try:
                attributes = self._client.images.get(tag).attrs
            except ImageNotFound:
                raise no_image(tag) from None
        return {
            "tag": tag,
            "id": attributes["Id"],
            "size_bytes": int(attributes["Size"]),
            "user": (attributes.get("Config") or {}).get("User") or "",
        }

    def image_size(self, tag: str) -> int:
        """Bytes of an image with all it is based on."""
        return int(self.image_facts(tag)["size_bytes"])

    def own_images(self, prefix: str) -> list[str]:
        """All tags that begin so."""
        with said("the engine did not tell its images"):
            images = self._client.images.list()
        return sorted(t for image in images for t in image.tags if t.startswith(f"{prefix}/"))

    def remove_image(self, tag: str) -> bool:
        """Take an image away; False where something still uses it."""
        try:
            self._client.images.remove(tag)
        except (APIError, requests.RequestException):
            return False
        return True

    def pull(self, name: str, tag: str, timeout_s: float) -> bool:
        """Pull an image and give it a tag of ours; False where no registry has it in time."""
        outcome: list[bool] = []

        def work() -> None:
            try:
                self._client.images.pull(name)
            except (DockerException, requests.RequestException):
                outcome.append(False)
            else:
                outcome.append(True)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(timeout_s)
        if not (outcome and outcome[0]):
            return False
        with said(f"{name} could not be given the tag {tag}"):
            return bool(self._client.images.get(name).tag(tag))

    def import_image(self, archive: Path, tag: str) -> None:
        """Make an image of a file system's archive."""
        repository, _, version = tag.partition(":")
        with said(f"{tag} could not be imported"):
            self._client.api.import_image_from_file(str(archive), repository, version)

    def empty_folder(self, tag: str, folder: Path) -> None:
        """Remove what other users wrote below a folder of this machine, by a container's root."""
        with held(), said(f"{folder} could not be emptied"):
            self._client.containers.run(
                tag,
                entrypoint=["/bin/sh", "-c", 'cd "$0" && rm -rf -- ..?* .[!.]* *', str(folder)],
                command=[],
                user="0",
                network_mode="none",
                volumes={str(folder): {"bind": str(folder), "mode": "rw"}},
                remove=True,
            )

    def file_of_image(self, tag: str, path: str) -> bytes | None:
        """A file of an image, without running it; None where it has no such file."""
        with held(), said(f"{path} of {tag} could not be read"):
            try:
                container = self._client.containers.create(tag, command=["-"], network_mode="none")
            except ImageNotFound:
                raise no_image(tag) from None
            try:
                return file_of(container, path)
            finally:
                container.remove(v=True, force=True)

    def save_images(self, tags: list[str]) -> Iterator[bytes]:
        """Several images as one archive, with their tags."""
        with said("the images could not be saved"):
            # several names at once share their layers; the package's own call takes one name
            api: Any = self._client.api
            answer = api._get(api._url("/images/get"), params={"names": tags}, stream=True)
            api._raise_for_status(answer)
            yield from answer.iter_content(1 << 20)

    def load_images(self, archive: Any) -> list[str]:
        """Load what `save_images` gave."""
        with said("the images could not be loaded"):
            return sorted(t for image in self._client.images.load(archive) for t in image.tags)

    # containers

    def containers(self, project: str) -> list[Any]:
        """All containers of a project, ended ones too."""
        with said("the engine did not tell its containers"):
            return list(
                self._client.containers.list(
                    all=True, filters={"label": f"{PROJECT_LABEL}={project}"}
                )
            )

    def networks(self) -> list[dict[str, Any]]:
        """Name, labels and subnets of every network."""
        with said("the engine did not tell its networks"):
            found = self._client.networks.list()
        return [
            {
                "name": network.name,
                "labels": network.attrs.get("Labels") or {},
                "subnets": [
                    each["Subnet"]
                    for each in (network.attrs.get("IPAM") or {}).get("Config") or []
                    if "Subnet" in each
                ],
            }
            for network in found
        ]

    def remove_containers(self, project: str, keep: Collection[str] = ()) -> list[str]:
        """Remove a project's containers but of those services; say which there were."""
        gone: list[str] = []
        with ExitStack() as others:
            # each is tried though another could not be removed
            for container in self.containers(project):
                if container.labels.get(SERVICE_LABEL) not in keep:
                    others.callback(remove, container)
                    gone.append(f"container {container.name}")
        return gone

    def attach(self, container: Any, addresses: Mapping[str, str]) -> None:
        """Have a container in all these networks (name → its address there)."""
        with said(f"container {container.name} could not be put in its networks"):
            there = container.attrs["NetworkSettings"]["Networks"]
            for name, address in addresses.items():
                if name not in there:
                    self._client.networks.get(name).connect(container, ipv4_address=address)

    def take_down(self, project: str) -> list[str]:
        """Remove every container, network and volume of a project; say which there were."""
        deadline = time.monotonic() + REMOVE_S_MAX
        gone = self.remove_containers(project)
        # one that was being made when the first look was taken
        while (late := self.remove_containers(project)) and time.monotonic() < deadline:
            gone += [name for name in late if name not in gone]
        label = {"label": f"{PROJECT_LABEL}={project}"}
        with said("what containers leave could not be looked at"):
            networks = self._client.networks.list(filters=label)
            volumes = self._client.volumes.list(filters=label)
        kept: list[str] = []
        for network in networks:
            # a container that was just removed may still be let go of
            while not (removed := _try(network.remove)) and time.monotonic() < deadline:
                time.sleep(0.2)
            (gone if removed else kept).append(f"network {network.name}")
        for volume in volumes:
            removed = _try(partial(volume.remove, force=True))
            (gone if removed else kept).append(f"volume {volume.name}")
        if kept:
            raise ServiceFailed(f"could not take away {', '.join(kept)}: something else uses it")
        return gone

    def ends(self, project: str) -> EndWatch:
        """Hear of every container of the project that ends, from now on."""
        return EndWatch(self._client, project)

    def statistics(self, container: Any) -> dict[str, Any] | None:
        """What the engine itself counted of a container; None where it ended meanwhile."""
        try:
            told: dict[str, Any] = self._client.api.stats(container.id, stream=False, one_shot=True)
        except (DockerException, requests.RequestException):
            return None
        return told


def _why_none(error: Exception) -> str:
    """Of a connection that failed only the last reason counts; the package wraps it four times."""
    address = os.environ.get("DOCKER_HOST")
    at = f"at DOCKER_HOST={address}: " if address else ""
    reasons = ("Connection refused", "No such file or directory", "timed out")
    return at + next((reason for reason in reasons if reason in str(error)), brief(error))


def _try(act: Any) -> bool:
    try:
        act()
    except NotFound:
        return True
    except (APIError, requests.RequestException):
        return False
    return True
