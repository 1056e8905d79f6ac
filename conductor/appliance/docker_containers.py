"""One container as the Docker package gives it: how it ended, what it said, its signals and end."""

from __future__ import annotations

import io
import tarfile
import threading
from dataclasses import dataclass
from typing import Any

import requests
from docker.errors import APIError, DockerException, NotFound

from conductor.appliance.docker_errors import brief, said

PROJECT_LABEL = "com.docker.compose.project"
SERVICE_LABEL = "com.docker.compose.service"
NETWORK_LABEL = "com.docker.compose.network"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a container ended."""

    exit_code: int
    out_of_memory: bool


class EndWatch:
    """A thread that notes which containers ended, and how, as the engine tells it."""

    def __init__(self, client: Any, project: str) -> None:
        self._client = client
        self._ended: dict[str, int] = {}
        self._stopped = False
        wanted = {"label": f"{PROJECT_LABEL}={project}", "event": "die", "type": "container"}
        with said("the engine did not tell what ends"):
            self._events = client.events(decode=True, filters=wanted)
        self.lost: str | None = None
        self._thread = threading.Thread(target=self._listen, name="container-ends", daemon=True)
        self._thread.start()

    def exit_code(self, container_id: str) -> int | None:
        """How it ended, or None while it runs."""
        return self._ended.get(container_id)

    def look(self, container: Any) -> None:
        """Ask once: it may have ended before anybody listened."""
        with said("a container could not be looked at"):
            container.reload()
        state = container.attrs["State"]
        if state["Status"] in ("exited", "dead"):
            self._ended[container.id] = int(state["ExitCode"])

    def close(self) -> None:
        """Hear no more."""
        self._stopped = True
        self._events.close()

    def _listen(self) -> None:
        try:
            for event in self._events:
                code = event["Actor"]["Attributes"].get("exitCode", "0")
                self._ended[event["Actor"]["ID"]] = int(code)
        except (DockerException, requests.RequestException, OSError, ValueError) as error:
            self.lost = brief(error)
        if not self._stopped and self.lost is None:
            self.lost = "it ended the connection"


def how_it_ended(container: Any) -> Ended:
    """Exit code, and whether the kernel killed it for its memory."""
    with said("a container that ended could not be looked at"):
        container.reload()
        state = container.attrs["State"]
    return Ended(int(state["ExitCode"]), bool(state.get("OOMKilled")))


def log_of(container: Any, lines: int) -> list[str]:
    """The last lines that a container said, on stdout and stderr; none once it is gone."""
    with said("a container's log could not be read"):
        try:
            told: bytes = container.logs(tail=lines)
        except NotFound:
            return []
        except APIError as error:
            if "marked for removal" in str(error) or "dead" in str(error):
                return []
            raise
    return [line.rstrip() for line in told.decode("utf-8", "replace").splitlines()]


def stderr_of(container: Any) -> str:
    """What a container said on stderr."""
    with said("a container's log could not be read"):
        told: bytes = container.logs(stdout=False)
    return told.decode("utf-8", "replace")


def signal(container: Any, name: str) -> None:
    """Send a signal; one that has ended meanwhile needs none."""
    try:
        container.kill(name)
    except (APIError, requests.RequestException):
        return


def remove(container: Any) -> None:
    """End and take away a container with its nameless volumes; harmless when it is gone."""
    with said(f"container {container.name} could not be removed"):
        try:
            container.remove(v=True, force=True)
        except NotFound:
            return
        except APIError as error:
            if "already in progress" not in str(error):
                raise


def file_of(container: Any, path: str) -> bytes | None:
    """A file in it; None where there is none."""
    try:
        parts, _ = container.get_archive(path)
    except NotFound:
        return None
    with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as tar:
        member = tar.next()
        file = tar.extractfile(member) if member is not None and member.isfile() else None
        return file.read() if file is not None else None
