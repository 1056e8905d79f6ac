"""The published example is one campaign's, unchanged, and today's rules judge it as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from contract.errors import ExitCode, TollgateError
from contract.results import CampaignFolder, read_json, sha256_of
from evaluator.campaign import judged
from evaluator.compare import compare
from evaluator.estimates import samples_of
from evaluator.report import redraw_report
from evaluator.verify import verify

EXAMPLE = CampaignFolder(Path(__file__).resolve().parents[2] / "docs" / "example")
#: folders of one machine, which nobody else has
_ONES_OWN = re.compile(r"(?<![\w.<])/(?:home|root|srv|tmp|var|mnt|opt|Users)/")
_VERDICT = ("paper", "claim", "engine", "mode", "dialect", "verdict", "preliminary")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return dict(read_json(EXAMPLE.campaign_json))


def test_its_runs_are_those_that_were_judged(told: dict[str, Any]) -> None:
    runs = {f"{run['path']}/run.json" for run in told["runs"]}
    there = {p.relative_to(EXAMPLE.path).as_posix() for p in EXAMPLE.path.glob("runs/*/*")}
    assert there == runs
    assert len(there) == told["repeat"] * len(told["variants"]) * len(told["stages"])
    assert {name: sha256_of(EXAMPLE.path / name) for name in there} == {
        name: told["files"][name] for name in there
    }


def test_figures_prices_and_verdicts_follow_from_its_runs(told: dict[str, Any]) -> None:
    found = judged(told, samples_of(EXAMPLE, told))
    for rows, name in (
        *(("figures", name) for name in ("p50_ms", "low_ms", "high_ms")),
        *(("prices", name) for name in ("price_ms", "low_ms", "high_ms")),
        *(("effects", name) for name in ("difference_ms", "low_ms", "high_ms")),
    ):
        assert [row[name] for row in found[rows]] == pytest.approx(
            [row[name] for row in told[rows]], rel=1e-9
        )
    assert [[c[key] for key in _VERDICT] for c in found["claims"]] == [
        [c[key] for key in _VERDICT] for c in told["claims"]
    ]


def test_a_readers_own_campaign_can_be_compared_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    variants = (f"{EXAMPLE.path}:real-time/eager", f"{EXAMPLE.path}:micro-batch/eager")
    assert compare(*variants) == ExitCode.VALID
    assert "sliding" in capsys.readouterr().out


def test_it_is_not_drawn_anew_without_its_samples() -> None:
    before = EXAMPLE.report.read_bytes()
    with pytest.raises(TollgateError, match="300 of the 300 files of samples"):
        redraw_report(EXAMPLE.path)
    assert EXAMPLE.report.read_bytes() == before


def test_verify_says_how_many_files_are_missing(
    told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    gone = len(told["files"]) - len(told["runs"])
    assert verify(EXAMPLE.path) == ExitCode.FAILURE
    assert f"Of these, {gone:,} are files that are not here." in capsys.readouterr().out


def test_nothing_in_it_names_a_folder_of_the_machine_where_it_was_made() -> None:
    texts = [p for p in EXAMPLE.path.rglob("*") if p.suffix in (".json", ".html", ".svg", ".md")]
    assert len(texts) > 5
    named = {p.name: found[0] for p in texts if (found := _ONES_OWN.search(p.read_text("utf-8")))}
    assert named == {}
