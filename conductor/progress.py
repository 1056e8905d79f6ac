"""Tell the user what happens: a live line on a terminal, one line a phase elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO


class Progress:
    """Where a campaign stands, for a person."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._live = out.isatty()
        self._shown_at = 0.0
        self._prefix = ""
        self._phase = ""
        self._brief = False

    def run(self, prefix: str, *, brief: bool = False) -> None:
        """The run that the next phases belong to; `brief`: of many, a line a run says enough."""
        self._prefix = prefix
        self._phase = ""
        self._brief = brief
        if brief and not self._live:
            print(prefix.rstrip(": "), file=self._out, flush=True)

    def phase(self, name: str, expected_s: float | None = None) -> None:
        """A new phase has begun."""
        if name == self._phase:
            return
        self._phase = name
        expected = f" ({expected_s:.0f} s)" if expected_s else ""
        if self._live:
            self.tick("", force=True)
        elif not self._brief:
            print(f"{self._prefix}{name}{expected}", file=self._out, flush=True)

    def tick(self, detail: str, *, force: bool = False) -> None:
        """Something moved within the phase; on a terminal the line shows it."""
        if not self._live or (not force and time.monotonic() - self._shown_at < 0.2):
            return
        self._shown_at = time.monotonic()
        width = max(20, shutil.get_terminal_size().columns - 1)
        text = f"{self._prefix}{self._phase}{'  ' + detail if detail else ''}"
        self._out.write("\r\033[K" + text[:width])
        self._out.flush()

    def say(self, sentence: str) -> None:
        """A line that stays."""
        self.clear()
        print(sentence, file=self._out, flush=True)

    def clear(self) -> None:
        """Take the live line away."""
        if self._live:
            self._out.write("\r\033[K")
            self._out.flush()
