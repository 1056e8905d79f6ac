"""Where things are kept, which engine is meant, and how little programs are started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from conductor.home import Home, abandoned_scratch, make_scratch, this_checkout
from conductor.java import Java
from contract.errors import UsageError
from tests.unit.conductor.fakes import NO_PID, ROOT

JAVA = Java(Path("/opt/java"), "21")


def engine(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "engine.toml").touch()
    return folder


def test_results_are_in_the_checkout_or_where_the_user_says(tmp_path: Path) -> None:
    assert this_checkout().path == ROOT
    assert this_checkout().results == ROOT / "results"
    assert this_checkout(["RATE=1", "RESULTS="]).results == ROOT / "results"
    assert this_checkout(["RESULTS=x", f"RESULTS={tmp_path}"]).results == tmp_path
    assert this_checkout(["RESULTS=here"]).results == Path.cwd() / "here"
    assert this_checkout(["RESULTS=~/r"]).results == Path.home() / "r"


def test_results_below_the_home_of_nobody_are_refused() -> None:
    with pytest.raises(UsageError, match="~no-such-user/r names the home of a user"):
        this_checkout(["RESULTS=~no-such-user/r"])


def test_one_lock_is_for_all_campaigns_of_a_checkout(tmp_path: Path) -> None:
    home = Home(tmp_path / "checkout")
    lock = home.campaign_lock()
    assert lock.parent.is_dir(), "it could not be opened"
    assert Home(home.path, tmp_path / "elsewhere").campaign_lock() == lock
    assert Home(tmp_path / "other").campaign_lock() != lock
    assert not lock.is_relative_to(home.results), "it would go with the results"


def test_an_engine_is_known_by_the_name_of_its_folder(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = engine(home.engines / "flink")
    (home.engines / "no-toml").mkdir()
    assert home.engine_folder("flink") == folder
    with pytest.raises(UsageError, match=r"unknown engine 'flnik'; did you mean flink\?"):
        home.engine_folder("flnik")
    with pytest.raises(UsageError, match=r"known: flink\)"):
        home.engine_folder("no-toml")


def test_an_engine_that_is_given_by_its_path_must_have_an_engine_toml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = engine(tmp_path / "elsewhere" / "mine")
    monkeypatch.chdir(tmp_path)
    for path in (str(folder), "elsewhere/mine", "./elsewhere/mine/"):
        assert Home(ROOT).engine_folder(path) == folder
    with pytest.raises(UsageError, match=r"ENGINE=\./elsewhere has no engine\.toml"):
        Home(ROOT).engine_folder("./elsewhere")


def test_programs_inherit_nothing_that_could_change_what_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name in ("HOME", "LANG", "USER", "PATH", "JAVA_HOME"):
        monkeypatch.setenv(name, f"/the/users/{name}")
    for name in ("SPARK_HOME", "JAVA_TOOL_OPTIONS", "PYTHONSTARTUP", "LD_PRELOAD", "SECRET"):
        monkeypatch.setenv(name, "unexpected")
    env = Home(ROOT).environment(JAVA, tmp_path)
    assert "unexpected" not in env.values()
    assert set(env) == {
        *("HOME", "LANG", "USER", "PATH", "JAVA_HOME", "PYTHONPATH", "TOLLGATE_ARTIFACTS"),
        *("TMPDIR", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"),
    }
    assert env["HOME"] == "/the/users/HOME"
    assert env["JAVA_HOME"] == "/opt/java"
    assert env["TMPDIR"] == str(tmp_path)
    assert env["PATH"].split(":") == [str(Path(sys.executable).parent), "/the/users/PATH"]


def test_what_the_user_has_not_is_not_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "LANG", "USER"):
        monkeypatch.delenv(name, raising=False)
    assert not {"HOME", "LANG", "USER"} & set(Home(ROOT).environment(JAVA, tmp_path))


def test_scratch_is_abandoned_when_its_owner_has_gone(temporary: Path) -> None:
    scratch = make_scratch()
    assert scratch.parent == temporary
    assert (scratch / "owner").read_text() == str(os.getpid())
    assert make_scratch() != scratch
    assert abandoned_scratch() == []
    (scratch / "owner").write_text(str(NO_PID))
    assert abandoned_scratch() == [scratch]


def test_folders_that_do_not_say_whose_they_are_are_left_alone(temporary: Path) -> None:
    for name, owner in (("tollgate-a", None), ("tollgate-b", "me"), ("other-c", str(NO_PID))):
        (temporary / name).mkdir()
        if owner is not None:
            (temporary / name / "owner").write_text(owner)
    assert abandoned_scratch() == []
