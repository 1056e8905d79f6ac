"""What the Docker engine tells is heard; what it refuses becomes a sentence."""

from __future__ import annotations

import queue
import tarfile
import threading
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
import requests
from docker.errors import APIError, DockerException, NotFound

from conductor.appliance.docker_engine import (
    EndWatch,
    _file_of,
    how_it_ended,
    log_of,
    remove,
    signal,
    stderr_of,
)
from contract.errors import ServiceFailed
from tests.unit.conductor.appliance.fakes import PROJECT, FakeContainer
from tests.unit.conductor.fakes import until


class Events:
    """The engine's events, as a test gives them; None ends the connection."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue()
        self.asked: dict[str, Any] = {}

    def events(self, **asked: Any) -> Events:
        self.asked = asked
        return self

    def __iter__(self) -> Iterator[Any]:
        while (event := self._queue.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def give(self, event: Any) -> None:
        self._queue.put(event)

    def end_of(self, container: FakeContainer, code: int) -> None:
        actor = {"ID": container.id, "Attributes": {"exitCode": str(code), "name": container.name}}
        self.give({"Type": "container", "Action": "die", "Actor": actor})

    def close(self) -> None:
        self.give(None)


@pytest.fixture
def events() -> Iterator[Events]:
    """Whoever listens is let go with the test."""
    made = Events()
    yield made
    made.close()


def test_whoever_ends_is_known_with_its_exit_code(events: Events) -> None:
    watch, one, other = EndWatch(events, PROJECT), FakeContainer("one"), FakeContainer("other")
    events.end_of(one, 137)
    until(lambda: watch.exit_code(one.id) == 137)
    assert (watch.exit_code(other.id), watch.lost) == (None, None)
    assert events.asked["filters"]["label"] == f"com.docker.compose.project={PROJECT}"


def test_who_had_ended_before_is_known_after_a_look(events: Events) -> None:
    watch, container = EndWatch(events, PROJECT), FakeContainer("one")
    watch.look(container)
    assert watch.exit_code(container.id) is None
    container.state |= {"Status": "exited", "ExitCode": 3}
    watch.look(container)
    assert watch.exit_code(container.id) == 3
    assert container.looks == 2, "it was told from memory"


@pytest.mark.parametrize(
    ("last", "says"),
    [
        (None, "it ended the connection"),
        (requests.ConnectionError("the engine is gone\nand a trace"), "the engine is gone"),
        (DockerException(""), "DockerException"),
        (OSError("broken"), "broken"),
    ],
)
def test_a_connection_that_ends_is_noticed(last: Exception | None, says: str) -> None:
    events = Events()
    watch = EndWatch(events, PROJECT)
    events.give(last)
    until(lambda: watch.lost is not None)
    assert watch.lost == says


def test_a_watch_that_was_closed_has_lost_nothing(events: Events) -> None:
    watch = EndWatch(events, PROJECT)
    watch.close()
    until(lambda: not watch._thread.is_alive())
    assert watch.lost is None
    assert threading.current_thread() is not watch._thread


def test_how_it_ended_is_asked_anew() -> None:
    container = FakeContainer("one")
    container.state |= {"ExitCode": 137, "OOMKilled": True}
    ended = how_it_ended(container)
    assert (ended.exit_code, ended.out_of_memory, container.looks) == (137, True, 1)


class Refusing(FakeContainer):
    """A container of which the engine tells nothing."""

    def __init__(self, error: Exception) -> None:
        super().__init__("one")
        self.error = error

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise self.error

    reload = logs = kill = remove = get_archive = _refuse


@pytest.mark.parametrize(
    "error", [APIError("server error"), requests.ConnectionError("server error")]
)
def test_what_the_engine_refuses_is_a_sentence(error: Exception) -> None:
    container = Refusing(error)
    for ask in (
        lambda: how_it_ended(container),
        lambda: log_of(container, 3),
        lambda: stderr_of(container),
        lambda: remove(container),
    ):
        with pytest.raises(ServiceFailed, match=r"^.* could not be .*: server error$"):
            ask()
    signal(container, "SIGTERM")


@pytest.mark.parametrize(
    "error",
    [
        NotFound("no such container"),
        APIError("can not get logs from container which is dead or marked for removal"),
    ],
)
def test_who_is_gone_says_nothing(error: Exception) -> None:
    assert log_of(Refusing(error), 3) == []


def test_a_log_of_other_bytes_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    container = FakeContainer("one")
    monkeypatch.setattr(container, "logs", lambda **_: b"\xff broken  \r\nwhole\n")
    assert log_of(container, 3) == ["\ufffd broken", "whole"]


class Archive(FakeContainer):
    """A container of which a file can be had, as the engine gives it: in an archive."""

    def __init__(self, **files: bytes) -> None:
        super().__init__("one")
        self.files = files

    def get_archive(self, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
        if path not in self.files:
            raise NotFound("no such file")
        target = BytesIO()
        with tarfile.open(fileobj=target, mode="w") as tar:
            facts = tarfile.TarInfo(path)
            facts.size = len(self.files[path])
            tar.addfile(facts, BytesIO(self.files[path]))
        whole = target.getvalue()
        return iter([whole[:700], whole[700:]]), {}


def test_a_file_of_a_container_is_read_without_running_anything() -> None:
    container = Archive(packages=b"bash 5.2\n" * 200)
    assert _file_of(container, "packages") == b"bash 5.2\n" * 200
    assert _file_of(container, "none") is None
