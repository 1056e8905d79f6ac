"""A campaign is summed up from its runs; every file is hashed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contract.results import MEASURES, read_json, sha256_of
from evaluator.campaign import write_campaign
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop
from tests.unit.evaluator.synthetic import make_campaign_conditions, make_run


def campaign_of(root: Path, runs: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    folders = []
    for number, (stage, plan) in enumerate(runs, 1):
        asked = {"slots": 16, "locations": 6, **plan}
        run_dir, store = make_run(root, stage=stage, number=number, seed=number, **asked)
        evaluate_run(Hadoop(), run_dir, store, "c", collecting=False)
        folders.append(run_dir)
    return write_campaign(make_campaign_conditions(root, folders))


def test_a_campaign_of_one_run_a_stage_has_prices_without_verdict(tmp_path: Path) -> None:
    runs: list[tuple[str, dict[str, Any]]] = [
        ("parse", {"latency_ms": 5.0}),
        ("join", {"latency_ms": 30.0}),
    ]
    told = campaign_of(tmp_path, runs)
    assert told["valid"] and [doubt["id"] for doubt in told["doubts"]] == ["few-runs"]
    assert len(told["figures"]) == 2 * len(MEASURES) and {f["method"] for f in told["figures"]} == {
        "slots"
    }
    price = next(p for p in told["prices"] if p["attribution"] == "last")
    assert (price["stage"], price["predecessor"]) == ("join", "parse")
    assert price["verdict"] == "too-few-runs" and 20 < price["price_ms"] < 40
    assert price["low_ms"] <= price["price_ms"] <= price["high_ms"]
    folder = tmp_path / "c"
    assert read_json(folder / "campaign.json") == told
    assert told["files"]["runs/1-parse/run.json"] == sha256_of(folder / "runs/1-parse/run.json")
    assert "conditions.json" in told["files"] and "campaign.json" not in told["files"]
    # the same files give the same figures
    assert write_campaign(folder) == told


def test_invalid_runs_have_no_price_and_no_part_in_figures(tmp_path: Path) -> None:
    runs: list[tuple[str, dict[str, Any]]] = [
        ("parse", {"latency_ms": 5.0}),
        ("join", {"latency_ms": 30.0, "cheat": "double"}),
        ("parse", {"latency_ms": 90.0, "cheat": "drop"}),
    ]
    told = campaign_of(tmp_path, runs)
    assert not told["valid"] and told["prices"] == []
    figures = {f["stage"]: f for f in told["figures"] if f["attribution"] == "last"}
    assert (figures["parse"]["runs"], figures["parse"]["valid_runs"]) == (2, 1)
    assert figures["parse"]["p50_ms"] < 20
    assert figures["join"]["valid_runs"] == 0


def test_a_campaign_whose_run_left_nothing_is_not_valid(tmp_path: Path) -> None:
    run_dir, store = make_run(tmp_path, slots=12, locations=2)
    evaluate_run(Hadoop(), run_dir, store, "c", collecting=False)
    lost = tmp_path / "c" / "runs" / "2-tumbling"
    lost.mkdir()
    told = write_campaign(make_campaign_conditions(tmp_path, [run_dir, lost]))
    assert not told["valid"] and told["figures"]
