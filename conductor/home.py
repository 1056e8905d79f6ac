"""Where this checkout keeps things, and the environment its programs are started with."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conductor.java import Java
from contract.errors import UsageError, unknown_name

SCRATCH_PREFIX = "tollgate-"
#: files with the traces of defects
TRACE_PREFIX = "tollgate-error-"


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of a checkout; results may be elsewhere."""

    path: Path
    results_elsewhere: Path | None = None

    @property
    def artifacts(self) -> Path:
        return self.path / ".artifacts"

    @property
    def artifacts_lock(self) -> Path:
        return self.path / "images" / "artifacts.lock"

    @property
    def results(self) -> Path:
        return self.results_elsewhere or self.path / "results"

    @property
    def store(self) -> str:
        """Where topics are kept beside the campaigns, as an address."""
        return f"file:{self.results}/store"

    @property
    def engines(self) -> Path:
        return self.path / "images" / "engines"

    def campaign_lock(self) -> Path:
        """The file that a campaign of this checkout holds locked, wherever its results go."""
        self.artifacts.mkdir(parents=True, exist_ok=True)
        return self.artifacts / ".campaign.lock"

    def engine_folder(self, name: str) -> Path:
        """The folder of an engine by its name, or a folder that is given by its path."""
        if "/" in name:
            given = path_of(name)
            if not (given / "engine.toml").exists():
                raise UsageError(f"ENGINE={name} has no engine.toml")
            return given
        known = sorted(p.parent.name for p in self.engines.glob("*/engine.toml"))
        if name not in known:
            raise unknown_name("engine", name, known)
        return self.engines / name

    def environment(self, java: Java, scratch: Path) -> dict[str, str]:
        """What every program of ours is started with: little, and the same as in its image."""
        inherited = {k: os.environ[k] for k in ("HOME", "LANG", "USER") if k in os.environ}
        return inherited | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "JAVA_HOME": str(java.home),
            "PYTHONPATH": str(self.path),
            "TOLLGATE_ARTIFACTS": str(self.artifacts),
            "TMPDIR": str(scratch),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }


def path_of(text: str) -> Path:
    """A path that a user wrote."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{text} names the home of a user that is not known here") from None
    try:
        return path.resolve()
    except RuntimeError:
        raise UsageError(f"{text} leads in a circle of links") from None


def folder_of(name: str, text: str) -> Path:
    """A folder that a user wants written to; it need not be there yet."""
    path = path_of(text)
    try:
        there = nearest(path)
    except OSError as error:
        raise UsageError(f"{name}={text} cannot be a folder: {error.strerror}") from None
    if not there.is_dir():
        raise UsageError(f"{name}={text}: {there} is not a folder")
    return path


def nearest(path: Path) -> Path:
    """The path, or the nearest one above it that exists."""
    while not path.exists():
        path = path.parent
    return path


def this_checkout(words: Iterable[str] = ()) -> Home:
    """The checkout that this program was started from; RESULTS=folder puts results elsewhere."""
    given = [w.partition("=")[2] for w in words if w.startswith("RESULTS=")]
    elsewhere = folder_of("RESULTS", given[-1]) if given and given[-1] else None
    return Home(Path(__file__).resolve().parent.parent, elsewhere)


def make_scratch() -> Path:
    """A temporary folder for a campaign, with the number of the process that owns it."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX))
    (scratch / "owner").write_text(str(os.getpid()))
    return scratch


def abandoned_scratch() -> list[Path]:
    """Temporary folders whose owner has gone without taking them away."""
    found: list[Path] = []
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
        try:
            owner = int((folder / "owner").read_text())
        except (OSError, ValueError):
            continue
        if not Path(f"/proc/{owner}").exists():
            found.append(folder)
    return found
