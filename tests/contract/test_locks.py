"""What is pinned twice is pinned to the same; what is fetched is named once and by its hash."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest
from packaging.markers import Marker

HOME = Path(__file__).resolve().parents[2]
IMAGES = HOME / "images"
LOCKS = sorted([*IMAGES.glob("*/requirements.lock"), *IMAGES.glob("engines/*/requirements.lock")])
#: Debian bookworm's, which images/pyspark and images/engines/example install
PYTHON = {"python_version": "3.11", "python_full_version": "3.11.2"}
OF_IMAGE = pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
#: `name==version`, perhaps of some platforms only, and then its hashes
_PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,._-]+\])?==(\S+)(.*)$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


def pins(lock: Path) -> dict[str, dict[str, frozenset[str]]]:
    """Package → version → the hashes of its files; several versions are of several platforms."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pin = _PIN.match(line)
        assert pin is not None, f"{lock} has an odd line: {line}"
        versions = found.setdefault(pin[1], {})
        assert pin[2] not in versions, f"{lock} pins {pin[1]} twice"
        assert not versions or ";" in pin[3], f"{lock} pins two versions of {pin[1]}"
        versions[pin[2]] = frozenset(_HASH.findall(pin[3]))
    return found


def asked(requirements: Path) -> set[str]:
    """The packages that a requirements.in names."""
    lines = [line.partition("#")[0].strip() for line in requirements.read_text().splitlines()]
    return {re.split(r"[<>=!~\[; ]", line)[0].lower() for line in lines if line}


def test_there_are_locks_of_images() -> None:
    assert {lock.parent.name for lock in LOCKS} >= {"pyspark", "tollgate", "example"}


def in_an_image(lock: Path) -> dict[str, dict[str, frozenset[str]]]:
    """What of a lock is installed by the Python that images have."""
    text = lock.read_text(encoding="utf-8")
    left_out = {
        (name, version)
        for name, version, marker in re.findall(r"^(\S+)==(\S+) ; (.*?) \\$", text, re.MULTILINE)
        if not Marker(marker).evaluate({**PYTHON})
    }
    return {
        name: {v: hashes for v, hashes in versions.items() if (name, v) not in left_out}
        for name, versions in pins(lock).items()
    }


@OF_IMAGE
def test_an_image_has_the_packages_of_the_checkout_and_no_others(lock: Path) -> None:
    ours = in_an_image(HOME / "requirements.lock")
    for name, versions in in_an_image(lock).items():
        assert name in ours, f"{name} is in no environment that tests run in"
        assert set(versions) == set(ours[name]), name
        for version, hashes in versions.items():
            assert hashes <= ours[name][version], f"{name} could be another file of that version"


@pytest.mark.parametrize("lock", [HOME / "requirements.lock", *LOCKS], ids=str)
def test_every_package_is_pinned_by_its_hashes(lock: Path) -> None:
    found = pins(lock)
    assert found
    assert all(hashes for versions in found.values() for hashes in versions.values())


@pytest.mark.parametrize("lock", [HOME / "requirements.lock", *LOCKS], ids=str)
def test_all_that_is_asked_for_is_pinned(lock: Path) -> None:
    assert asked(lock.with_suffix(".in")) <= set(pins(lock))


@OF_IMAGE
def test_a_lock_is_what_its_image_copies(lock: Path) -> None:
    path = lock.relative_to(HOME)
    assert f"COPY {path} " in (lock.parent / "Dockerfile").read_text()


def lines_of_artifacts() -> list[tuple[str, str, str]]:
    """Folder, organisation:module:version, sha256 of every line."""
    text = (IMAGES / "artifacts.lock").read_text(encoding="utf-8")
    found = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert all(len(words) == 3 for words in found)
    return [(words[0], words[1], words[2]) for words in found]


def test_every_artifact_is_named_and_pinned() -> None:
    for folder, coordinates, sha256 in lines_of_artifacts():
        assert re.fullmatch(r"[a-z-]+", folder)
        assert re.fullmatch(r"[\w.-]+:[\w.-]+:[\w.-]+", coordinates)
        assert re.fullmatch(r"[0-9a-f]{64}", sha256)


def test_artifacts_stand_in_order_folder_by_folder() -> None:
    folders = [folder for folder, _, _ in lines_of_artifacts()]
    starts = [folder for folder, _ in groupby(folders)]
    assert len(starts) == len(set(starts)), "a folder's lines are not together"
    for folder in set(folders):
        names = [coordinates for each, coordinates, _ in lines_of_artifacts() if each == folder]
        assert names == sorted(names)


def test_no_artifact_is_named_twice() -> None:
    lines = lines_of_artifacts()
    modules = [(folder, coordinates.rpartition(":")[0]) for folder, coordinates, _ in lines]
    assert len(set(modules)) == len(modules), "two versions of a module in one class path"
    files = [(folder, coordinates.split(":")[1:]) for folder, coordinates, _ in lines]
    names = [(folder, "-".join(words)) for folder, words in files]
    assert len(set(names)) == len(names), "two jars of one name"


def test_a_file_that_several_need_is_the_same_for_all() -> None:
    known: dict[str, str] = {}
    for _, coordinates, sha256 in lines_of_artifacts():
        assert known.setdefault(coordinates, sha256) == sha256, coordinates
