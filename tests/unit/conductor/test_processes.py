"""A child has a log, a session and a bounded end; nothing that it started outlives it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor.processes import LOG_TAIL_LINES, Child
from contract.errors import EnvironmentLacking
from tests.unit.conductor.fakes import ROOT, WAIT_S_MAX, runs, until

ENV = {"PATH": os.environ["PATH"]}
Start = Callable[..., Child]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts shell scripts; what a failed test leaves running is ended."""
    children: list[Child] = []

    def starting(script: str, name: str = "child", pipes: bool = False) -> Child:
        log = tmp_path / "logs" / f"{name}.log"
        children.append(Child(name, ["/bin/sh", "-c", script], ENV, log, tmp_path, pipes))
        return children[-1]

    yield starting
    for child in children:
        child.kill()


def said(child: Child, text: str) -> None:
    until(lambda: text in child.log.read_text())


def test_its_log_holds_what_it_says_on_either_stream(start: Start) -> None:
    child = start("echo out; echo error >&2; exit 3")
    assert child.wait(WAIT_S_MAX) == 3
    assert child.exit_code() == 3
    assert sorted(child.log_tail()) == ["error", "out"]


def test_a_log_is_appended_to(start: Start) -> None:
    for word in ("first", "second"):
        start(f"echo {word}").wait(WAIT_S_MAX)
    assert start("true").log_tail() == ["first", "second"]


def test_the_cause_is_not_lost_among_the_frames_of_its_stack(start: Start) -> None:
    child = start("true")
    frames = [f"\tat org.kafka.Some.method(Some.java:{i})" for i in range(100)]
    causes = ["ERROR it failed", "java.lang.OutOfMemoryError: 5000 needed", "Caused by: another"]
    told = [*causes[:2], *frames, "\t... 12 more", causes[2], *frames, "  at rest, it says"]
    child.log.write_text("\n".join(told))
    assert child.log_tail() == [*causes, "  at rest, it says"]


def test_the_tail_is_the_last_lines_that_are_not_empty(start: Start) -> None:
    child = start("true")
    assert child.log_tail() == []
    lines = [f"line {i}" for i in range(20_000)]
    child.log.write_text("\n\n".join(lines) + "\n  \n\n")
    assert child.log_tail() == lines[-LOG_TAIL_LINES:]
    assert child.log_tail(3) == lines[-3:]
    child.log.write_bytes(b"\xff\xfe broken")
    assert child.log_tail()[0].endswith("broken")
    child.log.unlink()
    assert child.log_tail() == []


