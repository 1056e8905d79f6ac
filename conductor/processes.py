"""Start, watch and end the services of a campaign: each a session of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from conductor.interrupts import held
from contract.errors import EnvironmentLacking

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
LOG_TAIL_LINES = 12
KILL_S_MAX = 10.0
#: a JVM's
_FRAME = re.compile(r"\s+(at [^\s(]+\(|\.\.\. \d+ (more|common))")


def _die_with_parent() -> None:
    """Run in the child: a conductor that is killed takes its services with it."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _stdout(pipes: bool, wanted: bool, sink: BinaryIO) -> BinaryIO | int:
    if pipes:
        return subprocess.PIPE
    return sink if wanted else subprocess.DEVNULL


class Child:
    """A process of ours with a session of its own, its log, and a bounded end."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        cwd: Path | None = None,
        pipes: bool = False,
        stdin: Path | None = None,
        stdout: bool = True,
    ) -> None:
        """`stdin` is a file to read; without `stdout` the log holds only what goes to stderr."""
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            source = Path(os.devnull) if stdin is None else stdin
            with held(), log.open("ab") as sink, source.open("rb") as given:
                self.process = subprocess.Popen(
                    list(command),
                    env=dict(env),
                    cwd=cwd,
                    stdin=subprocess.PIPE if pipes else given,
                    stdout=_stdout(pipes, stdout, sink),
                    stderr=sink,
                    text=True,
                    start_new_session=True,
                    preexec_fn=_die_with_parent,
                )
        except OSError as error:
            raise EnvironmentLacking(f"{name} cannot be started: {error}") from None

    @property
    def pid(self) -> int:
        return self.process.pid

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self.process.poll()

    def how_it_ended(self) -> str:
        """For a person."""
        return f"ended with exit code {self.exit_code()}"

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> list[str]:
        """The last lines of its log that say something."""
        try:
            with self.log.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - 64 * 1024))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return []
        return told_last(text.splitlines(), lines)

    def keep_log(self, folder: Path) -> None:
        """Have what it said so far in that folder too."""
        if self.log.exists() and self.log.parent != folder:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.log, folder / self.log.name)

    def ask_to_stop(self) -> None:
        """SIGTERM to the process itself, as a container runtime does."""
        if self.exit_code() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None if it did not come in time."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, grace_s: float) -> int | None:
        """Ask, wait, then kill it with its session; None: it did not end by itself."""
        self.ask_to_stop()
        code = self.wait(grace_s) if grace_s > 0 else self.exit_code()
        self.kill()
        return code

    def kill(self) -> None:
        """End its whole session now; harmless when it is gone already.

        A session and not only its process group: Spark's Python workers make groups of their own.
        """
        end_session(self.process)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                # what could not be written to the dead is of no use any more
                with contextlib.suppress(OSError):
                    pipe.close()


def told_last(log: Sequence[str], lines: int) -> list[str]:
    """The last lines of a log that say something: neither empty nor a frame of a stack."""
    return [line.rstrip() for line in log if line.strip() and not _FRAME.match(line)][-lines:]


def end_session(leader: subprocess.Popen[Any]) -> None:
    """Kill every process of the session that this process leads."""
    deadline = time.monotonic() + KILL_S_MAX
    while (left := _of_session(leader.pid)) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        leader.poll()
        time.sleep(0.01)
    # one that hangs in the kernel is left to it
    with contextlib.suppress(subprocess.TimeoutExpired):
        leader.wait(KILL_S_MAX)


def _of_session(session: int) -> list[int]:
    """The processes of a session that still run; ended ones that nobody has waited for do not."""
    found: list[int] = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue
    return found


def beside(folder: Path, program: str) -> str:
    """A program of an engine: in its folder where it says `./`, otherwise on the path."""
    return str(folder / program) if program.startswith("./") else program
