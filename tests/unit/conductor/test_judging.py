"""The evaluator does what a user asks of a finished campaign, and is never left behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from conductor.home import Home
from conductor.interrupts import listen
from conductor.judging import have_judged, run_to_its_end
from contract.errors import UsageError


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """What the evaluator is asked, a campaign `c` being there."""
    said: list[list[str]] = []

    def run(command: list[str], _: Home) -> int:
        said.append(command[4:])
        return 0

    monkeypatch.setattr("conductor.judging.run_to_its_end", run)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "campaign.json").touch()
    return said


def test_a_store_is_a_folder_however_it_is_written(
    asked: list[list[str]], home: Home, tmp_path: Path
) -> None:
    for text in ("kept", f"file:{tmp_path}/kept", f"file://{tmp_path}/kept", "./c/../kept"):
        have_judged("verify", ["c", f"STORE={text}"], home)
    assert asked == [[str(tmp_path / "c"), f"STORE={tmp_path}/kept"]] * 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["c", "STORE=hdfs://namenode:8020/x"], "a folder is needed"),
        (["c", "SLIM=yes"], "give 0 or 1"),
        (["c", "SLIMM=1"], "did you mean SLIM"),
        (["c.tar"], r"c\.tar is no campaign"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_what_cannot_be_packed_is_said(words: list[str], says: str, home: Home) -> None:
    with pytest.raises(UsageError, match=says):
        have_judged("archive", words, home)


def test_its_temporary_folder_is_gone_when_it_ends(temporary: Path, home: Home) -> None:
    program = "import tempfile, sys; tempfile.mkdtemp(); sys.exit(3)"
    assert run_to_its_end([sys.executable, "-c", program], home) == 3
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("heard_signals")
def test_an_interruption_reaches_it_and_waits_for_it(
    temporary: Path, tmp_path: Path, home: Home
) -> None:
    said = tmp_path / "said"
    program = (
        "import pathlib, signal, sys, time\n"
        f"said = pathlib.Path({str(said)!r})\n"
        "signal.signal(signal.SIGTERM, lambda *_: (said.write_text('ended'), sys.exit(130)))\n"
        "said.write_text('began'); time.sleep(600)"
    )

    def interrupt() -> None:
        while not said.exists() or not said.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    listen()
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_to_its_end([sys.executable, "-c", program], home)
    assert said.read_text() == "ended"
    assert list(temporary.iterdir()) == []
