"""Start services by compose files, whichever compose there is; knows nothing of runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from conductor.appliance.building import docker_program
from conductor.appliance.docker_engine import DEFAULT_HOST
from conductor.interrupts import held
from conductor.processes import Child
from contract.errors import EnvironmentLacking, ServiceFailed

UP_S_MAX = 180.0
FILES = ("network", "kafka", "storage", "monitoring", "bench")


def engine_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a `docker` command is started with: it must speak to the engine that the package does,
    which heeds DOCKER_HOST and knows no contexts.
    """
    kept = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "DOCKER_CONFIG")
    own = {name: env[name] for name in kept if name in env}
    return {"DOCKER_HOST": DEFAULT_HOST, **own}


def compose_command() -> list[str]:
    """Compose v2 where the plugin is there, otherwise docker-compose."""
    docker = docker_program().program
    if _answers([docker, "compose", "version"]):
        return [docker, "compose"]
    older = shutil.which("docker-compose")
    if older and _answers([older, "version"]):
        return [older]
    raise EnvironmentLacking(
        "there is neither `docker compose` nor `docker-compose`: `make engine` installs one, "
        "or say RUNTIME=embedded"
    )


def _answers(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class Compose:
    """The compose files of one project."""

    def __init__(self, project: str, folder: Path, env: Mapping[str, str], log: Path) -> None:
        self.project = project
        self._env, self._log = dict(env), log
        self._command = [*compose_command(), "--project-name", project]
        self._command += ["--project-directory", str(folder)]
        for name in FILES:
            self._command += ["--file", str(folder / f"{name}.yml")]

    def create(self, services: Sequence[str], more: Path | None = None) -> None:
        """Have containers of the services, without starting them."""
        self._run(["up", "--no-start", "--no-deps", *services], more)

    def up(self, services: Sequence[str], more: Path | None = None) -> None:
        """Have the services started; `more` is one more compose file."""
        self._run(["up", "--detach", "--no-deps", *services], more)

    def _run(self, words: list[str], more: Path | None) -> None:
        command = [*self._command, *(["--file", str(more)] if more else []), *words]
        env = {**engine_environment(os.environ), **self._env, "COMPOSE_IGNORE_ORPHANS": "true"}
        self._log.unlink(missing_ok=True)
        # broken off, it might go on making containers behind the back of who takes them away
        with held():
            child = Child("compose", command, env, self._log)
            code = child.wait(UP_S_MAX)
            child.kill()
        if code != 0:
            how = "did not end in time" if code is None else f"ended with exit code {code}"
            tail = "\n  ".join(child.log_tail(6))
            raise ServiceFailed(f"compose could not start {', '.join(words[3:])}: {how}\n  {tail}")
