"""Have engines' own preparation done, once for each state of their folders; measure nothing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from conductor.appliance.images import files_of
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.interrupts import held
from conductor.java import Java
from conductor.processes import Child, beside
from contract.engine import BUILD_DIR, EngineSpec
from contract.errors import EnvironmentLacking

PREPARE_S_MAX = 900.0
_DRAFT = ".draft-"
_DIGITS = 12


def have_prepared(
    choices: Iterable[EngineChoice], home: Home, java: Java, say: Callable[[str], None]
) -> dict[Path, Path]:
    """An engine's folder → what its `prepare` made, of those that have one."""
    made: dict[Path, Path] = {}
    for choice in choices:
        if choice.spec.prepare:
            made[choice.folder] = _have(choice.folder, choice.spec, home, java, say)
    return made


def is_prepared(choice: EngineChoice, home: Home, java: Java) -> bool:
    """Whether nothing is left to do."""
    return not choice.spec.prepare or _target(choice.folder, choice.spec, home, java).is_dir()


def _have(
    folder: Path, spec: EngineSpec, home: Home, java: Java, say: Callable[[str], None]
) -> Path:
    target = _target(folder, spec, home, java)
    if target.is_dir():
        return target
    say(f"preparing {spec.name}, once")
    target.parent.mkdir(parents=True, exist_ok=True)
    log = home.artifacts / "logs" / f"prepare-{spec.name}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=target.parent) as scratch:
        draft = Path(scratch, "made")
        draft.mkdir()
        _run(folder, spec, home.environment(java, Path(scratch)) | {BUILD_DIR: str(draft)}, log)
        for other in target.parent.iterdir():
            # of another state, or of another engine of that name; and what was killed amid its work
            stale = re.fullmatch(rf"{re.escape(spec.name)}-[0-9a-f]{{{_DIGITS}}}", other.name)
            killed = other.name.startswith(_DRAFT) and other != Path(scratch)
            if stale or killed:
                shutil.rmtree(other, ignore_errors=True)
        draft.replace(target)
    return target


def _run(folder: Path, spec: EngineSpec, env: dict[str, str], log: Path) -> None:
    program, *arguments = spec.prepare
    with held():
        child = Child(
            f"prepare of {spec.name}", [beside(folder, program), *arguments], env, log, cwd=folder
        )
    try:
        code = child.wait(PREPARE_S_MAX)
        tail = "\n  ".join(child.log_tail())
    finally:
        with held():
            child.kill()
    if code is None:
        raise EnvironmentLacking(f"{child.name} took longer than {PREPARE_S_MAX:.0f} s; see {log}")
    if code != 0:
        raise EnvironmentLacking(f"{child.name} failed (exit code {code}); {log} ends:\n  {tail}")


def _target(folder: Path, spec: EngineSpec, home: Home, java: Java) -> Path:
    digest = hashlib.sha256()
    for part in _parts(folder, home, java):
        digest.update(len(part).to_bytes(8, "big") + part)
    return home.artifacts / "prepared" / f"{spec.name}-{digest.hexdigest()[:_DIGITS]}"


def _parts(folder: Path, home: Home, java: Java) -> Iterator[bytes]:
    yield f"{java.version} {java.home}".encode()
    yield home.artifacts_lock.read_bytes()
    yield state_of(folder).encode()


def state_of(folder: Path) -> str:
    """A hash of all files of an engine's folder."""
    digest = hashlib.sha256()
    try:
        for path in files_of(folder, "."):
            for part in (_named(path, folder), path.read_bytes()):
                digest.update(len(part).to_bytes(8, "big") + part)
    except OSError as error:
        raise EnvironmentLacking(f"{folder} cannot be read: {error}") from None
    return digest.hexdigest()


def _named(path: Path, folder: Path) -> bytes:
    return f"{path.relative_to(folder)} {os.access(path, os.X_OK)}".encode()
