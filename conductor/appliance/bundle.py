"""One file with all that RUNTIME=docker needs, for where there is no network; and back again.

It is what `docker save` writes, so that `docker load` alone can read it, with three things more:
`tollgate-bundle.json` (which images, of which commit), the locks, and `wheels/`, the Python
packages of the command line itself, which `./tollgate load` installs from there.
"""

from __future__ import annotations

import io
import json
import platform
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from conductor.appliance.building import shipped
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.images import Tags, read_images
from conductor.asked import read_words
from conductor.home import Home, path_of
from conductor.hosts import WORDS, ids_of, load_images, play_of
from conductor.machine import pins
from conductor.progress import Progress
from conductor.runtimes import build
from contract.errors import EnvironmentLacking, ExitCode, ServiceFailed, UsageError
from contract.results import sha256_of

MB = 1000**2
FACTS = "tollgate-bundle.json"
WHEELS = "wheels"
#: the packages' lock within the bundle: what is built here has another hash than its source
WHEELS_LOCK = "requirements.lock"
WHEELS_S_MAX = 1800.0
DEFAULT = "tollgate-bundle.tar"


def path_given(home: Home, given: dict[str, str]) -> Path:
    """Where the bundle is, or goes."""
    return path_of(given.get("BUNDLE", str(home.path / DEFAULT)))


def make_bundle(home: Home, given: dict[str, str], progress: Progress) -> int:
    """Have all images, then write them and the Python packages to one file, whole or not at all."""
    path = path_given(home, given)
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"BUNDLE={path} cannot be a file")
    engine = DockerEngine()
    draft = path.with_name(f".{path.name}.draft")
    try:
        images = read_images(home)
        built = build(engine, shipped(images), images, home, progress)
        with tempfile.TemporaryDirectory(prefix="tollgate-wheels-") as wheels:
            progress.phase("bundle: Python packages")
            _make_wheels(home, Path(wheels))
            progress.phase("bundle: images")
            _save(engine, [made.tag for made in built], draft, progress)
            facts: dict[str, Any] = {
                "schema": 1,
                "images": {made.tag: engine.image_facts(made.tag)["id"] for made in built},
                "python": f"{sys.version_info.major}.{sys.version_info.minor}",
                "machine": platform.machine(),
                "pins": pins(home, None),
            }
            _append(draft, facts, home, Path(wheels))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
        engine.close()
        progress.clear()
    print(f"{path}: {path.stat().st_size / MB:,.0f} MB, {len(built)} images; bring it with this")
    print(f"checkout (commit {_commit(facts)}), there `make load`")
    return ExitCode.VALID


def _save(engine: DockerEngine, tags: list[str], draft: Path, progress: Progress) -> None:
    written = 0
    with draft.open("wb") as file:
        for block in engine.save_images(tags):
            written += file.write(block)
            progress.tick(f"{written / MB:,.0f} MB")


def _make_wheels(home: Home, target: Path) -> None:
    """Every package of requirements.lock as a wheel, and a lock with their hashes."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps", "--wheel-dir", str(target)]
    command += ["-r", str(home.path / "requirements.lock")]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=WHEELS_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServiceFailed(f"the Python packages could not be gathered: {error}") from None
    if done.returncode != 0:
        last = next(iter(done.stderr.strip().splitlines()[-1:]), "pip says nothing")
        raise ServiceFailed(f"the Python packages could not be gathered: {last}")
    lines = []
    for wheel in sorted(target.glob("*.whl")):
        name, version = wheel.name.split("-")[:2]
        lines.append(f"{name}=={version} --hash=sha256:{sha256_of(wheel)}\n")
    (target / WHEELS_LOCK).write_text("".join(lines), encoding="utf-8")


def _append(draft: Path, facts: dict[str, Any], home: Home, wheels: Path) -> None:
    with tarfile.open(draft, "a") as tar:
        text = json.dumps(facts, indent=1).encode()
        member = tarfile.TarInfo(FACTS)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
        for lock in (home.artifacts_lock, home.path / "requirements.lock"):
            tar.add(lock, f"locks/{lock.name}")
        for file in sorted(wheels.iterdir()):
            tar.add(file, f"{WHEELS}/{file.name}")


def read_facts(path: Path) -> dict[str, Any]:
    """What a bundle says of itself; anything else is refused."""
    try:
        with tarfile.open(path) as tar:
            file = tar.extractfile(FACTS)
            facts = json.loads(file.read()) if file is not None else None
    except FileNotFoundError:
        raise UsageError(
            f"BUNDLE={path}: there is no such file; `make bundle` writes one"
        ) from None
    except (OSError, tarfile.TarError, KeyError, ValueError):
        facts = None
    if not isinstance(facts, dict) or not isinstance(facts.get("images"), dict):
        raise UsageError(f"BUNDLE={path} is not what `make bundle` writes, or was cut")
    return facts


def load_bundle(home: Home, words: list[str], progress: Progress) -> int:
    """Load a bundle's images here, or on other hosts; one of another checkout is refused."""
    given = read_words(words, ("BUNDLE", *WORDS))
    path = path_given(home, given)
    facts = read_facts(path)
    if "HOSTS" in given:
        load_images(path, play_of("load.yml", given), home, progress.say)
        return ExitCode.VALID
    if given.keys() & set(WORDS):
        raise UsageError("DRY and BECOME_ASK are for HOSTS: here nothing but images is changed")
    images = read_images(home)
    tags = Tags(images, home.artifacts_lock)
    lacking = [image.name for image in shipped(images) if tags.of(image) not in facts["images"]]
    if lacking:
        raise UsageError(
            f"the bundle was made of another checkout (commit {_commit(facts)}): "
            f"this one needs other images of {', '.join(lacking)}"
        )
    engine = DockerEngine()
    try:
        progress.phase("load")
        with path.open("rb") as file:
            engine.load_images(file)
        # one image has two ids, that of its settings and that of its manifest: stores differ
        ids = ids_of(path)
        for tag, wanted in facts["images"].items():
            got = engine.image_facts(tag)["id"]
            if got not in {wanted, *ids.get(tag, ())}:
                raise EnvironmentLacking(f"{tag} is image {got}, and the bundle says {wanted}")
    finally:
        engine.close()
        progress.clear()
    print(f"loaded {len(facts['images'])} images; `make bench STAGE=join` needs no network now")
    return ExitCode.VALID


def _commit(facts: dict[str, Any]) -> str:
    pinned = facts.get("pins")
    return str(pinned.get("git_commit") or "unknown") if isinstance(pinned, dict) else "unknown"
