"""Work is spread over processes, none of which outlives the one that started them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from contract.errors import ServiceDied
from evaluator.rebuild.crew import each
from tests.unit.evaluator.crew_program import die, square

HOME = Path(__file__).resolve().parents[3]
#: starting an interpreter with pyarrow and pandas, on a machine that does other things too
PATIENCE_S = 60.0


@pytest.mark.parametrize("workers", [1, 3])
def test_each_order_is_answered_at_its_place(workers: int) -> None:
    assert sorted(each(square, range(7), workers)) == [(n, n * n) for n in range(7)]


def test_a_worker_that_is_killed_ends_it_with_a_sentence() -> None:
    with pytest.raises(ServiceDied, match="too little memory"):
        list(each(die, range(9), 2))


def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition, as long as a slow machine may take."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_whoever_ends_takes_the_workers_along(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.evaluator.crew_program", str(tmp_path)]
    # what was started in the background passes on that it does not hear SIGINT
    hears = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, cwd=HOME, stderr=subprocess.PIPE, text=True, preexec_fn=hears
    ) as program:
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        program.send_signal(number)
        _, said = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == (130 if number == signal.SIGINT else -9)
    assert said == ""
    until(lambda: not any(Path(f"/proc/{path.name}").exists() for path in tmp_path.iterdir()))
