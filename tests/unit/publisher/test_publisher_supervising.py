"""The parent and its senders: none is left behind, and a death is said in a line."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Environment = dict[str, str]
Start = Callable[[Environment], subprocess.Popen[str]]
Finish = Callable[[subprocess.Popen[str]], tuple[int, list[str]]]
Until = Callable[[Callable[[], Any]], Any]


def started(env: Environment) -> bool:
    """Whether the common start is fixed."""
    return (Path(env["EVIDENCE_DIR"]) / "publisher-started.json").exists()


def children_of(pid: int) -> list[int]:
    """The processes it has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def senders_of(pid: int) -> list[int]:
    """Those of its children that send (and not Python's resource tracker)."""
    found = []
    for child in children_of(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in command:
            found.append(child)
    return found


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_second_sigterm_stops_at_once(
    env: Environment, appended: Callable[[], int], start: Start, finish: Finish, until: Until
) -> None:
    # slots of fifteen seconds: the first SIGTERM would take that long
    env |= {"TEMPORAL_SCALE": "4", "RATE": "20"}
    process = start(env)
    until(appended)
    senders = senders_of(process.pid)
    process.send_signal(signal.SIGTERM)
    # a first one that has not been taken note of would swallow the second
    until(lambda: not signal_pending(process.pid))
    process.send_signal(signal.SIGTERM)
    code, errors = finish(process)
    assert code == 1
    assert errors == ["publisher: stopped at once, by a second SIGTERM: no evidence was written"]
    assert not any(runs(pid) for pid in senders)


def signal_pending(pid: int) -> bool:
    """Whether a SIGTERM waits to be delivered."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("ShdPnd:"):
            return bool(int(line.split()[1], 16) >> signal.SIGTERM - 1 & 1)
    return False


def test_a_senders_death_ends_the_program_with_one_line(
    env: Environment, start: Start, finish: Finish, until: Until
) -> None:
    env |= {"SLOTS_MAX": "100000"}
    process = start(env)
    until(lambda: started(env))
    senders = senders_of(process.pid)
    assert len(senders) == 2
    os.kill(senders[1], signal.SIGKILL)
    code, errors = finish(process)
    assert code == 1
    assert errors == ["publisher: sender 1 died with exit code -9"]
    assert not any(runs(pid) for pid in senders)


def test_senders_do_not_outlive_their_parent(env: Environment, start: Start, until: Until) -> None:
    env |= {"SLOTS_MAX": "100000"}
    process = start(env)
    until(lambda: started(env))
    senders = senders_of(process.pid)
    process.kill()
    until(lambda: not any(runs(pid) for pid in senders))
