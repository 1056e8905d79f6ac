"""Take away what campaigns left: abandoned temporary folders, and results if asked."""

from __future__ import annotations

import shutil

from conductor.doctor import MIB, folder_size
from conductor.home import Home, abandoned_scratch
from contract.errors import UsageError


def clean(home: Home, what: str) -> list[str]:
    """`temporary`: folders whose owner is gone; `results`; `all`: jars and environment too."""
    doomed = abandoned_scratch()
    if what in ("results", "all"):
        doomed.append(home.results)
    elif what != "temporary":
        raise UsageError(f"WHAT={what} cannot be; give temporary, results or all")
    if what == "all":
        doomed += [home.artifacts, home.path / ".venv"]
    said: list[str] = []
    for folder in doomed:
        if folder.exists():
            size = folder_size(folder)
            shutil.rmtree(folder, ignore_errors=True)
            said.append(f"took away {folder} ({size / MIB:.0f} MiB)")
    return said or ["nothing to take away"]
