"""What the conductor's tests share: a checkout whose results go elsewhere, and a clock."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.home import Home
from conductor.interrupts import SIGNALS
from tests.unit.conductor.fakes import NO_DOCKER, ROOT, Clock


@pytest.fixture(autouse=True)
def no_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an engine answers on this machine changes no test: here none does."""
    monkeypatch.setattr("conductor.asked.what_docker_lacks", lambda: NO_DOCKER)


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch, no_docker: None) -> None:  # noqa: ARG001
    """A Docker engine and a compose are there, as far as anybody asks."""
    monkeypatch.setattr("conductor.asked.what_docker_lacks", lambda: None)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """This checkout; what is written goes to a temporary folder."""
    return Home(ROOT, tmp_path / "results")


@pytest.fixture
def clock() -> Clock:
    """A clock that only moves when somebody sleeps."""
    return Clock()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that no campaign of this machine uses."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def heard_signals() -> Iterator[None]:
    """No signal is ignored, as some are in what is started in the background or under nohup."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
