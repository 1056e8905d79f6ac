"""Whichever compose there is starts the services; what it complains of is said."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from conductor.appliance.compose import FILES, Compose, compose_command
from contract.errors import EnvironmentLacking, ServiceFailed
from tests.unit.conductor.fakes import ROOT, program


class Machine:
    """A machine whose path holds the stubs that a test puts there."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.told = folder / "bin", folder / "told"
        self.bin.mkdir()
        # no `docker` of this machine is to be found
        (self.bin / "env").symlink_to("/usr/bin/env")
        monkeypatch.setenv("PATH", str(self.bin))

    def docker(self, plugin: bool, then: str = "") -> str:
        version = '[ "$1" = --version ] && { echo "Docker version 20.10.24, build 1"; exit; }'
        plugged = f'[ "$1 $2" = "compose version" ] && exit {0 if plugin else 1}'
        return str(program(self.bin / "docker", f"{version}\n{plugged}\n{self._tells(then)}"))

    def docker_compose(self, then: str = "") -> str:
        version = '[ "$*" = version ] && exit 0'
        return str(program(self.bin / "docker-compose", f"{version}\n{self._tells(then)}"))

    def _tells(self, then: str) -> str:
        return f'printf "%s\\n" "$0" "$@" > "{self.told}"\nenv >> "{self.told}.env"\n{then}'

    def words(self) -> list[str]:
        return self.told.read_text().splitlines()

    def environment(self) -> dict[str, str]:
        lines = self.told.with_name("told.env").read_text().splitlines()
        return {line.partition("=")[0]: line.partition("=")[2] for line in lines}


@pytest.fixture(autouse=True)
def here(temporary: Path) -> Path:
    """What compose says goes to a folder of the test's own."""
    return temporary


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """It has no docker yet."""
    return Machine(tmp_path, monkeypatch)


def test_the_plugin_goes_before_the_older_program(machine: Machine) -> None:
    docker = machine.docker(plugin=True)
    machine.docker_compose()
    assert compose_command() == [docker, "compose"]


def test_the_older_program_is_taken_where_there_is_no_plugin(machine: Machine) -> None:
    machine.docker(plugin=False)
    older = machine.docker_compose()
    assert compose_command() == [older]


def test_without_any_compose_it_is_said_how_to_get_one(machine: Machine) -> None:
    machine.docker(plugin=False)
    with pytest.raises(EnvironmentLacking, match=r"^there is neither .*: `make engine` installs"):
        compose_command()
    program(machine.bin / "docker-compose", "exit 1")
    with pytest.raises(EnvironmentLacking, match="there is neither"):
        compose_command()


def test_without_a_docker_command_it_is_said_how_to_get_one(machine: Machine) -> None:
    machine.docker_compose()
    with pytest.raises(EnvironmentLacking, match=r"there is no `docker` command"):
        compose_command()


def compose(env: dict[str, str] | None = None) -> Compose:
    log = Path(tempfile.gettempdir()) / "compose.log"
    return Compose("tollgate-0", ROOT / "compose", env or {"SUBNET": "198.18.7"}, log)


def files() -> list[str]:
    return [word for name in FILES for word in ("--file", str(ROOT / "compose" / f"{name}.yml"))]


@pytest.mark.parametrize("plugin", [True, False])
def test_services_are_started_of_all_files_and_of_none_that_they_need(
    plugin: bool, machine: Machine
) -> None:
    docker, older = machine.docker(plugin), machine.docker_compose()
    compose().up(["broker-1", "namenode"])
    of_all = ["--project-name", "tollgate-0", "--project-directory", str(ROOT / "compose")]
    command = [docker, "compose"] if plugin else [older]
    services = ["up", "--detach", "--no-deps", "broker-1", "namenode"]
    assert machine.words() == [*command, *of_all, *files(), *services]


def test_one_more_file_comes_last_so_that_it_may_add_to_the_others(
    machine: Machine, tmp_path: Path
) -> None:
    machine.docker(plugin=True)
    compose().up(["publisher"], tmp_path / "run.json")
    words = machine.words()
    assert words[words.index("up") - 2 : words.index("up")] == ["--file", f"{tmp_path}/run.json"]


def test_containers_may_be_had_without_being_started(machine: Machine) -> None:
    machine.docker(plugin=True)
    compose().create(["evaluator"])
    assert machine.words()[-4:] == ["up", "--no-start", "--no-deps", "evaluator"]


def test_compose_is_told_what_the_files_name_and_where_the_engine_is_and_nothing_else(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.docker(plugin=True)
    for name in ("COMPOSE_FILE", "COMPOSE_PROFILES", "RATE", "SUBNET"):
        monkeypatch.setenv(name, "unexpected")
    engine = {"DOCKER_HOST": "tcp://10.0.0.1:2376", "DOCKER_CERT_PATH": "/certificates"}
    engine["DOCKER_TLS_VERIFY"] = "1"
    for name, value in engine.items():
        monkeypatch.setenv(name, value)
    compose({"SUBNET": "198.18.7", "RESULTS": "/a $HOME"}).up(["broker-1"])
    told = machine.environment()
    assert "unexpected" not in told.values()
    assert (told["SUBNET"], told["RESULTS"]) == ("198.18.7", "/a $HOME")
    assert {name: told.get(name) for name in engine} == engine, "it would ask another engine"


def test_a_failure_is_said_with_the_last_lines_of_it(machine: Machine) -> None:
    lines = "".join(f"echo line {i} >&2\necho >&2\n" for i in range(20))
    machine.docker(plugin=True, then=f"{lines}exit 1")
    with pytest.raises(ServiceFailed) as failure:
        compose().up(["broker-1", "namenode"])
    tail = "\n  ".join(f"line {i}" for i in range(14, 20))
    assert str(failure.value) == (
        f"compose could not start broker-1, namenode: ended with exit code 1\n  {tail}"
    )


def test_a_compose_that_does_not_end_is_ended(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.docker(plugin=True, then="while :; do :; done")
    monkeypatch.setattr("conductor.appliance.compose.UP_S_MAX", 0.2)
    with pytest.raises(
        ServiceFailed, match=r"^compose could not start broker-1: did not end in time"
    ):
        compose().up(["broker-1"])


def test_what_compose_says_is_in_its_log_and_of_the_last_call_alone(
    machine: Machine, temporary: Path
) -> None:
    log = temporary / "compose.log"
    for word in ("first", "second"):
        machine.docker(plugin=True, then=f"echo the {word}\necho a warning >&2")
        compose().up(["broker-1"])
        assert log.read_text().splitlines() == [f"the {word}", "a warning"]
