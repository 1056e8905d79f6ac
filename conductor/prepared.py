"""Have engines' own preparation done, once for each state of their folders; measure nothing."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from conductor.appliance.images import content_of, digest_of
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.interrupts import held
from conductor.java import Java
from conductor.processes import Child, beside
from contract.engine import BUILD_DIR
from contract.errors import EnvironmentLacking

PREPARE_S_MAX = 900.0
_DRAFT = ".draft-"
_DIGITS = 12


def have_prepared(
    choices: Iterable[EngineChoice], home: Home, java: Java, say: Callable[[str], None]
) -> dict[Path, Path]:
    """An engine's folder → what its `prepare` made, of those that have one."""
    return {
        choice.folder: _have(choice, home, java, say) for choice in choices if choice.spec.prepare
    }


def is_prepared(choice: EngineChoice, home: Home, java: Java) -> bool:
    """Whether nothing is left to do."""
    return not choice.spec.prepare or _target(choice, home, java).is_dir()


def state_of(folder: Path) -> str:
    """A hash of all files of an engine's folder."""
    try:
        return digest_of(content_of(folder, "."))
    except OSError as error:
        raise EnvironmentLacking(f"{folder} cannot be read: {error}") from None


def _target(choice: EngineChoice, home: Home, java: Java) -> Path:
    state = digest_of(
        [
            f"{java.version} {java.home}".encode(),
            home.artifacts_lock.read_bytes(),
            state_of(choice.folder).encode(),
        ]
    )
    return home.artifacts / "prepared" / f"{choice.spec.name}-{state[:_DIGITS]}"


def _have(choice: EngineChoice, home: Home, java: Java, say: Callable[[str], None]) -> Path:
    target, name = _target(choice, home, java), choice.spec.name
    if target.is_dir():
        return target
    say(f"preparing {name}, once")
    target.parent.mkdir(parents=True, exist_ok=True)
    log = home.artifacts / "logs" / f"prepare-{name}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=target.parent) as scratch:
        draft = Path(scratch, "made")
        draft.mkdir()
        _run(choice, home.environment(java, Path(scratch)) | {BUILD_DIR: str(draft)}, log)
        for other in target.parent.iterdir():
            # of another state, or of another engine of that name; and what was killed amid its work
            stale = re.fullmatch(rf"{re.escape(name)}-[0-9a-f]{{{_DIGITS}}}", other.name)
            killed = other.name.startswith(_DRAFT) and other != Path(scratch)
            if stale or killed:
                shutil.rmtree(other, ignore_errors=True)
        draft.replace(target)
    return target


def _run(choice: EngineChoice, env: dict[str, str], log: Path) -> None:
    program, *arguments = choice.spec.prepare
    command = [beside(choice.folder, program), *arguments]
    with held():
        child = Child(f"prepare of {choice.spec.name}", command, env, log, cwd=choice.folder)
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
