"""Drive `./tollgate` as a user does, and see what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from contract.results import read_json

HOME = Path(__file__).resolve().parents[2]
SHORT = ["RUNTIME=embedded", "DURATION=6", "WARMUP=2", "COOLDOWN=2", "RATE=400"]
WAIT_S_MAX = 1800.0
#: these take no RESULTS
WITHOUT_RESULTS = ("images", "up", "down", "engine", "bundle", "load")


def _hear_ctrl_c() -> None:
    """Run in the child: what is started in the background passes on that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Tollgate:
    """One results folder and one temporary folder, both of the test's own."""

    def __init__(self, place: Path, results: bool = True) -> None:
        """Without `results` for verbs that have none."""
        self.results = place / "results"
        self._with_results = results
        self.scratch = place / "tmp"
        self.scratch.mkdir()
        self._place = place
        self._started: list[subprocess.Popen[str]] = []

    def start(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """Start a command; its output goes to files, so that nothing blocks."""
        env = {**os.environ, "TMPDIR": str(self.scratch)}
        number = len(list(self._place.glob("out-*")))
        out, err = self._place / f"out-{number}", self._place / f"err-{number}"
        with out.open("w") as out_file, err.open("w") as err_file:
            process = subprocess.Popen(
                [str(HOME / "tollgate"), verb, *self._words(verb), *words],
                stdout=out_file,
                stderr=err_file,
                text=True,
                env=env,
                start_new_session=True,
                preexec_fn=_hear_ctrl_c,
            )
        process.files = (out, err)  # type: ignore[attr-defined]
        self._started.append(process)
        return process

    def _words(self, verb: str) -> list[str]:
        takes = self._with_results and verb not in WITHOUT_RESULTS
        return [f"RESULTS={self.results}"] if takes else []

    def end(self, process: subprocess.Popen[str]) -> Ended:
        """Wait for its end."""
        try:
            code = process.wait(WAIT_S_MAX)
        finally:
            if process.poll() is None:
                process.kill()
        out, err = process.files  # type: ignore[attr-defined]
        return Ended(code, out.read_text(), err.read_text())

    def end_all(self) -> None:
        """End what a failed test left running, as a user would."""
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                self.end(process)

    def run(self, verb: str, *words: str) -> Ended:
        """Start and wait."""
        return self.end(self.start(verb, *words))

    def said(self, process: subprocess.Popen[str]) -> str:
        """What it has said on stderr so far."""
        text: str = process.files[1].read_text()  # type: ignore[attr-defined]
        return text

    def wait_until(self, process: subprocess.Popen[str], done: Callable[[], bool]) -> None:
        """Wait for a condition while the command runs."""
        deadline = time.monotonic() + WAIT_S_MAX
        while not done():
            assert process.poll() is None, self.end(process)
            assert time.monotonic() < deadline, self.said(process)
            process_wait(0.1)

    def campaigns(self) -> list[Path]:
        """The campaigns' folders, oldest first."""
        found = [p.parent for p in self.results.glob("*/conditions.json")]
        return sorted(p for p in found if not p.is_symlink())

    def campaign(self) -> dict[str, Any]:
        """The newest campaign's campaign.json."""
        value: dict[str, Any] = read_json(self.results / "latest" / "campaign.json")
        return value

    def runs(self) -> list[dict[str, Any]]:
        """The newest campaign's runs."""
        folder = self.campaigns()[-1]
        return [read_json(folder / e["path"] / "run.json") for e in self.campaign()["runs"]]

    def left_behind(self) -> list[str]:
        """Processes and temporary files of this test's commands that still are there."""
        mark = str(self.scratch)
        left = [str(p) for p in self.scratch.iterdir()]
        for process in psutil.process_iter():
            try:
                if process.environ().get("TMPDIR", "").startswith(mark) or any(
                    mark in word for word in process.cmdline()
                ):
                    left.append(f"{process.pid} {' '.join(process.cmdline())[:120]}")
            except psutil.Error:
                continue
        return left


def process_wait(span_s: float) -> None:
    """Yield the processor between two looks at a condition."""
    time.sleep(span_s)


def child_of(process: subprocess.Popen[str], word: str) -> psutil.Process | None:
    """The descendant whose command line holds that word."""
    try:
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                if any(word in part for part in child.cmdline()):
                    return child
            except psutil.Error:
                continue
    except psutil.Error:
        return None
    return None
