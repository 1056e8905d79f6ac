"""The facts of a machine and the pins of a run: all there, and true where that can be told."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from conductor.class_archives import archives_folder
from conductor.home import Home
from conductor.java import Java
from conductor.machine import PINNED, machine_facts, pins
from contract.results import sha256_of
from contract.sources import sources_sha256

JAVA = Java(Path("/opt/java"), "21.0.9")


@pytest.fixture
def checkout(tmp_path: Path) -> Home:
    """A folder with both locks, under no version control."""
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "artifacts.lock").write_text("jars")
    (tmp_path / "requirements.lock").write_text("packages")
    return Home(tmp_path)


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_every_fact_is_there_and_can_be_written() -> None:
    facts = machine_facts(JAVA)
    assert facts["java"] == "21.0.9"
    assert facts["cores"] == psutil.cpu_count()
    assert facts["memory_bytes"] == psutil.virtual_memory().total
    assert all(facts[name] for name in ("cpu_model", "kernel", "os", "python"))
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_where_containers_bring_java_that_of_the_machine_is_not_claimed(checkout: Home) -> None:
    assert machine_facts(None)["java"] is None
    assert set(machine_facts(None)) == set(machine_facts(JAVA))
    assert pins(checkout, None)["class_archives"] == []


def test_pins_are_the_hashes_of_the_locks_and_the_versions_of_what_is_used(
    checkout: Home,
) -> None:
    found = pins(checkout, JAVA)
    assert found["requirements_lock_sha256"] == sha256_of(checkout.path / "requirements.lock")
    assert found["artifacts_lock_sha256"] == sha256_of(checkout.artifacts_lock)
    assert found["requirements_lock_sha256"] != found["artifacts_lock_sha256"]
    assert set(found["packages"]) == set(PINNED)
    assert all(version[0].isdigit() for version in found["packages"].values())


def test_the_archives_that_programs_start_from_are_pinned_too(checkout: Home) -> None:
    assert pins(checkout, JAVA)["class_archives"] == []
    folder = archives_folder(checkout, JAVA)
    folder.mkdir(parents=True)
    (folder / "spark.jsa").touch()
    assert pins(checkout, JAVA)["class_archives"] == ["spark"]


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
def test_the_commit_is_told_and_whether_something_was_changed_since(
    checkout: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.path.parent))
    assert pins(checkout, JAVA)["git_commit"] is None
    git(checkout.path, "init", "--quiet")
    git(checkout.path, "add", ".")
    git(checkout.path, "commit", "--quiet", "--message", "first")
    found = pins(checkout, JAVA)
    assert found["git_commit"] == git(checkout.path, "rev-parse", "HEAD")
    assert found["git_dirty"] is False
    (checkout.path / "requirements.lock").write_text("other packages")
    assert pins(checkout, JAVA)["git_dirty"] is True


def test_without_git_nothing_is_claimed_of_the_commit(
    checkout: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert pins(checkout, JAVA)["git_commit"] is None


def test_any_file_that_decides_what_a_run_does_changes_the_sources_hash(checkout: Home) -> None:
    module = checkout.path / "evaluator" / "judging.py"
    module.parent.mkdir()
    module.write_text("one")
    before = sources_sha256(checkout.path)
    (module.parent / "__pycache__").mkdir()
    (module.parent / "__pycache__" / "judging.pyc").write_text("compiled")
    (checkout.path / "README.md").write_text("words")
    assert sources_sha256(checkout.path) == before == pins(checkout, None)["sources_sha256"]
    module.write_text("two")
    after = sources_sha256(checkout.path)
    assert after != before
    module.rename(module.with_name("renamed.py"))
    assert sources_sha256(checkout.path) not in (before, after)
