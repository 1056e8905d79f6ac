"""The playbooks for real: what they start they start once, and a second time changes nothing."""

from __future__ import annotations

import io
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from conductor import ansible
from conductor.ansible import Play, play
from conductor.home import Home
from conductor.hosts import load_images
from contract.errors import EnvironmentLacking, TookTooLong
from tests.system.tollgate import HOME

pytestmark = pytest.mark.brokers

END_S_MAX = 60.0
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CHECKOUT = Home(HOME)


def lacking() -> str:
    """Why an engine cannot be started here; empty if it can."""
    if platform.freedesktop_os_release()["ID"] not in ("debian", "ubuntu"):
        return "needs Debian or Ubuntu"
    if os.geteuid() != 0:
        return "needs root: it starts an engine"
    if shutil.which("dockerd", path=SYSTEM) is None:
        return "needs dockerd (make engine)"
    apart = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if apart.returncode == 0 else "needs the right to make a network of its own"


@pytest.fixture
def an_engine() -> None:
    """Asked when it is needed: the appliance's tests may have installed one meanwhile."""
    if why := lacking():
        pytest.skip(why)


needs_an_engine = pytest.mark.usefixtures("an_engine")


@dataclass
class Second:
    """A second engine, beside the one that may run here and must not notice."""

    place: Path
    said: list[str]

    @property
    def pid(self) -> int:
        return int((self.place / "pid").read_text())

    def variables(self, *more: str) -> dict[str, Any]:
        place = self.place
        return {
            "docker_socket": f"{place}/socket",
            "dockerd_log": f"{place}/log",
            "by_systemd": False,
            "path": f"{place}/bin:{SYSTEM}",
            "dockerd_arguments": [
                *[f"--host=unix://{place}/socket", f"--pidfile={place}/pid"],
                *[f"--data-root={place}/data", f"--exec-root={place}/exec"],
                *["--bridge=none", "--iptables=false", "--ip-forward=false", *more],
            ],
        }

    def play(self, *more: str, dry: bool = False) -> dict[str, int]:
        """Play engine.yml; the hosts on which something was changed, as Ansible counts."""
        asked = Play("engine.yml", variables=self.variables(*more), dry=dry)
        return play(asked, CHECKOUT, self.said.append).stats["changed"]


def bridge() -> str:
    """Which docker0 this is; one that was taken away and made anew is another."""
    index = Path("/sys/class/net/docker0/ifindex")
    return index.read_text() if index.exists() else "none"


@pytest.fixture
def second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Second]:
    """In a network of its own: a dockerd that is told `--bridge=none` deletes docker0."""
    program = tmp_path / "bin" / "dockerd"
    program.parent.mkdir()
    real = shutil.which("dockerd", path=SYSTEM)
    program.write_text(f'#!/bin/sh\nexec unshare --net {real} "$@"\n')
    program.chmod(0o755)
    left = tmp_path / "tmp"
    left.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(left))
    before = bridge()
    it = Second(tmp_path, [])
    yield it
    if (tmp_path / "pid").exists():
        engine = psutil.Process(it.pid)
        engine.send_signal(signal.SIGTERM)
        psutil.wait_procs([engine], END_S_MAX)
        assert not engine.is_running()
    assert bridge() == before
    assert list(left.iterdir()) == []


@needs_an_engine
def test_an_engine_is_started_once_and_then_left_alone(second: Second) -> None:
    assert second.play(dry=True) == {"localhost": 1}
    assert second.said[-2:] == [
        "localhost: would do: Start dockerd",
        "DRY=1: nothing was changed",
    ]
    assert not (second.place / "log").exists()
    assert second.play() == {"localhost": 1}
    pid = second.pid
    second.said.clear()
    assert second.play() == {}
    assert second.said[-1] == "nothing had to be changed"
    assert "an engine answers" in second.said[0]
    assert second.pid == pid
    load_twice(second)


def load_twice(second: Second) -> None:
    """The images of a bundle are brought once."""
    docker = ["docker", "--host", f"unix://{second.place}/socket"]
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    bundle = second.place / "bundle.tar"
    run([*docker, "import", "-", "tollgate/test:1"], empty.getvalue())
    run([*docker, "save", "--output", str(bundle), "tollgate/test:1"])
    run([*docker, "rmi", "tollgate/test:1"])
    variables = {"docker_socket": f"{second.place}/socket"}
    for dry, said in (
        (True, "DRY=1: nothing was changed"),
        (False, "changes: 1"),
        (False, "nothing had to be changed"),
    ):
        how = Play("load.yml", "localhost", variables, dry)
        load_images(bundle, how, CHECKOUT, second.said.append)
        assert second.said[-1] == said
    assert "tollgate/test:1" in run([*docker, "images", "--format", "{{.Repository}}:{{.Tag}}"])


def run(command: list[str], given: bytes = b"") -> str:
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout.decode()


@needs_an_engine
def test_an_engine_that_does_not_start_is_quoted(second: Second) -> None:
    with pytest.raises(EnvironmentLacking, match=r"log .* ends: .*no-such-flag") as raised:
        second.play("--no-such-flag")
    assert "localhost: Start the engine:" in str(raised.value)
    trace = Path(str(raised.value).rpartition(" ")[2].rstrip(")"))
    assert "no-such-flag" in trace.read_text()
    trace.unlink()


@needs_an_engine
def test_this_machine_s_own_engine_is_prepared_once() -> None:
    """As `make engine` does it: at most the first time changes something."""
    docker = ["docker", "version", "--format", "{{.Server.Version}}"]
    if subprocess.run(docker, capture_output=True, check=False).returncode != 0:
        pytest.skip("no engine answers here, and a test installs none for good")
    first = play(Play("engine.yml", dry=True), CHECKOUT, print)
    if first.changes:
        pytest.skip("something is missing here (make engine), and a test installs nothing for good")
    for _ in range(2):
        assert play(Play("engine.yml"), CHECKOUT, print).stats["changed"] == {}


_INTERRUPTED = """
import sys
from pathlib import Path
from conductor.home import Home
from conductor.ansible import Play, play
from conductor.interrupts import listen
listen()
try:
    play(Play(sys.argv[1]), Home(Path(sys.argv[2])), print)
except KeyboardInterrupt:
    sys.exit(130)
"""

_SLOW = """
- hosts: appliance
  gather_facts: false
  tasks:
    - ansible.builtin.command: sleep 4321
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A checkout whose playbook takes an hour."""
    shutil.copytree(HOME / "hosts", tmp_path / "hosts")
    (tmp_path / "hosts" / "slow.yml").write_text(_SLOW)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def sleepers() -> list[psutil.Process]:
    return [p for p in psutil.Process().children(recursive=True) if "4321" in p.cmdline()]


def test_a_play_that_takes_too_long_is_ended(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(slow / "tmp"))
    monkeypatch.setattr(ansible, "PLAY_S_MAX", 4.0)
    with pytest.raises(TookTooLong, match="has not ended within 4 s"):
        play(Play("slow.yml"), Home(slow), print)
    assert sleepers() == []
    assert list((slow / "tmp").iterdir()) == []


def test_an_interruption_ends_ansible_and_its_workers(slow: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED, "slow.yml", str(slow)],
        env={**os.environ, "TMPDIR": str(slow / "tmp"), "PYTHONPATH": str(HOME)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    family: list[psutil.Process] = []
    deadline = time.monotonic() + END_S_MAX
    while not sleepers():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    assert process.wait(END_S_MAX) == 130
    assert [p for p in family if p.is_running()] == []
    assert list((slow / "tmp").iterdir()) == []
