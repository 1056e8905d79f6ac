"""Take away what campaigns left: abandoned temporary folders, and results if asked."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

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
    # what is abandoned belongs to no campaign that runs
    with _no_campaign(home) if what != "temporary" else nullcontext():
        for folder in doomed:
            if folder.exists():
                size = folder_size(folder)
                shutil.rmtree(folder, ignore_errors=True)
                how = "could not take away all of" if folder.exists() else "took away"
                said.append(f"{how} {folder} ({size / MIB:.0f} MiB)")
    return said or ["nothing to take away"]


@contextmanager
def _no_campaign(home: Home) -> Iterator[None]:
    if not home.artifacts.exists():
        yield
        return
    with home.campaign_lock().open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError("a campaign runs in this checkout; clean when it has ended") from None
        yield
