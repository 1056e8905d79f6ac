"""Archives of classes: made whole or not at all, and whatever happens nothing else is left."""

from __future__ import annotations

import fcntl
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.class_archives import (
    CLASSES_MIN,
    MAKE_S_MAX,
    archived,
    archives_folder,
    lacking,
    make_archives,
    noted_classes,
)
from conductor.home import Home
from conductor.java import Java
from tests.unit.conductor.fakes import program, runs, until

CLASSES = [f"a/Class{i}" for i in range(CLASSES_MIN)]
#: a java that makes the archive it is asked for out of the list and the class path it is given
MAKES = """
for argument do
  case "$argument" in
    -XX:SharedClassListFile=*) list="${argument#*=}" ;;
    -XX:SharedArchiveFile=*) archive="${argument#*=}" ;;
  esac
done
for last do :; done
{ echo "$last"; cat "$list"; } > "$archive"
"""


def write(path: Path, lines: list[str], end: str = "\n") -> None:
    path.write_text("\n".join(lines) + end)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Kafka's and Spark's classes were noted."""
    made = tmp_path / "classes" / "key"
    made.mkdir(parents=True)
    for name in ("kafka", "spark"):
        (made / f"{name}.classpath").write_text(f"/jars/{name}/*")
        write(made / f"{name}-1.classes", CLASSES)
    return made


def java_that(tmp_path: Path, script: str) -> Java:
    program(tmp_path / "java" / "bin" / "java", script)
    return Java(tmp_path / "java", "21")


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()} - {".lock"}


def test_an_unfinished_last_line_and_doubles_are_dropped(tmp_path: Path) -> None:
    write(tmp_path / "x-1.classes", ["# written by a JVM", "a/A", "b/B", "a/A", "c/Cu"], end="")
    write(tmp_path / "x-2.classes", ["b/B", "d/D"])
    assert noted_classes(tmp_path.glob("*.classes")) == ["a/A", "b/B", "d/D"]


def test_a_list_without_a_whole_line_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "x-1.classes").write_text("a/A")
    (tmp_path / "x-2.classes").write_text("")
    assert noted_classes(tmp_path.glob("*.classes")) == []


@given(lists=st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=3))
def test_every_noted_class_is_there_once_whatever_the_lists(
    lists: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("lists")
    for number, classes in enumerate(lists):
        (place / f"x-{number}.classes").write_text("".join(f"{c}\n" for c in classes) + "cut")
    found = noted_classes(place.glob("*.classes"))
    assert sorted(found) == sorted({c for classes in lists for c in classes})


def test_lacking_are_those_that_were_noted_and_have_no_archive(folder: Path) -> None:
    assert lacking(folder) == ["kafka", "spark"]
    (folder / "kafka.jsa").touch()
    (folder / "flink.jsa").touch()
    assert lacking(folder) == ["spark"]
    assert archived(folder) == ["flink", "kafka"]


def test_what_an_interrupted_making_left_is_no_program(folder: Path) -> None:
    for name in ("kafka", "spark"):
        (folder / f".{name}.merged").write_text("a/A\n")
        (folder / f".{name}.draft").touch()
        # as an earlier version called it
        (folder / f"{name}.all.classes").write_text("a/A\n")
    assert lacking(folder) == ["kafka", "spark"]
    (folder / "kafka-1.classes").unlink()
    assert lacking(folder) == ["spark"]


def test_the_folder_changes_with_java_and_with_the_locks(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "images").mkdir()
    home.artifacts_lock.write_text("jars")
    packages = tmp_path / "requirements.lock"
    packages.write_text("packages")
    java = Java(Path("/java"), "21.0.1")
    folders = [archives_folder(home, java)]
    assert folders[0] == archives_folder(home, java)
    assert folders[0].parent == home.artifacts / "classes"
    folders.append(archives_folder(home, replace(java, version="21.0.2")))
    folders.append(archives_folder(home, replace(java, home=Path("/java2"))))
    packages.write_text("other packages")
    folders.append(archives_folder(home, java))
    home.artifacts_lock.write_text("other jars")
    folders.append(archives_folder(home, java))
    assert len(set(folders)) == 5


def test_archives_are_made_of_what_was_noted_and_only_they_stay(
    folder: Path, tmp_path: Path
) -> None:
    write(folder / "kafka-2.classes", ["only/InTheSecond", *CLASSES])
    said: list[str] = []
    make_archives(folder, java_that(tmp_path, MAKES), said.append)
    assert names(folder) == {"kafka.classpath", "kafka.jsa", "spark.classpath", "spark.jsa"}
    made = (folder / "kafka.jsa").read_text().splitlines()
    assert made == ["/jars/kafka/*", *CLASSES, "only/InTheSecond"]
    assert len(said) == 1 and "kafka, spark" in said[0]
    other = folder.parent / "other key"
    other.mkdir()
    make_archives(folder, java_that(tmp_path, "exit 1"), said.append)
    assert len(said) == 1, "there was nothing left to make"
    assert other.exists()


def test_archives_of_other_jars_are_discarded_when_new_ones_are_made(
    folder: Path, tmp_path: Path
) -> None:
    other = folder.parent / "other key"
    other.mkdir()
    (other / "kafka.jsa").touch()
    make_archives(folder, java_that(tmp_path, MAKES), lambda _: None)
    assert archived(folder) == ["kafka", "spark"]
    assert not other.exists()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(MAKES + "\nexit 1", id="fails though it wrote"),
        pytest.param("exit 0", id="leaves nothing"),
        pytest.param("exit 3", id="fails"),
        pytest.param("kill -9 $$", id="is killed"),
    ],
)
def test_without_success_there_is_no_archive_and_nothing_is_left(
    script: str, folder: Path, tmp_path: Path
) -> None:
    make_archives(folder, java_that(tmp_path, script), lambda _: None)
    assert names(folder) == {"kafka.classpath", "spark.classpath"}


def test_a_java_that_does_not_end_is_ended(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.class_archives.MAKE_S_MAX", 0.05)
    make_archives(folder, java_that(tmp_path, "exec sleep 1000"), lambda _: None)
    assert names(folder) == {"kafka.classpath", "spark.classpath"}


def test_a_java_that_cannot_be_started_costs_nothing(folder: Path, tmp_path: Path) -> None:
    make_archives(folder, Java(tmp_path / "none", "21"), lambda _: None)
    assert names(folder) == {"kafka.classpath", "spark.classpath"}


class TimeIsUp:
    """Stands for the module `time`: after the first look the time is up, once a process ended."""

    def __init__(self, pid_file: Path) -> None:
        self._pid_file, self._looks = pid_file, 0

    def _ended(self) -> bool:
        text = self._pid_file.read_text() if self._pid_file.exists() else ""
        return text.endswith("\n") and not runs(int(text))

    def monotonic(self) -> float:
        self._looks += 1
        if self._looks == 1:
            return 0.0
        until(self._ended)
        return MAKE_S_MAX + 1


def test_what_was_finished_in_time_is_kept_though_another_was_not(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "spark.pid"
    script = f'{MAKES}\ncase "$last" in */kafka/*) exec sleep 1000 ;; esac\necho $$ > "{pid_file}"'
    monkeypatch.setattr("conductor.class_archives.time", TimeIsUp(pid_file))
    make_archives(folder, java_that(tmp_path, script), lambda _: None)
    assert names(folder) == {"kafka.classpath", "spark.classpath", "spark.jsa"}


def test_one_programs_failure_is_not_anothers(folder: Path, tmp_path: Path) -> None:
    script = f'{MAKES}\ncase "$last" in */kafka/*) exit 1 ;; esac'
    make_archives(folder, java_that(tmp_path, script), lambda _: None)
    assert archived(folder) == ["spark"]


def test_a_list_of_a_jvm_that_did_nothing_makes_no_archive(folder: Path, tmp_path: Path) -> None:
    write(folder / "kafka-1.classes", CLASSES[1:])
    make_archives(folder, java_that(tmp_path, MAKES), lambda _: None)
    assert archived(folder) == ["spark"]


def test_without_a_class_path_a_list_waits(folder: Path, tmp_path: Path) -> None:
    (folder / "spark.classpath").unlink()
    make_archives(folder, java_that(tmp_path, MAKES), lambda _: None)
    assert archived(folder) == ["kafka"]
    assert (folder / "spark-1.classes").exists()


def test_only_one_campaign_makes_them_at_a_time(folder: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with (folder / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        make_archives(folder, java_that(tmp_path, MAKES), said.append)
    assert (archived(folder), said) == ([], [])
    assert lacking(folder) == ["kafka", "spark"], "the other one's lists were taken away"


def test_no_folder_is_nothing_to_make(tmp_path: Path) -> None:
    make_archives(tmp_path / "none", java_that(tmp_path, "exit 1"), lambda _: None)
    assert not (tmp_path / "none").exists()
