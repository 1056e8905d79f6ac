"""An interruption is not lost in a fork, and leaves neither a process nor a run half taken down."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from conductor.interrupts import SIGNALS, held, listen
from tests.unit.conductor.fakes import ROOT, WAIT_S_MAX


@pytest.fixture(autouse=True)
def listening(request: pytest.FixtureRequest) -> None:
    """Listens; the signals are given back."""
    request.getfixturevalue("heard_signals")
    listen()


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_interrupts(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_what_is_held_is_done_first_and_interrupted_once() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held():
        with held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with held():
        done.append("again")


def test_an_error_inside_does_not_hide_the_interruption() -> None:
    with pytest.raises(KeyboardInterrupt), held():
        signal.raise_signal(signal.SIGINT)
        raise ValueError


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    listen()
    signal.raise_signal(signal.SIGHUP)


_IN_A_FORK = """
import logging, os, pathlib, signal, sys
os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.SIGINT))
from conductor.brokers import EmbeddedBrokers
from conductor.interrupts import listen
from conductor.java import Java
listen()
place = pathlib.Path(sys.argv[1])
program = pathlib.Path("images/kafka/entrypoint").resolve()
brokers = EmbeddedBrokers(3, place, place, program, place, Java(place, "17"), place)
(place / "bin").mkdir()
(place / "bin" / "java").write_text("#!/bin/sh\\nexec sleep 600\\n")
(place / "bin" / "java").chmod(0o755)
try:
    brokers.start()
except KeyboardInterrupt:
    print("interrupted with", len(brokers.children), "of 3", flush=True)
    brokers.stop()
logging.getLogger().warning("the lock is free")
"""


def test_one_that_comes_while_a_process_is_forked_is_heard(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_FORK, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WAIT_S_MAX,
        check=True,
    )
    assert done.stdout == "interrupted with 1 of 3\n"
    assert done.stderr == "the lock is free\n"
