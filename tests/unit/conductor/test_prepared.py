"""An engine's own preparation: once for each state of its folder, whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conductor import prepared
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.java import Java
from conductor.prepared import have_prepared, is_prepared, state_of
from contract.engine import EngineSpec, Execution, Service
from contract.errors import EnvironmentLacking

SPEC = EngineSpec(
    "mine",
    "1",
    "at-least-once",
    {},
    (Execution("only", "eager", "none", None),),
    (Service("mine", ("./run",), 1),),
    {},
    prepare=("./prepare", "well"),
)


class Workshop:
    """A checkout, and an engine elsewhere that is prepared by a shell script."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "checkout")
        (self.home.path / "images").mkdir(parents=True)
        self.home.artifacts_lock.write_text("jars")
        self.java = Java(folder / "java", "17")
        self.engine = folder / "engine"
        self.engine.mkdir()
        self.said: list[str] = []

    def script(self, text: str) -> None:
        path = self.engine / "prepare"
        path.write_text(f"#!/bin/sh\nset -eu\n{text}\n")
        path.chmod(0o755)

    @property
    def choice(self) -> EngineChoice:
        return EngineChoice(SPEC, self.engine)

    def have(self) -> Path:
        return have_prepared([self.choice], self.home, self.java, self.said.append)[self.engine]

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in (self.home.artifacts / "prepared").iterdir())


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Its script tells what it was started with."""
    made = Workshop(tmp_path)
    made.script('echo "$1 $JAVA_HOME" > "$BUILD_DIR/made"')
    return made


def test_it_is_done_once_with_the_engines_environment(workshop: Workshop) -> None:
    assert not is_prepared(workshop.choice, workshop.home, workshop.java)
    made = workshop.have()
    assert (made / "made").read_text() == f"well {workshop.java.home}\n"
    assert is_prepared(workshop.choice, workshop.home, workshop.java)
    assert workshop.have() == made
    assert workshop.said == ["preparing mine, once"]
    assert workshop.left == [made.name]


def test_another_state_of_its_folder_is_prepared_anew_and_the_old_goes(workshop: Workshop) -> None:
    before = workshop.have()
    (workshop.engine / "source").write_text("more")
    after = workshop.have()
    assert after != before and workshop.left == [after.name]
    workshop.home.artifacts_lock.write_text("other jars")
    assert not is_prepared(workshop.choice, workshop.home, workshop.java)
    assert workshop.have() != after
    assert not is_prepared(workshop.choice, workshop.home, replace(workshop.java, version="21"))


def test_what_is_anothers_stays_and_what_was_killed_goes(workshop: Workshop) -> None:
    place = workshop.home.artifacts / "prepared"
    for name in ("mine-fast-0123456789ab", "mine-0123456789ab", ".draft-killed"):
        (place / name).mkdir(parents=True)
    assert workshop.left != [workshop.have().name]
    assert "mine-fast-0123456789ab" in workshop.left and len(workshop.left) == 2


def test_a_folders_state_is_that_of_all_its_files(workshop: Workshop) -> None:
    before = state_of(workshop.engine)
    assert state_of(workshop.engine) == before
    (workshop.engine / "prepare").chmod(0o644)
    assert state_of(workshop.engine) != before


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('echo half > "$BUILD_DIR/x"; echo "no such library" >&2; exit 3', "exit code 3"),
        ("sleep 1000", "took longer than"),
    ],
)
def test_one_that_fails_leaves_nothing(
    script: str, says: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "longer" in says:
        monkeypatch.setattr(prepared, "PREPARE_S_MAX", 0.2)
    workshop.script(script)
    with pytest.raises(EnvironmentLacking, match=f"^prepare of mine .*{says}") as refused:
        workshop.have()
    assert workshop.left == []
    assert ("no such library" in str(refused.value)) == ("exit code" in says)


def test_one_that_cannot_be_started_is_said(workshop: Workshop) -> None:
    (workshop.engine / "prepare").unlink()
    with pytest.raises(EnvironmentLacking, match="prepare of mine cannot be started"):
        workshop.have()
    assert workshop.left == []


def test_an_engine_without_one_needs_nothing(workshop: Workshop) -> None:
    choice = EngineChoice(replace(SPEC, prepare=()), workshop.engine)
    assert is_prepared(choice, workshop.home, workshop.java)
    assert have_prepared([choice], workshop.home, workshop.java, workshop.said.append) == {}
    assert not (workshop.home.artifacts / "prepared").exists()
