"""One order, one answer; a failure, a death and a silence are each a sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.evaluating import Evaluator
from conductor.processes import Child
from contract.errors import ServiceFailed
from tests.unit.conductor.fakes import NO_PID, WAIT_S_MAX, runs

#: stands for the evaluator: does as the order's `how` says
SCRIPT = """
import json, os, sys, time
for number, line in enumerate(sys.stdin, 1):
    order = json.loads(line)
    how = order.get("how", "")
    if how == "die":
        print("a first line", "the last words", sep="\\n", file=sys.stderr, flush=True)
        os._exit(7)
    if how == "break off":
        sys.stdout.write('{"ok": tr')
        sys.stdout.flush()
        os._exit(3)
    if how == "half":
        sys.stdout.write('{"ok": tr')
        sys.stdout.flush()
        time.sleep(1000)
    if how == "odd":
        print(order["says"], flush=True)
        continue
    if how == "fail":
        print(json.dumps({"ok": False, "says": "no such campaign"}), flush=True)
        continue
    while how == "wait" and not os.path.exists(order["until"]):
        time.sleep(0.005)
    print(json.dumps({"ok": True, "number": number, "order": order}), flush=True)
"""


def tick(_: str) -> None:
    """Shows nothing."""


@pytest.fixture
def evaluator(tmp_path: Path) -> Iterator[Evaluator]:
    """A small Python program in the evaluator's place."""
    (tmp_path / "evaluator.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "evaluator.py")]
    env = {"PATH": os.environ["PATH"]}
    log = tmp_path / "evaluator.log"
    made = Evaluator(Child("evaluator", command, env, log, tmp_path, pipes=True))
    yield made
    made.stop()


def test_an_order_is_answered(evaluator: Evaluator) -> None:
    order: dict[str, Any] = {"do": "run", "run_dir": "/é", "nested": {"a": [1, None]}}
    answer = evaluator.ask(order, WAIT_S_MAX, tick)
    assert answer == {"ok": True, "number": 1, "order": order}
    assert evaluator.ask({"do": "campaign"}, WAIT_S_MAX, tick)["number"] == 2


def test_an_answer_may_be_taken_later(evaluator: Evaluator, tmp_path: Path) -> None:
    evaluator.give({"do": "run", "how": "wait", "until": str(tmp_path / "go")})
    ticks: list[str] = []

    def go(detail: str) -> None:
        ticks.append(detail)
        (tmp_path / "go").touch()

    assert evaluator.take(WAIT_S_MAX, go)["ok"]
    assert ticks, "nobody was told that it goes on"


def test_an_answer_is_to_be_taken_before_the_next_order_is_given(evaluator: Evaluator) -> None:
    evaluator.give({"do": "run"})
    with pytest.raises(AssertionError):
        evaluator.give({"do": "run"})
    assert evaluator.take(WAIT_S_MAX, tick)["number"] == 1
    with pytest.raises(AssertionError):
        evaluator.take(WAIT_S_MAX, tick)


def test_a_failure_is_said_and_the_next_order_is_answered_all_the_same(
    evaluator: Evaluator,
) -> None:
    with pytest.raises(ServiceFailed, match=r"^the evaluator failed: no such campaign$"):
        evaluator.ask({"do": "run", "how": "fail"}, WAIT_S_MAX, tick)
    assert evaluator.ask({"do": "run"}, WAIT_S_MAX, tick)["number"] == 2


def test_its_death_is_said_with_the_end_of_its_log(evaluator: Evaluator) -> None:
    with pytest.raises(ServiceFailed) as failure:
        evaluator.ask({"do": "run", "how": "die"}, WAIT_S_MAX, tick)
    says = str(failure.value)
    assert says.startswith("the evaluator ended with exit code 7; its log ends:")
    assert says.endswith("\n  a first line\n  the last words")


def test_a_death_in_the_middle_of_an_answer_is_a_death(evaluator: Evaluator) -> None:
    with pytest.raises(ServiceFailed, match="the evaluator ended with exit code 3;"):
        evaluator.ask({"do": "run", "how": "break off"}, WAIT_S_MAX, tick)


def test_half_an_answer_is_waited_for_no_longer_than_a_whole_one(evaluator: Evaluator) -> None:
    with pytest.raises(ServiceFailed, match="did not run within 0 s"):
        evaluator.ask({"do": "run", "how": "half"}, 0.3, tick)
    assert not runs(evaluator.child.pid)


@pytest.mark.parametrize("says", ["[1]", "null", "a line that somebody printed"])
def test_an_odd_answer_is_shown(evaluator: Evaluator, says: str) -> None:
    with pytest.raises(ServiceFailed, match="answered oddly") as failure:
        evaluator.ask({"do": "run", "how": "odd", "says": says}, WAIT_S_MAX, tick)
    assert says in str(failure.value)


def test_a_death_between_two_orders_is_said_at_the_next(evaluator: Evaluator) -> None:
    evaluator.child.process.kill()
    evaluator.child.process.wait()
    with pytest.raises(ServiceFailed, match="the evaluator ended with exit code -9;"):
        evaluator.ask({"do": "run"}, WAIT_S_MAX, tick)
    # what could not be sent is still in the pipe's buffer, and closing would send it
    evaluator.stop()


def test_a_silence_ends_with_the_order_and_the_log_in_the_sentence(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    order = {"do": "collect", "how": "wait", "until": str(tmp_path / "never")}
    with pytest.raises(ServiceFailed, match=r"did not collect within 0 s; its log: .*\.log"):
        evaluator.ask(order, 0, tick)


def test_a_late_answer_is_not_taken_for_that_to_the_next_order(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    order = {"do": "run", "how": "wait", "until": str(tmp_path / "go")}
    with pytest.raises(ServiceFailed, match="did not run within 0 s"):
        evaluator.ask(order, 0, tick)
    assert not runs(evaluator.child.pid), "it could still answer"
    (tmp_path / "go").touch()
    with pytest.raises(ServiceFailed, match="the evaluator ended with exit code -9;"):
        evaluator.ask({"do": "campaign"}, WAIT_S_MAX, tick)


def test_it_is_ended_at_once(evaluator: Evaluator, tmp_path: Path) -> None:
    evaluator.give({"do": "run", "how": "wait", "until": str(tmp_path / "never")})
    evaluator.stop()
    assert not runs(evaluator.child.pid)


def test_its_process_is_the_child_unless_the_child_only_passes_words_on(
    evaluator: Evaluator,
) -> None:
    assert evaluator.pid == evaluator.child.pid
    assert Evaluator(evaluator.child, NO_PID).pid == NO_PID
    # a container's process that this machine does not see
    assert Evaluator(evaluator.child, 0).pid == 0


def test_where_the_child_only_passes_words_on_it_is_asked_elsewhere_how_it_ended(
    evaluator: Evaluator,
) -> None:
    other = Evaluator(evaluator.child, NO_PID, lambda: "was killed because it ran out of memory")
    with pytest.raises(ServiceFailed, match=r"^the evaluator was killed because it ran out of mem"):
        other.ask({"do": "run", "how": "die"}, WAIT_S_MAX, tick)
