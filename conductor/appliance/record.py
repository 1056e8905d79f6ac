"""What each service really ran, and within what limits; noted as its container is made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conductor.appliance.docker_engine import DockerEngine

#: the list of Debian packages that each image of ours holds
PACKAGES = "/usr/share/tollgate/packages"


class Record:
    """Service → its image, with the hash of the package list, and its limits."""

    def __init__(self, engine: DockerEngine, logs: Path) -> None:
        self._engine, self._logs = engine, logs
        self.images: dict[str, dict[str, Any]] = {}
        self.limits: dict[str, dict[str, Any]] = {}
        #: by id, of whatever run
        self._known: dict[str, dict[str, Any]] = {}

    def note(self, name: str, container: Any) -> None:
        """Look at a container, and once at each image."""
        self.limits[name] = limits_of(container)
        tag, image = container.attrs["Config"]["Image"], container.attrs["Image"]
        if image not in self._known:
            self._known[image] = self._facts(tag, image)
        self.images[name] = self._known[image]

    def forget(self, names: Iterable[str]) -> None:
        """Services of a run that is over are none of the next one's."""
        for name in names:
            self.images.pop(name, None)
            self.limits.pop(name, None)

    def _facts(self, tag: str, image: str) -> dict[str, Any]:
        # not from the container: to read a file there, the engine mounts all of its mounts, and
        # cAdvisor's are those of the whole machine
        packages = self._engine.file_of_image(image, PACKAGES)
        if packages is not None:
            self._logs.mkdir(parents=True, exist_ok=True)
            (self._logs / f"packages-{image[-12:]}.txt").write_bytes(packages)
        return self._engine.image_facts(image) | {
            "tag": tag,
            "packages_sha256": hashlib.sha256(packages).hexdigest() if packages else None,
        }


def limits_of(container: Any) -> dict[str, Any]:
    """What a container may take, as the engine has it; null is no limit."""
    told = container.attrs["HostConfig"]
    return {
        "cpus": int(told.get("NanoCpus") or 0) / 1e9 or None,
        "memory_bytes": int(told.get("Memory") or 0) or None,
        "cpuset": told.get("CpusetCpus") or None,
    }
