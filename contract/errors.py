"""The one error tree; each kind knows the exit code with which `tollgate` ends.

TollgateError            1  something failed; the message is one sentence for the user
├── UsageError           2  the user's mistake: the message says what to write instead
├── EnvironmentLacking   1  the machine lacks something (Java, a port, disk)
└── ServiceFailed        1  a broker, engine, publisher or evaluator failed at something
    ├── ServiceDied      1  it ended by itself
    └── TookTooLong      1  it did not get there in its time
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """How `tollgate` ends."""

    VALID = 0
    FAILURE = 1
    USAGE = 2
    INVALID = 3
    INTERRUPTED = 130
    ENGINE_REFUSES = 64


class TollgateError(Exception):
    """A failure that a user reads as one sentence."""

    exit_code = ExitCode.FAILURE


class UsageError(TollgateError):
    """The user asked for something that cannot be."""

    exit_code = ExitCode.USAGE


class EnvironmentLacking(TollgateError):
    """The machine does not have what the run needs."""


class ServiceFailed(TollgateError):
    """A service died or did not get ready in time."""


class ServiceDied(ServiceFailed):
    """A service ended though nobody asked it to."""


class TookTooLong(ServiceFailed):
    """A service did not get there in its time."""


def unknown_name(kind: str, given: str, known: Iterable[str]) -> UsageError:
    """Say that `given` is no known `kind`, with the nearest known name."""
    names = list(known)
    near = difflib.get_close_matches(given.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
    hint = ""
    if near:
        hint = f"; did you mean {next(n for n in names if n.lower() == near[0])}?"
    return UsageError(f"unknown {kind} {given!r}{hint} (known: {', '.join(names)})")
