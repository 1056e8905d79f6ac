"""What a person sees: one line that lives on a terminal, one line a phase elsewhere."""

from __future__ import annotations

import io
import os
import shutil

import pytest

from conductor.progress import Progress
from tests.unit.conductor.fakes import Clock


class Terminal(io.StringIO):
    """Says that it is a terminal, and shows what would stand in its last line."""

    def isatty(self) -> bool:
        return True

    def line(self) -> str:
        return self.getvalue().rsplit("\n", 1)[-1].rsplit("\r\033[K", 1)[-1]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> int:
    """A terminal of this width."""
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    return 40


def test_elsewhere_a_phase_is_a_line_and_is_said_once() -> None:
    out = io.StringIO()
    progress = Progress(out)
    progress.run("run 1/2 parse: ")
    progress.phase("measure", 35)
    progress.phase("measure", 35)
    progress.tick("30 s left")
    progress.clear()
    progress.phase("drain")
    assert out.getvalue() == "run 1/2 parse: measure (35 s)\nrun 1/2 parse: drain\n"


def test_the_same_phase_of_another_run_is_said_again() -> None:
    out = io.StringIO()
    progress = Progress(out)
    for run in ("one: ", "two: "):
        progress.run(run)
        progress.phase("drain")
    assert out.getvalue() == "one: drain\ntwo: drain\n"


@pytest.mark.usefixtures("columns")
def test_on_a_terminal_the_line_is_written_over() -> None:
    out = Terminal()
    progress = Progress(out)
    progress.run("one: ")
    progress.phase("drain")
    assert out.line() == "one: drain"
    progress.tick("slot 7", force=True)
    assert out.line() == "one: drain  slot 7"
    assert "\n" not in out.getvalue()


def test_the_live_line_never_reaches_the_edge(columns: int) -> None:
    out = Terminal()
    progress = Progress(out)
    progress.phase("drain")
    progress.tick("x" * 200, force=True)
    # in the last column a terminal would begin a new line, which no return takes back
    assert len(out.line()) == columns - 1
    assert out.line().startswith("drain  xxx")


@pytest.mark.usefixtures("columns")
def test_a_tick_is_drawn_a_fifth_of_a_second_after_the_last(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.progress.time", clock)
    out = Terminal()
    progress = Progress(out)
    progress.phase("drain")
    progress.tick("first")
    assert out.line() == "drain"
    clock.sleep(0.19)
    progress.tick("second")
    assert out.line() == "drain"
    clock.sleep(0.02)
    progress.tick("third")
    assert out.line() == "drain  third"


@pytest.mark.usefixtures("columns")
def test_a_sentence_stays_and_the_live_line_makes_room_for_it() -> None:
    out = Terminal()
    progress = Progress(out)
    progress.phase("drain")
    progress.say("another campaign runs")
    assert out.getvalue().endswith("\r\033[Kanother campaign runs\n")
    progress.tick("on", force=True)
    progress.clear()
    assert out.line() == ""
    plain = io.StringIO()
    Progress(plain).say("a sentence")
    assert plain.getvalue() == "a sentence\n"
