"""Take away what campaigns left: abandoned temporary folders, traces, and results if asked."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path

from conductor.doctor import MIB, folder_size
from conductor.home import TRACE_PREFIX, Home, abandoned_scratch
from conductor.lock import none_runs
from contract.errors import UsageError


def clean(home: Home, what: str) -> list[str]:
    """`temporary`: folders whose owner is gone, and traces of defects; `results`; `all`: jars and
    environment too.
    """
    traces = Path(tempfile.gettempdir()).glob(f"{TRACE_PREFIX}*")
    doomed = [*abandoned_scratch(), *sorted(p for p in traces if p.is_file())]
    if what in ("results", "all"):
        doomed.append(home.results)
    elif what != "temporary":
        raise UsageError(f"WHAT={what} cannot be; give temporary, results or all")
    if what == "all":
        doomed += [home.artifacts, home.path / ".venv"]
    said: list[str] = []
    # what is abandoned belongs to no campaign that runs
    with none_runs(home) if what != "temporary" else nullcontext():
        said += [_take_away(path) for path in doomed if path.exists()]
    return said or ["nothing to take away"]


def _take_away(path: Path) -> str:
    size = folder_size(path) if path.is_dir() else path.stat().st_size
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
    how = "could not take away all of" if path.exists() else "took away"
    return f"{how} {path} ({size / MIB:.0f} MiB)"