def test_it_is_started_with_its_environment_and_nothing_else(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNEXPECTED", "yes")
    child = start('echo "[$UNEXPECTED]" "$(pwd)"')
    child.wait(WAIT_S_MAX)
    assert child.log_tail() == [f"[] {tmp_path}"]


def test_a_program_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    for command, cwd in ((["/no/such/program"], tmp_path), (["/bin/sh"], tmp_path / "none")):
        with pytest.raises(EnvironmentLacking, match=r"^engine cannot be started: .*No such file"):
            Child("engine", command, ENV, tmp_path / "log", cwd)


def test_asked_to_stop_it_may_end_by_itself_within_its_grace(start: Start) -> None:
    child = start("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    said(child, "ready")
    assert child.stop(WAIT_S_MAX) == 5
    assert child.log_tail() == ["ready", "bye"]


def test_what_does_not_end_within_its_grace_is_killed(start: Start) -> None:
    child = start("trap '' TERM; echo ready; while :; do sleep 0.01; done")
    said(child, "ready")
    assert child.stop(0.05) is None
    assert child.exit_code() == -9
    assert not runs(child.pid)


def test_waiting_has_an_end(start: Start) -> None:
    assert start("exec sleep 1000").wait(0.01) is None


def test_its_whole_session_goes_grandchildren_in_groups_of_their_own_included(
    start: Start, tmp_path: Path
) -> None:
    # as Spark's Python workers do
    own_group = (
        "import os, pathlib, time; os.setpgid(0, 0); "
        f"pathlib.Path({str(tmp_path)!r}, 'pid').write_text(f'{{os.getpid()}} '); time.sleep(1000)"
    )
    child = start(f'"{sys.executable}" -c "{own_group}" & sleep 1000 & echo "$!"; exec sleep 1000')
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(" "))
    grandchild = int((tmp_path / "pid").read_text())
    sibling = int(child.log_tail()[-1])
    assert os.getpgid(grandchild) == grandchild != os.getpgid(child.pid)
    assert all(map(runs, (child.pid, grandchild, sibling)))
    child.kill()
    assert not any(map(runs, (child.pid, grandchild, sibling)))
    child.kill()


def test_what_a_child_left_behind_goes_though_it_has_ended_itself(start: Start) -> None:
    child = start('sleep 1000 & echo "$!"')
    assert child.wait(WAIT_S_MAX) == 0
    left = int(child.log_tail()[-1])
    assert runs(left)
    assert child.stop(1) == 0
    assert not runs(left)


def test_others_are_left_alone(start: Start) -> None:
    one, other = start("exec sleep 1000", "one"), start("exec sleep 1000", "other")
    one.kill()
    assert not runs(one.pid)
    assert runs(other.pid) and runs(os.getpid())


def test_with_pipes_it_is_talked_to_and_only_its_errors_are_logged(start: Start) -> None:
    child = start("read line; echo heard $line; echo logged >&2; exec sleep 1000", pipes=True)
    assert child.process.stdin is not None and child.process.stdout is not None
    child.process.stdin.write("this\n")
    child.process.stdin.flush()
    assert child.process.stdout.readline() == "heard this\n"
    said(child, "logged")
    child.kill()
    assert child.log_tail() == ["logged"]
    assert child.process.stdin.closed and child.process.stdout.closed


def test_it_reads_nothing_unless_it_is_given_a_file(start: Start, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("of a file\n")
    given = Child("given", ["/bin/cat"], ENV, tmp_path / "given.log", stdin=tmp_path / "words")
    assert given.wait(WAIT_S_MAX) == 0
    assert given.log_tail() == ["of a file"]
    silent = start("cat; echo the end")
    assert silent.wait(WAIT_S_MAX) == 0
    assert silent.log_tail() == ["the end"]


def test_a_file_to_read_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacking, match=r"^given cannot be started: .*No such file"):
        Child("given", ["/bin/cat"], ENV, tmp_path / "log", stdin=tmp_path / "none")


def test_without_stdout_its_log_holds_only_what_it_complains_of(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo out; echo error >&2"]
    child = Child("quiet", command, ENV, tmp_path / "log", stdout=False)
    assert child.wait(WAIT_S_MAX) == 0
    assert child.log_tail() == ["error"]


def test_how_it_ended_is_said_with_its_exit_code(start: Start) -> None:
    child = start("exit 3")
    child.wait(WAIT_S_MAX)
    assert child.how_it_ended() == "ended with exit code 3"
    killed = start("kill -9 $$")
    killed.wait(WAIT_S_MAX)
    assert killed.how_it_ended() == "ended with exit code -9"


def test_its_log_is_kept_elsewhere_while_it_goes_on(start: Start, tmp_path: Path) -> None:
    child = start("echo first; exec sleep 1000", name="broker-1")
    said(child, "first")
    kept = tmp_path / "runs" / "1" / "logs"
    child.keep_log(kept)
    assert (kept / "broker-1.log").read_text() == "first\n"
    child.keep_log(child.log.parent)
    assert child.log.read_text() == "first\n", "a log that is there already was harmed"
    child.log.unlink()
    child.keep_log(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_child_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import pathlib, time; from conductor.processes import Child; "
        f"child = Child('x', ['/bin/sleep', '1000'], {{}}, pathlib.Path({str(tmp_path)!r}, 'log'));"
        "print(child.pid, flush=True); time.sleep(1000)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert runs(child)
    finally:
        parent.kill()
        parent.communicate()
    until(lambda: not runs(child))
