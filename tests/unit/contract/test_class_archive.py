"""A JVM's options: its archive where there is one, a list for it where there is none yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.class_archive import VARIABLE, class_archive_options, note_class_path, quoted


@pytest.mark.parametrize("env", [{}, {VARIABLE: ""}])
def test_where_no_folder_is_set_a_jvm_starts_as_ever(env: dict[str, str]) -> None:
    assert class_archive_options("kafka", 1, env) == []
    note_class_path("kafka", env, lambda: pytest.fail("nobody asked"))


def test_without_an_archive_each_instance_notes_its_classes_in_a_list_of_its_own(
    tmp_path: Path,
) -> None:
    env = {VARIABLE: str(tmp_path)}
    assert class_archive_options("kafka", 1, env) == [
        f"-XX:DumpLoadedClassList={tmp_path}/kafka-1.classes"
    ]
    assert class_archive_options("kafka", 2, env) != class_archive_options("kafka", 1, env)


def test_a_class_path_is_noted_once(tmp_path: Path) -> None:
    env = {VARIABLE: str(tmp_path)}
    note_class_path("kafka", env, lambda: "/jars/*")
    note_class_path("kafka", env, lambda: "/others/*")
    assert (tmp_path / "kafka.classpath").read_text() == "/jars/*"


def test_an_archive_is_used_by_its_own_program_and_nothing_is_noted_any_more(
    tmp_path: Path,
) -> None:
    env = {VARIABLE: str(tmp_path)}
    (tmp_path / "kafka.jsa").touch()
    options = class_archive_options("kafka", 1, env)
    assert f"-XX:SharedArchiveFile={tmp_path}/kafka.jsa" in options
    # with `on` a JVM that finds the archive unfit would not start
    assert "-Xshare:auto" in options
    assert not any("DumpLoadedClassList" in option for option in options)
    assert any("DumpLoadedClassList" in o for o in class_archive_options("spark", 1, env))


def test_options_with_blanks_stay_whole() -> None:
    assert quoted(["-Da=/my files", "-Xint"]) == '"-Da=/my files" "-Xint"'
    assert quoted([]) == ""
