"""Make archives of the classes that the JVMs of a campaign loaded: the next ones start sooner."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from conductor.home import Home
from conductor.java import Java
from contract.results import sha256_of

MAKE_S_MAX = 300.0
#: a list shorter than this is of a JVM that ended before it did anything
CLASSES_MIN = 1000


def archives_folder(home: Home, java: Java) -> Path:
    """The folder of the archives that fit this Java, these jars and these packages."""
    locks = (home.artifacts_lock, home.path / "requirements.lock")
    facts = [java.version, str(java.home), str(home.path), *(sha256_of(lock) for lock in locks)]
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    return home.artifacts / "classes" / key


def archived(folder: Path) -> list[str]:
    """The programs that have an archive."""
    return sorted(path.stem for path in folder.glob("*.jsa"))


def make_archives(folder: Path, java: Java, say: Callable[[str], None]) -> None:
    """Make an archive for every program whose classes were noted; a failure costs nothing."""
    if not folder.exists():
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        programs = [p for p in lacking(folder) if (folder / f"{p}.classpath").exists()]
        if programs:
            say(f"preparing faster starts of {', '.join(programs)}, once (about a minute)")
            _discard_others(folder)
        _make(folder, java, programs)


def _discard_others(folder: Path) -> None:
    """Archives of another Java or of other jars than now take a lot of disk for nothing."""
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def lacking(folder: Path) -> list[str]:
    """The programs whose classes were noted and that have no archive yet."""
    noted = {path.name.partition("-")[0] for path in folder.glob("[!.]*-*.classes")}
    return sorted(noted - set(archived(folder)))


def _make(folder: Path, java: Java, programs: list[str]) -> None:
    makers: dict[str, subprocess.Popen[bytes]] = {}
    deadline = time.monotonic() + MAKE_S_MAX
    try:
        for program in programs:
            classes = noted_classes(folder.glob(f"{program}-*.classes"))
            if len(classes) >= CLASSES_MIN:
                makers[program] = _start(folder, java, program, classes)
        for program, maker in makers.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = maker.wait(max(0.0, deadline - time.monotonic()))
                draft = _draft(folder, program)
                if code == 0 and draft.exists():
                    draft.replace(folder / f"{program}.jsa")
    except OSError:
        pass  # a Java that cannot be started: JVMs start as ever
    finally:
        for maker in makers.values():
            maker.kill()
            maker.wait()
        for program in programs:
            _draft(folder, program).unlink(missing_ok=True)
            _merged(folder, program).unlink(missing_ok=True)
            for noted in folder.glob(f"{program}-*.classes"):
                noted.unlink(missing_ok=True)


def noted_classes(lists: Iterable[Path]) -> list[str]:
    """The lines of several lists, each once; a JVM that was killed left its last one unfinished."""
    found: dict[str, None] = {}
    for path in sorted(lists):
        text = path.read_text(encoding="utf-8", errors="replace")
        whole = text[: text.rfind("\n") + 1]
        found.update(dict.fromkeys(line for line in whole.splitlines() if line[:1] != "#"))
    return list(found)


def _draft(folder: Path, program: str) -> Path:
    return folder / f".{program}.draft"


def _merged(folder: Path, program: str) -> Path:
    return folder / f".{program}.merged"


def _start(folder: Path, java: Java, program: str, classes: list[str]) -> subprocess.Popen[bytes]:
    merged = _merged(folder, program)
    merged.write_text("\n".join(classes) + "\n", encoding="utf-8")
    command = [
        java.program,
        "-Xshare:dump",
        f"-XX:SharedClassListFile={merged}",
        f"-XX:SharedArchiveFile={_draft(folder, program)}",
        "-Xlog:disable",
        "-cp",
        (folder / f"{program}.classpath").read_text(encoding="utf-8"),
    ]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
