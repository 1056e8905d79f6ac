"""What a user reads after a comparison: the answer, then a line a stage and variant."""

from __future__ import annotations

from pathlib import Path

from conductor.summary import summary_lines
from contract.results import CampaignFolder, read_json
from tests.unit.evaluator.campaigns import CONTEST, ENGINES, Plan, make_campaign


def lines_of(folder: Path, plan: Plan) -> list[str]:
    campaign = read_json(make_campaign(folder, plan) / "campaign.json")
    return summary_lines(campaign, CampaignFolder(folder))


def test_the_answer_stands_first_and_each_variant_has_its_line(tmp_path: Path) -> None:
    lines = lines_of(tmp_path / "c", CONTEST)
    assert lines[0] == CONTEST.question
    assert lines[2] == "  flink is slower than spark at 2 of 2 stages, faster at none."
    rows = [line.split() for line in lines[4:9]]
    assert rows[1][:2] == ["parse", "spark"] and rows[2][0] == "flink"
    assert "slower" in rows[2] and "slower" not in rows[1]
    assert [row[-3:] for row in rows[1:]] == [["3", "of", "3"]] * 4
    assert rows[3][:2] == ["join", "spark"] and rows[4][0] == "flink"


def test_figures_of_runs_that_are_not_valid_are_not_told(tmp_path: Path) -> None:
    told = make_campaign(tmp_path / "all", Plan(stages=("join",), rate=80, verb="compare",
                                                variants=ENGINES))  # fmt: skip
    first = read_json(told / "campaign.json")["runs"][0]["engine"]
    one = Plan(stages=("join",), rate=80, verb="compare", variants=ENGINES, invalid=(1,))
    lines = lines_of(tmp_path / "c", one)
    row = next(line.split() for line in lines[5:7] if first in line.split())
    values = [word for word in row if word not in ("join", first, "no", "valid", "run")]
    assert set(values[:-3]) == {"–"} and values[-3:] == ["0", "of", "1"]
    other = next(line.split() for line in lines[5:7] if first not in line.split())
    assert other[-3:] == ["1", "of", "1"] and "–" not in other[:4]
    assert any(line.startswith(f"invalid  runs/1-join {first}: ") for line in lines)
