"""A campaign has the runs that its question plans; who picks, copies or relabels is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contract.errors import ExitCode
from contract.results import CampaignFolder, read_json, write_json
from evaluator.campaign import write_campaign
from evaluator.report import write_report
from evaluator.verify import verify
from tests.unit.evaluator.campaigns import Plan, make_campaign

PLAN = Plan(repeat=3, rate=80)
Conditions = dict[str, Any]


def retold(folder: Path, change: Callable[[Conditions], None]) -> None:
    """Have the forger change what was planned, and everything that follows judged anew."""
    told = read_json(folder / "conditions.json")
    change(told)
    write_json(folder / "conditions.json", told)
    write_campaign(folder)
    write_report(folder)


def rewrite(path: Path, **changes: Any) -> None:
    write_json(path, read_json(path) | changes)


def _copied(folder: Path, _told: Conditions) -> None:
    """A run that was liked is told twice more."""
    runs = folder / "runs"
    for number in (3, 6):
        shutil.rmtree(runs / f"{number}-join")
        shutil.copytree(runs / "2-join", runs / f"{number}-join")


def _dropped(folder: Path, told: Conditions) -> None:
    """A repetition that was not liked goes."""
    told["repeat"] = 2
    for entry in told["runs"][4:]:
        shutil.rmtree(folder / entry["path"])
    del told["runs"][4:]
    # and the forger forgets that the order followed from the number of repetitions only in part
    told["runs"] = [told["runs"][i] for i in (1, 0, 2, 3)]


def _swapped(folder: Path, _told: Conditions) -> None:
    runs = folder / "runs"
    (runs / "1-parse").rename(runs / "x")
    (runs / "4-parse").rename(runs / "1-parse")
    (runs / "x").rename(runs / "4-parse")


def _other_rate(_folder: Path, told: Conditions) -> None:
    told["settings"]["rate"] = 26_000


def _other_seed(_folder: Path, told: Conditions) -> None:
    told["settings"]["seed"] = 7


def _other_verb(_folder: Path, told: Conditions) -> None:
    told["verb"] = "reproduce"


def _ended_otherwise(_folder: Path, told: Conditions) -> None:
    told["runs"][0]["ended"] = "failed"


def _other_version(_folder: Path, told: Conditions) -> None:
    told["variants"][0]["engine_version"] = "9.9"


def _quiet_slots(folder: Path, _told: Conditions) -> None:
    """The window is moved to where it was calm."""
    for name in ("1-parse", "2-join"):
        path = folder / "runs" / name / "evidence" / "conditions.json"
        window = read_json(path)["window"]
        rewrite(path, window={**window, "first_slot": window["first_slot"] + 9})


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (_copied, "run_id"),
        (_dropped, "runs, as planned"),
        (_swapped, "run_id"),
        (_other_rate, "setting rate"),
        (_other_seed, "runs, as planned"),
        (_other_verb, "verb, as commanded"),
        (_ended_otherwise, "ended"),
        (_other_version, "engine_version"),
        (_quiet_slots, "window"),
    ],
)
def test_whoever_picks_copies_or_relabels_is_told(
    tmp_path: Path,
    forge: Callable[[Path, Conditions], None],
    found: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = make_campaign(tmp_path / "c", PLAN)
    write_report(folder)
    assert verify(folder) == ExitCode.VALID
    capsys.readouterr()
    retold(folder, lambda told: forge(folder, told))
    assert verify(folder) == ExitCode.FAILURE
    assert found in capsys.readouterr().out


def test_a_run_made_while_another_was_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_campaign(tmp_path / "c", PLAN)
    write_report(folder)
    later = read_json(CampaignFolder(folder).run(6, "join").conditions)["first_due_ms"]
    rewrite(CampaignFolder(folder).run(1, "parse").conditions, first_due_ms=later)
    assert verify(folder) == ExitCode.FAILURE
    retold(folder, lambda _: None)
    verify(folder)
    assert "made after the others" in capsys.readouterr().out


def test_an_attempt_after_an_interruption_has_a_name_of_its_own(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", PLAN)

    def interrupted(told: Conditions) -> None:
        told["interruptions"] = [{"at": "…", "runs": ["runs/2-join"], "says": "…"}]

    for name in ("run.json", "evidence/conditions.json"):
        rewrite(folder / "runs" / "2-join" / name, run_id="c-2-join-2")
    retold(folder, interrupted)
    assert verify(folder) == ExitCode.VALID
    retold(folder, lambda told: told.update(interruptions=[]))
    assert verify(folder) == ExitCode.FAILURE
