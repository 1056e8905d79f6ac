"""Jars are fetched once, as the lock names them; one that hashes to something else is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from conductor.artifacts import STAMP, Artifact, ensure_artifacts, is_complete, read_lock
from conductor.java import Java
from contract.errors import EnvironmentLacking
from contract.results import sha256_of
from tests.unit.conductor.fakes import ROOT, program

JARS = {"one-1.0.jar": b"the first", "two-2.1.jar": b"the second"}


BOTH = ("kafka", "spark")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock of two jars."""
    path = tmp_path / "artifacts.lock"
    path.write_text(
        "# folder organisation:module:version sha256\n\n"
        f"kafka org.a:one:1.0 {sha256(JARS['one-1.0.jar'])}\n"
        f"spark   org.b:two:2.1   {sha256(JARS['two-2.1.jar'])}\n"
    )
    return path


class Ivy:
    """A java that stands for Ivy: it copies jars of a shelf to where it is told to put them."""

    def __init__(self, folder: Path) -> None:
        self.shelf, self.told = folder / "shelf", folder / "told"
        self.shelf.mkdir()
        for name, content in JARS.items():
            (self.shelf / name).write_bytes(content)
        self.program = program(
            folder / "java-home" / "bin" / "java",
            f'echo "$@" >> "{self.told}"\n'
            'for last do :; done\nto="${last%/*}"\nmkdir -p "$to"\n'
            f'cp "{self.shelf}"/* "$to" || true',
        )
        self.java = Java(folder / "java-home", "21")

    def calls(self) -> int:
        return len(self.told.read_text().splitlines()) if self.told.exists() else 0


@pytest.fixture
def ivy(tmp_path: Path) -> Ivy:
    """An Ivy that finds every jar."""
    return Ivy(tmp_path)


def stamps(home: Path) -> dict[str, str]:
    """The folders that are said to be whole, and by which lock."""
    return {stamp.parent.name: stamp.read_text() for stamp in home.glob(f"*/{STAMP}")}


def test_a_lock_is_read_line_by_line_without_its_comments(lock: Path) -> None:
    artifacts = read_lock(lock)
    assert artifacts[1] == Artifact("spark", "org.b", "two", "2.1", sha256(b"the second"))
    assert [a.file_name for a in artifacts] == sorted(JARS)


def test_the_lock_of_this_checkout_pins_every_jar_by_a_whole_hash() -> None:
    artifacts = read_lock(ROOT / "images" / "artifacts.lock")
    assert {a.folder for a in artifacts} == {"kafka", "spark-kafka", "hadoop", "flink"}
    assert all(len(a.sha256) == 64 and int(a.sha256, 16) >= 0 for a in artifacts)
    places = [(a.folder, a.module) for a in artifacts]
    assert len(set(places)) == len(places), "two versions of a module in one class path"


@pytest.mark.parametrize(
    "line", ["kafka a:b", "kafka a:b 0123", "kafka a:b:c:d 0123", "a:b:c 01 2 3"]
)
def test_an_odd_line_of_a_lock_is_shown(line: str, lock: Path) -> None:
    with lock.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(EnvironmentLacking, match=rf"^artifacts\.lock has an odd line: {line}$"):
        read_lock(lock)


def test_jars_go_to_their_folders_and_come_once(lock: Path, ivy: Ivy, tmp_path: Path) -> None:
    home, said = tmp_path / "home", list[str]()
    ensure_artifacts(lock, home, ivy.java, said.append, BOTH)
    assert (home / "kafka" / "one-1.0.jar").read_bytes() == b"the first"
    assert (home / "spark" / "two-2.1.jar").read_bytes() == b"the second"
    assert stamps(home) == dict.fromkeys(BOTH, sha256_of(lock))
    assert said == ["fetching 2 jars (kafka, spark), once"]
    left = {p.name for p in home.iterdir()}
    assert left == {"kafka", "spark", ".lock"}
    ensure_artifacts(lock, home, ivy.java, said.append, BOTH)
    assert (ivy.calls(), len(said)) == (1, 1)


def test_only_the_folders_that_are_asked_for_are_fetched(
    lock: Path, ivy: Ivy, tmp_path: Path
) -> None:
    home, said = tmp_path / "home", list[str]()
    ensure_artifacts(lock, home, ivy.java, said.append, ["kafka"])
    assert [jar.name for jar in home.glob("*/*.jar")] == ["one-1.0.jar"]
    assert stamps(home) == {"kafka": sha256_of(lock)}
    ensure_artifacts(lock, home, ivy.java, said.append, BOTH)
    assert said == ["fetching 1 jars (kafka), once", "fetching 1 jars (spark), once"]
    assert stamps(home) == dict.fromkeys(BOTH, sha256_of(lock))


