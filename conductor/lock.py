"""One campaign at a time in a checkout: the lock, and who holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from conductor.home import Home
from conductor.progress import Progress
from contract.errors import UsageError


@contextmanager
def only_one(home: Home, progress: Progress) -> Iterator[None]:
    """Two campaigns would measure each other: the second waits, saying for whom."""
    try:
        home.results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"RESULTS={home.results} cannot be made: {error.strerror or error}"
        ) from None
    with home.campaign_lock().open("a+", encoding="utf-8") as lock:
        if not _taken(lock):
            progress.say(
                f"another campaign runs in this checkout{_holder(lock)}; waiting for its end"
            )
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, results in {home.results}")
        lock.flush()
        yield


@contextmanager
def none_runs(home: Home) -> Iterator[None]:
    """Refuse while a campaign runs, and let none start."""
    if not home.artifacts.exists():
        yield
        return
    with home.campaign_lock().open("a+", encoding="utf-8") as lock:
        if not _taken(lock):
            raise UsageError(
                f"a campaign runs in this checkout{_holder(lock)}; clean when it has ended"
            )
        yield


def _taken(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(lock: TextIO) -> str:
    """Who wrote its name there, in brackets; nothing where it has not done so yet."""
    lock.seek(0)
    name = lock.read().strip()
    return f" ({name})" if name else ""
