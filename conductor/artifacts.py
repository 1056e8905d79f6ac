"""Fetch the jars that images/artifacts.lock names, once, and prove each by its hash."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyspark

from conductor.java import Java
from contract.engine import EngineSpec
from contract.errors import EnvironmentLacking
from contract.results import sha256_of

FETCH_S_MAX = 900
#: the folder that brokers need as plain processes; engines name their own
OWN_FOLDERS = ("kafka",)
#: in a folder that is whole: the hash of the lock that it was proven by
STAMP = ".complete"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A jar and what it must hash to."""

    folder: str
    organisation: str
    module: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.module}-{self.version}.jar"


def folders_of(specs: Iterable[EngineSpec]) -> tuple[str, ...]:
    """What plain processes need, with those of these engines."""
    theirs = (folder for spec in specs for folder in spec.artifacts)
    return tuple(dict.fromkeys((*OWN_FOLDERS, *theirs)))


def read_lock(path: Path) -> list[Artifact]:
    """The artifacts of a lock file."""
    artifacts: list[Artifact] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            try:
                folder, name, sha256 = line.split()
                organisation, module, version = name.split(":")
            except ValueError:
                raise EnvironmentLacking(f"{path.name} has an odd line: {line}") from None
            artifacts.append(Artifact(folder, organisation, module, version, sha256))
    return artifacts


def ensure_artifacts(
    lock: Path, home: Path, java: Java, say: Callable[[str], None], folders: Collection[str]
) -> None:
    """Have every artifact of those folders below `home`; a wrong hash is an error with its name."""
    artifacts = [a for a in read_lock(lock) if a.folder in folders]
    if unknown := set(folders) - {a.folder for a in artifacts}:
        raise EnvironmentLacking(f"{lock.name} names nothing for {', '.join(sorted(unknown))}")
    if is_complete(lock, home, folders):
        return
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        lacking = [a for a in artifacts if not _is_right(home, a)]
        if lacking:
            which = ", ".join(sorted({artifact.folder for artifact in lacking}))
            say(f"fetching {len(lacking)} jars ({which}), once")
            with tempfile.TemporaryDirectory(dir=home) as scratch:
                _fetch(lacking, Path(scratch), java)
                for artifact in lacking:
                    _adopt(artifact, Path(scratch), home)
        _discard_others(home, artifacts)
        for folder in folders:
            (home / folder / STAMP).write_text(sha256_of(lock))


def is_complete(lock: Path, home: Path, folders: Collection[str]) -> bool:
    """Whether all of these folders were fetched and proven by this lock."""
    wanted = sha256_of(lock)
    stamps = [home / folder / STAMP for folder in folders]
    artifacts = [a for a in read_lock(lock) if a.folder in folders]
    return all((home / a.folder / a.file_name).exists() for a in artifacts) and all(
        stamp.exists() and stamp.read_text() == wanted for stamp in stamps
    )


def _discard_others(home: Path, artifacts: list[Artifact]) -> None:
    """A jar that the lock no longer names would still stand on the class path."""
    wanted = {home / a.folder / a.file_name for a in artifacts}
    for folder in {a.folder for a in artifacts}:
        for jar in (home / folder).glob("*.jar"):
            if jar not in wanted:
                jar.unlink()


def _is_right(home: Path, artifact: Artifact) -> bool:
    path = home / artifact.folder / artifact.file_name
    return path.exists() and sha256_of(path) == artifact.sha256


def _adopt(artifact: Artifact, scratch: Path, home: Path) -> None:
    fetched = scratch / "jars" / artifact.file_name
    if not fetched.exists():
        raise EnvironmentLacking(f"{artifact.file_name} could not be fetched; is there a network?")
    got = sha256_of(fetched)
    if got != artifact.sha256:
        raise EnvironmentLacking(
            f"{artifact.file_name} is not the file that artifacts.lock pins "
            f"(sha256 {got[:12]}…, wanted {artifact.sha256[:12]}…)"
        )
    target = home / artifact.folder / artifact.file_name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(fetched, target)


def _fetch(artifacts: list[Artifact], scratch: Path, java: Java) -> None:
    """Let Ivy (it is among PySpark's jars) fetch them; it knows its repositories itself."""
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        raise EnvironmentLacking("PySpark came without Ivy, which fetches the jars")
    recipe = scratch / "ivy.xml"
    recipe.write_text(_recipe(artifacts), encoding="utf-8")
    pattern = f"{scratch}/jars/[artifact]-[revision].[ext]"
    command = [java.program, f"-Divy.cache.dir={scratch}/cache", "-jar", str(ivy)]
    command += [
        "-ivy",
        str(recipe),
        "-confs",
        "runtime",
        "-types",
        "jar",
        "bundle",
        "-retrieve",
        pattern,
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentLacking(f"the jars were not fetched within {FETCH_S_MAX} s") from None
    if done.returncode != 0:
        problems = [line.strip() for line in done.stdout.splitlines() if "::" in line]
        last = next((p for p in problems if p.strip(": ")), done.stderr.strip()[-200:])
        raise EnvironmentLacking(f"the jars could not be fetched: {last}")


def _recipe(artifacts: list[Artifact]) -> str:
    # Two versions of one module cannot stand in one Ivy graph, so nothing is resolved: each
    # dependency is its own, without what it depends on, and conflicts are not managed.
    wanted = {(a.organisation, a.module, a.version) for a in artifacts}
    lines = "\n".join(
        f"<dependency org={quoteattr(o)} name={quoteattr(m)} rev={quoteattr(v)} "
        f'conf="runtime->master" transitive="false"/>'
        for o, m, v in sorted(wanted)
    )
    return (
        '<ivy-module version="2.0"><info organisation="tollgate" module="artifacts"/>'
        '<configurations><conf name="runtime"/></configurations>'
        f"<dependencies>{lines}</dependencies></ivy-module>".replace(
            "</dependencies>", '<conflict manager="all"/></dependencies>'
        )
    )