def test_a_folder_that_nobody_asked_for_stays_as_it_is(
    lock: Path, ivy: Ivy, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    ensure_artifacts(lock, home, ivy.java, lambda _: None, ["spark"])
    (home / "spark" / "own.jar").touch()
    ensure_artifacts(lock, home, ivy.java, lambda _: None, ["kafka"])
    assert {jar.name for jar in (home / "spark").glob("*.jar")} == {"own.jar", "two-2.1.jar"}


def test_whole_is_what_was_proven_by_this_very_lock(lock: Path, ivy: Ivy, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert not is_complete(lock, home, ["kafka"])
    ensure_artifacts(lock, home, ivy.java, lambda _: None, ["kafka"])
    assert is_complete(lock, home, ["kafka"])
    assert not is_complete(lock, home, BOTH)
    with lock.open("a") as file:
        file.write("# a remark\n")
    assert not is_complete(lock, home, ["kafka"])
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    assert is_complete(lock, home, BOTH)
    (home / "spark" / "two-2.1.jar").unlink()
    assert not is_complete(lock, home, BOTH)
    assert is_complete(lock, home, ["kafka"])


def test_only_what_is_lacking_or_spoilt_is_fetched(lock: Path, ivy: Ivy, tmp_path: Path) -> None:
    home, said = tmp_path / "home", list[str]()
    ensure_artifacts(lock, home, ivy.java, said.append, BOTH)
    (home / "kafka" / STAMP).unlink()
    (home / "kafka" / "one-1.0.jar").write_bytes(b"cut")
    ensure_artifacts(lock, home, ivy.java, said.append, BOTH)
    assert "fetching 1 jars" in said[-1]
    assert (home / "kafka" / "one-1.0.jar").read_bytes() == b"the first"


def test_a_jar_that_was_taken_away_is_fetched_again_whatever_the_stamp_says(
    lock: Path, ivy: Ivy, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    (home / "kafka" / "one-1.0.jar").unlink()
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    assert (home / "kafka" / "one-1.0.jar").read_bytes() == b"the first"


def test_a_jar_that_the_lock_no_longer_names_leaves_the_class_path(
    lock: Path, ivy: Ivy, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    (ivy.shelf / "one-1.1.jar").write_bytes(b"newer")
    text = lock.read_text().replace("one:1.0", "one:1.1")
    lock.write_text(text.replace(sha256(b"the first"), sha256(b"newer")))
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    assert [jar.name for jar in (home / "kafka").glob("*.jar")] == ["one-1.1.jar"]
    assert [jar.name for jar in (home / "spark").glob("*.jar")] == ["two-2.1.jar"]


def test_a_new_lock_makes_the_stamp_stale(lock: Path, ivy: Ivy, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    (ivy.shelf / "three-3.jar").write_bytes(b"new")
    with lock.open("a") as file:
        file.write(f"kafka org.c:three:3 {sha256(b'new')}\n")
    ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    assert (home / "kafka" / "three-3.jar").exists()
    assert stamps(home) == dict.fromkeys(BOTH, sha256_of(lock))


def test_a_jar_that_hashes_to_something_else_is_refused(
    lock: Path, ivy: Ivy, tmp_path: Path
) -> None:
    (ivy.shelf / "two-2.1.jar").write_bytes(b"not the second")
    home = tmp_path / "home"
    with pytest.raises(EnvironmentLacking, match=r"two-2\.1\.jar is not the file .* pins"):
        ensure_artifacts(lock, home, ivy.java, lambda _: None, BOTH)
    assert not (home / "spark" / "two-2.1.jar").exists()
    assert stamps(home) == {}


def test_a_jar_that_did_not_come_is_named(lock: Path, ivy: Ivy, tmp_path: Path) -> None:
    (ivy.shelf / "two-2.1.jar").unlink()
    with pytest.raises(EnvironmentLacking, match=r"two-2\.1\.jar could not be fetched"):
        ensure_artifacts(lock, tmp_path / "home", ivy.java, lambda _: None, BOTH)
    assert stamps(tmp_path / "home") == {}


def test_what_ivy_complained_of_is_said(lock: Path, ivy: Ivy, tmp_path: Path) -> None:
    program(ivy.program, 'echo "::::::::"\necho ":: org.a#one;1.0: not found"\nexit 1')
    with pytest.raises(EnvironmentLacking, match=r"could not be fetched: :: org\.a#one;1\.0: not"):
        ensure_artifacts(lock, tmp_path / "home", ivy.java, lambda _: None, BOTH)
    program(ivy.program, 'echo "no such host" >&2\nexit 1')
    with pytest.raises(EnvironmentLacking, match="could not be fetched: no such host"):
        ensure_artifacts(lock, tmp_path / "home", ivy.java, lambda _: None, BOTH)


def test_a_fetch_that_takes_too_long_is_ended(
    lock: Path, ivy: Ivy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(ivy.program, "exec sleep 1000")
    monkeypatch.setattr("conductor.artifacts.FETCH_S_MAX", 0.05)
    with pytest.raises(EnvironmentLacking, match="not fetched within"):
        ensure_artifacts(lock, tmp_path / "home", ivy.java, lambda _: None, BOTH)
