"""Engines side by side in one campaign: who is faster, with what right, and what each takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contract.errors import ExitCode
from contract.results import read_json
from evaluator.report import write_figures, write_report
from evaluator.verify import verify
from tests.unit.evaluator.campaigns import CONTEST, ENGINES, Plan, make_campaign, seal
from tests.unit.evaluator.test_report import words


def made(folder: Path, plan: Plan = CONTEST) -> dict[str, Any]:
    told: dict[str, Any] = read_json(make_campaign(folder, plan) / "campaign.json")
    return told


def contest(told: dict[str, Any]) -> dict[str, Any]:
    (found,) = told["contests"]
    return dict(found)


def test_each_is_set_beside_the_first_with_its_interval(tmp_path: Path) -> None:
    found = contest(made(tmp_path / "c"))
    assert (found["a"]["engine"], found["b"]["engine"]) == ("spark", "flink")
    assert found["says"] == ["flink is slower than spark at 2 of 2 stages, faster at none."]
    for stage in found["stages"]:
        figures = {(f["of"], f["statistic"]): f for f in stage["figures"]}
        median = figures["last", "p50"]
        assert median["verdict"] == "slower" and median["low"] > 0
        assert median["difference"] == pytest.approx(median["b"] - median["a"])
        assert {"cpu", "brokers", "memory"} <= {of for of, _ in figures}


def test_of_three_each_stands_beside_the_first(tmp_path: Path) -> None:
    three = Plan(
        stages=("parse",), rate=80, verb="compare", variants=(*ENGINES, ("micro-batch", "eager"))
    )
    pairs = [(c["a"]["mode"], c["b"]["mode"]) for c in made(tmp_path / "c", three)["contests"]]
    assert pairs == [("real-time", "streaming"), ("real-time", "micro-batch")]


def test_what_has_no_valid_run_is_said_by_name(tmp_path: Path) -> None:
    one = Plan(stages=("join",), rate=80, verb="compare", variants=ENGINES, invalid=(1,))
    told = made(tmp_path / "c", one)
    bad = told["runs"][0]["engine"]
    (stage,) = contest(told)["stages"]
    assert stage["says"] == f"no valid run of join in {bad}"
    assert contest(told)["says"] == [
        f"flink and spark cannot be compared: no valid run of join in {bad}."
    ]


def test_where_one_waits_by_definition_it_is_said_what_to_read(tmp_path: Path) -> None:
    mixed = Plan(
        stages=("join",),
        rate=80,
        repeat=3,
        verb="compare",
        variants=(ENGINES[0], ("flink", "streaming", "windowed")),
    )
    says = contest(made(tmp_path / "c", mixed))["says"]
    assert says[1].startswith("spark is eager, flink windowed") and len(says) == 3


def test_the_report_opens_with_who_is_faster_and_tells_what_differs(tmp_path: Path) -> None:
    made(tmp_path / "c")
    html = words(write_report(tmp_path / "c").read_text(encoding="utf-8"))
    answer = "At 80 observations/s, by the median: flink is slower than spark at 2 of 2 stages"
    assert answer in html
    assert html.index(answer) < html.index("Side by side") < html.index("What each takes")
    assert "join, flink" in html and "The same for all: rate 80, seed 1" in html
    assert "moderealtimestreaming" in html.replace("-", "").replace(" ", "")


def test_a_comparison_is_verified_like_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    told = made(folder)
    write_report(folder)
    assert verify(folder) == ExitCode.VALID
    contest(told)["stages"][1]["figures"][0]["high"] += 0.5
    seal(folder, told)
    write_report(folder)
    assert verify(folder) == ExitCode.FAILURE


def test_its_charts_are_pictures_too(tmp_path: Path) -> None:
    made(tmp_path / "c")
    names = [path.name for path in write_figures(tmp_path / "c", tmp_path / "pictures")]
    assert names[0] == "side-by-side.svg" and "prices.svg" in names


def test_other_campaigns_compare_nothing(tmp_path: Path) -> None:
    assert made(tmp_path / "c", Plan(rate=80))["contests"] == []
