"""Turn SIGINT, SIGTERM and SIGHUP into KeyboardInterrupt, but never where it would be lost or leave
something behind.

Python may handle a signal between any two steps. While a process is forked that would be inside of
another library's hook, where an exception is swallowed and logging's lock stays taken for good; in
the middle of taking services down it would leave the rest of them running. Such places are `held`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Interrupts:
    """How deep in places that must not be interrupted, and whether that was wished there."""

    def __init__(self) -> None:
        self.depth = 0
        self.wished = False

    def note(self, _number: int, _frame: FrameType | None) -> None:
        if self.depth == 0:
            raise KeyboardInterrupt
        self.wished = True


_interrupts = _Interrupts()


def listen() -> None:
    """Hear the three signals from here on; one that the caller had ignored (nohup) stays so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupts.note)


@contextmanager
def held() -> Iterator[None]:
    """An interruption that is wished inside comes at the end of this; keep it short."""
    _interrupts.depth += 1
    try:
        yield
    finally:
        _interrupts.depth -= 1
        if _interrupts.wished and _interrupts.depth == 0:
            _interrupts.wished = False
            raise KeyboardInterrupt
