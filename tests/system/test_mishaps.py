"""Ctrl-C, killed services, cheating engines, two at once; the example engine is quick."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from contract.errors import ExitCode
from contract.results import read_json
from tests.system.tollgate import HOME, SHORT, Tollgate, child_of

pytestmark = pytest.mark.brokers

EXAMPLE = ["ENGINE=example", "STAGE=parse", "ALONE=1", *SHORT]


@pytest.mark.parametrize("phase", ["start: 3 brokers", "keeps up", "measure", ": evaluate"])
def test_ctrl_c_leaves_nothing(tollgate: Tollgate, phase: str) -> None:
    process = tollgate.start("bench", *EXAMPLE)
    tollgate.wait_until(process, lambda: phase in tollgate.said(process))
    process.send_signal(signal.SIGINT)
    ended = tollgate.end(process)
    assert ended.code == ExitCode.INTERRUPTED, ended
    assert "Traceback" not in ended.err
    assert not (tollgate.results / "latest").exists()
    for folder in tollgate.campaigns():
        assert not (folder / "campaign.json").exists()
        assert read_json(folder / "conditions.json")["complete"] is False


@pytest.mark.parametrize(
    ("victim", "word", "doubt"),
    [
        ("example", "engine.py", "engine-died"),
        ("broker-2", "broker-2/server.properties", "broker-died"),
    ],
)
def test_a_killed_service_ends_the_run_and_is_named(
    tollgate: Tollgate, victim: str, word: str, doubt: str
) -> None:
    process = tollgate.start("bench", *EXAMPLE, "DURATION=60")
    tollgate.wait_until(process, lambda: "measure" in tollgate.said(process))
    child = child_of(process, word)
    assert child is not None
    child.kill()
    ended = tollgate.end(process)
    assert ended.code == ExitCode.FAILURE, ended
    assert f"{victim} died" in ended.err, ended
    (run,) = tollgate.runs()
    assert doubt in {d["id"] for d in run["doubts"]}
    assert run["valid"] is False
    assert tollgate.campaign()["complete"] is False
    assert run["phases_s"]["measure"] < 60


def cheat(place: Path, name: str, honest: str, crooked: str) -> Path:
    """The example engine with one line changed."""
    folder = place / name
    shutil.copytree(HOME / "images" / "engines" / "example", folder)
    program = folder / "engine.py"
    text = program.read_text()
    assert honest in text
    program.write_text(text.replace(honest, crooked))
    return folder


SEND = 'producer.produce(env["OUTPUT_TOPIC"], key=output[0], value=output[1])'
#: of a thousand outputs one is dropped and one doubled; an accuracy of 9 is told as 8
CHEATS = f"""
            luck = hash(output) % 1000
            output = (output[0], output[1].replace(b'"accuracy": 9', b'"accuracy": 8'))
            if luck != 0:
                {SEND}
            if luck == 1:
                {SEND}
"""


def test_a_cheating_engine_is_caught_in_each_of_its_cheats(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    """One cheat at a time: tests/unit/evaluator, on stored topics."""
    folder = cheat(tmp_path, "cheats", SEND, CHEATS.strip())
    ended = tollgate.run("bench", f"ENGINE={folder}", *EXAMPLE[1:], "RATE=2000")
    assert ended.code == ExitCode.INVALID, ended
    (run,) = tollgate.runs()
    kinds = ("missing", "duplicate", "wrong", "unexpected")
    assert [k for k in kinds if run["outputs"][k]] == ["missing", "duplicate", "wrong"], ended
    assert "outputs-wrong" in {d["id"] for d in run["doubts"]}


def test_the_second_of_two_waits_and_says_so(tollgate: Tollgate) -> None:
    first = tollgate.start("bench", *EXAMPLE)
    tollgate.wait_until(first, lambda: "start: 3 brokers" in tollgate.said(first))
    second = tollgate.start("bench", *EXAMPLE)
    tollgate.wait_until(second, lambda: "waiting for its end" in tollgate.said(second))
    assert f"(process {first.pid}, results in" in tollgate.said(second)
    assert "start: 3 brokers" not in tollgate.said(second)
    first.send_signal(signal.SIGINT)
    assert tollgate.end(first).code == ExitCode.INTERRUPTED
    tollgate.wait_until(second, lambda: "start: example, publisher" in tollgate.said(second))
    second.send_signal(signal.SIGINT)
    assert tollgate.end(second).code == ExitCode.INTERRUPTED


def test_an_engine_that_fails_the_conformance_test_is_told_where(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    crooked = cheat(tmp_path, "rude", "stopping.append(True)", "os._exit(3)")
    ended = tollgate.run("engine-check", f"ENGINE={crooked}", "STAGE=parse")
    assert ended.code == ExitCode.FAILURE, ended
    assert "after SIGTERM: exit code 3, not exit code 0" in ended.out
