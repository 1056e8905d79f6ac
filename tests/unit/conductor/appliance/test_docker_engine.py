"""What the Docker engine tells is heard; what it refuses becomes a sentence."""

from __future__ import annotations

import platform
import queue
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from docker.errors import APIError, DockerException, NotFound

from conductor.appliance.docker_containers import (
    EndWatch,
    file_of,
    how_it_ended,
    log_of,
    remove,
    signal,
    stderr_of,
)
from conductor.appliance.docker_engine import NOT_ALLOWED, DockerEngine
from contract.errors import EnvironmentLacking, ServiceFailed
from tests.unit.conductor.appliance.fakes import PROJECT, FakeContainer, FakeEngine
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
    assert file_of(container, "packages") == b"bash 5.2\n" * 200
    assert file_of(container, "none") is None


def why_not_here(**facts: object) -> str | None:
    """What is said of an engine that tells this of itself beside this machine's kernel."""
    engine = FakeEngine()
    engine._facts = {"KernelVersion": platform.release(), **facts}
    return DockerEngine.why_not_here(engine)


@pytest.fixture
def no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is asked where it is by default."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)


@pytest.mark.usefixtures("no_address")
@pytest.mark.parametrize("options", [None, [], ["name=seccomp,profile=builtin", "name=cgroupns"]])
def test_an_engine_of_this_kernel_that_keeps_nothing_apart_is_here(
    options: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why_not_here(SecurityOptions=options) is None
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/docker.sock")
    assert why_not_here(SecurityOptions=options) is None


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:2376", "ssh://somebody@host", "npipe:////./x"])
def test_an_engine_behind_a_network_is_not_here_though_its_kernel_is_called_the_same(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    assert why_not_here() == f"the Docker engine of DOCKER_HOST={address} is not on this machine"


@pytest.mark.usefixtures("no_address")
@pytest.mark.parametrize("kernel", ["6.6.16-linuxkit", "", None])
def test_an_engine_of_another_kernel_is_not_here(kernel: str | None) -> None:
    says = why_not_here(KernelVersion=kernel)
    assert says == "the Docker engine that answers runs in a machine of its own"


@pytest.mark.usefixtures("no_address")
@pytest.mark.parametrize("name", ["rootless", "userns"])
def test_an_engine_whose_users_are_others_than_this_machines_is_not_here(name: str) -> None:
    says = why_not_here(SecurityOptions=["name=seccomp,profile=builtin", f"name={name}"])
    assert says == f"the Docker engine that answers keeps its containers apart ({name})"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("Error: ('Connection aborted.', PermissionError(13, 'Permission denied'))", NOT_ALLOWED),
        ("Error: FileNotFoundError(2, 'None')", "no Docker engine answers (Error: File"),
        (
            "wrapped ('x', NewConnectionError(Connection refused)",
            "no Docker engine answers (Connection refused);",
        ),
    ],
)
def test_an_engine_that_may_not_be_spoken_to_is_not_taken_for_none(
    error: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(**_: object) -> None:
        raise DockerException(error)

    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr("conductor.appliance.docker_engine.docker.DockerClient", refuses)
    monkeypatch.setattr("conductor.appliance.docker_engine.docker.from_env", refuses)
    with pytest.raises(EnvironmentLacking) as failure:
        DockerEngine()
    assert str(failure.value).startswith(says)


def test_what_is_made_while_all_is_taken_down_is_taken_down_too() -> None:
    early, late = FakeContainer("one"), FakeContainer("late")
    looks = [[early], [late], []]

    class Engine(DockerEngine):
        def __init__(self) -> None:
            nothing = SimpleNamespace(list=lambda **_: [])
            client: Any = SimpleNamespace(networks=nothing, volumes=nothing)
            self._client = client

        def containers(self, project: str) -> list[Any]:
            assert project == PROJECT
            return looks.pop(0)

    gone = Engine().take_down(PROJECT)
    assert gone == [f"container {container.name}" for container in (early, late)]
    assert early.gone and late.gone and not looks


def test_a_folder_is_emptied_by_a_containers_root_that_sees_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "of others"
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ("plain", ".hidden", "..odd", "-rf", "a b", "deep/er/file"):
        (folder / name).touch()
    (tmp_path / "beside").touch()
    asked: list[dict[str, Any]] = []

    def run(tag: str, **how: Any) -> None:
        assert tag == "tollgate/tollgate:1"
        asked.append(how)
        subprocess.run([*how["entrypoint"], *how["command"]], check=True)

    class Engine(DockerEngine):
        def __init__(self) -> None:
            client: Any = SimpleNamespace(containers=SimpleNamespace(run=run))
            self._client = client

    Engine().empty_folder("tollgate/tollgate:1", folder)
    assert list(folder.iterdir()) == []
    assert (tmp_path / "beside").exists()
    (how,) = asked
    assert (how["user"], how["network_mode"], how["remove"]) == ("0", "none", True)
    assert how["volumes"] == {str(folder): {"bind": str(folder), "mode": "rw"}}
    # where nothing is, nothing is no failure
    Engine().empty_folder("tollgate/tollgate:1", folder)
