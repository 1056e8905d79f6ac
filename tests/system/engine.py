"""A Docker engine for the tests of the appliance: the one that answers, or one brought up."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conductor.appliance.presence import what_docker_lacks
from tests.system.tollgate import HOME

PID_FILE = Path("/var/run/docker.pid")
END_S_MAX = 60.0
SYSTEMS = ("debian", "ubuntu")


def why_not() -> str | None:
    """Why no container can be started here and no engine brought up; None if one can."""
    lacking = what_docker_lacks()
    if lacking is None:
        return None
    if os.geteuid() != 0:
        return f"{lacking.partition(';')[0]}, and only root may bring one up"
    if platform.freedesktop_os_release().get("ID") not in SYSTEMS:
        return f"{lacking.partition(';')[0]}, and only on Debian and Ubuntu one is brought up"
    apart = subprocess.run(
        ["unshare", "--mount", "--net", "true"], capture_output=True, check=False
    )
    if apart.returncode != 0:
        return f"{lacking.partition(';')[0]}, and this root may make no namespaces for one"
    return None


@contextmanager
def docker_engine() -> Iterator[None]:
    """`make engine` where none answers; what it started is ended, what was there stays."""
    brought = what_docker_lacks() is not None
    if brought:
        command = [str(HOME / "tollgate"), "engine"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert what_docker_lacks() is None
    try:
        yield
    finally:
        if brought and not Path("/run/systemd/system").exists():
            _end(int(PID_FILE.read_text()))


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + END_S_MAX
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
