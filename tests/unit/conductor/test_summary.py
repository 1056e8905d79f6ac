"""The closing table: the answer first; what there is no figure for is shown as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conductor.summary import VERDICTS, summary_lines
from contract.results import CampaignFolder, write_json


def price(stage: str, **changes: Any) -> dict[str, Any]:
    value = {"stage": stage, "predecessor": "parse", "attribution": "last", "price_ms": 12.34}
    return {**value, "low_ms": 11.0, "high_ms": 13.06, "verdict": "costs", **changes}


def figure(stage: str, **changes: Any) -> dict[str, Any]:
    value = {"stage": stage, "attribution": "last", "p50_ms": 40.0, "low_ms": 39.0, "high_ms": 41.0}
    return {**value, "valid_runs": 1, **changes}


def run(stage: str, **changes: Any) -> dict[str, Any]:
    return {
        "stage": stage,
        "engine": "spark",
        "valid": True,
        "doubts": [],
        "latency_ms": {
            "last": {"p50": 1234.56, "p95": 50.0, "p99": None},
            "last_outside_stalls": {"p50": 9.0, "p99": 10.0},
        },
        "outputs": {"correct": 69_999, "expected": 70_000},
        "throughput": {"output_per_s": 1999.6},
        "resources": {"spark": {"cpu_cores_avg": 1.257}, "broker-1": {"cpu_cores_avg": 0.3}},
        **changes,
    }


def campaign(**changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "settings": {"workload": "traffic"},
        "verb": "bench",
        "question": "What does join cost?",
        "stages": ["parse", "join"],
        "asked_all": False,
        "prices": [price("join"), price("join", attribution="mean", price_ms=99.0)],
        "figures": [figure("join"), figure("join", attribution="due", p50_ms=77.0)],
        "runs": [],
        "doubts": [],
    }
    return {**value, **changes}


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    """A campaign's folder."""
    return CampaignFolder(tmp_path)


def kept(folder: CampaignFolder, number: int, value: dict[str, Any] | None) -> dict[str, str]:
    """A run's entry; its run.json is there unless it came to none."""
    stage = value["stage"] if value else "join"
    if value is not None:
        write_json(folder.run(number, stage).run_json, value)
    return {"path": f"runs/{number}-{stage}", "stage": stage, "ended": "interrupted"}


def answers(folder: CampaignFolder, **changes: Any) -> list[str]:
    lines = summary_lines(campaign(**changes), folder)
    return [line.strip() for line in lines[2 : lines.index("", 2)]]


def test_the_question_is_answered_by_the_price_of_what_was_asked(folder: CampaignFolder) -> None:
    assert summary_lines(campaign(), folder)[0] == "What does join cost?"
    assert answers(folder) == [
        "join costs 12.3 ms at the median, 95 % 11.0 to 13.1, over parse: it costs"
    ]


@pytest.mark.parametrize(
    ("services", "resources", "cores"),
    [
        (None, {"spark": {"cpu_cores_avg": 1.257}}, "1.26 cores"),
        ([], {"spark": {"cpu_cores_avg": 1.257}}, "1.26 cores"),
        (
            ["spark", "worker", "worker-2"],
            {
                "spark": {"cpu_cores_avg": 0.5},
                "worker": {"cpu_cores_avg": 1.25},
                "worker-2": {"cpu_cores_avg": None},
                "broker-1": {"cpu_cores_avg": 9.0},
            },
            "1.75 cores",
        ),
        (["spark"], {"spark": {"cpu_cores_avg": None}}, "–"),
        (["spark"], {}, "–"),
    ],
)
def test_the_engines_cpu_is_that_of_all_its_services(
    services: list[str] | None,
    resources: dict[str, Any],
    cores: str,
    folder: CampaignFolder,
) -> None:
    entry = kept(folder, 1, run("join", engine_services=services, resources=resources))
    (line,) = (line for line in summary_lines(campaign(runs=[entry]), folder) if "69,999" in line)
    assert [cell for cell in line.split("  ") if cell.strip() == cores], line


@pytest.mark.parametrize("verdict", sorted(VERDICTS))
def test_each_verdict_is_said_in_words(verdict: str, folder: CampaignFolder) -> None:
    (answer,) = answers(folder, prices=[price("join", verdict=verdict)])
    assert answer.endswith(f": {VERDICTS[verdict]}")


def test_a_price_without_an_interval_says_so(folder: CampaignFolder) -> None:
    (answer,) = answers(folder, prices=[price("join", low_ms=None, high_ms=None)])
    assert "12.3 ms at the median, no interval, over parse" in answer


@pytest.mark.parametrize("prices", [[], [price("join", price_ms=None)]])
def test_without_a_price_the_whole_is_told(
    prices: list[dict[str, Any]], folder: CampaignFolder
) -> None:
    (answer,) = answers(folder, prices=prices, stages=["join"])
    assert answer == "all up to join takes 40.0 ms at the median, 95 % 39.0 to 41.0"


def test_a_price_that_was_owed_and_cannot_be_given_has_its_reason(folder: CampaignFolder) -> None:
    parse, join = kept(folder, 1, None), kept(folder, 2, None)
    runs = [parse | {"stage": "parse", "ended": "invalid"}, join | {"ended": "valid"}]
    (answer,) = answers(folder, prices=[], runs=runs, stages=["parse", "join"])
    assert answer.endswith("; no price: there is no valid run of parse")


def test_a_figure_of_runs_that_are_not_valid_is_no_answer(folder: CampaignFolder) -> None:
    told = answers(folder, prices=[], figures=[figure("join", valid_runs=0)])
    assert told == [
        "no answer: no run of join is valid, and its figures are not to be trusted; why is said "
        "below"
    ]


@pytest.mark.parametrize("figures", [[], [figure("join", p50_ms=None)]])
def test_without_any_figure_that_is_said(
    figures: list[dict[str, Any]], folder: CampaignFolder
) -> None:
    assert answers(folder, prices=[], figures=figures) == ["join: no figure; see below"]


def test_where_all_stages_were_asked_for_each_has_its_line(folder: CampaignFolder) -> None:
    stages = ["ingest", "parse", "join"]
    lines = answers(folder, asked_all=True, stages=stages, figures=[figure("ingest")])
    assert [line.split()[0] for line in lines] == ["all", "parse:", "join"]


@pytest.mark.parametrize(("asked_all", "told"), [(True, ["ingest", "parse"]), (False, ["parse"])])
def test_of_two_stages_both_are_answers_only_if_all_were_asked_for(
    asked_all: bool, told: list[str], folder: CampaignFolder
) -> None:
    lines = answers(
        folder,
        asked_all=asked_all,
        stages=["ingest", "parse"],
        figures=[figure("ingest"), figure("parse")],
        prices=[],
    )
    assert [line.split()[3] for line in lines] == told


def test_a_runs_row_holds_its_figures(folder: CampaignFolder) -> None:
    entry = kept(folder, 1, run("parse"))
    row = next(x for x in summary_lines(campaign(runs=[entry]), folder) if "69,999" in x)
    assert row.split() == [
        *("parse", "1,234.6", "50.0", "–", "9.0", "10.0", "69,999/70,000", "2,000"),
        *("1.26", "cores", "valid"),
    ]


def test_an_invalid_run_is_called_so_and_a_run_that_came_to_nothing_has_no_figures(
    folder: CampaignFolder,
) -> None:
    runs = [kept(folder, 1, run("parse", valid=False, resources={})), kept(folder, 2, None)]
    lines = summary_lines(campaign(runs=runs), folder)
    rows = [line for line in lines if line.startswith(("parse", "join"))]
    assert rows[0].endswith("–  INVALID")
    assert rows[1].split() == ["join", *["–"] * 7, "interrupted"]
    head = next(line for line in lines if line.startswith("stage"))
    assert rows[0].index("INVALID") == rows[1].index("interrupted") == head.index("verdict")


def test_doubts_come_last_those_of_runs_with_their_run(folder: CampaignFolder) -> None:
    doubt = {"id": "swapping", "severity": "warning", "says": "it swapped"}
    runs = [kept(folder, 1, run("parse", doubts=[doubt])), kept(folder, 2, None)]
    few = {"id": "few-runs", "severity": "warning", "says": "one run of each"}
    lines = summary_lines(campaign(runs=runs, doubts=[few]), folder)
    assert lines[-2:] == ["warning  runs/1-parse: it swapped", "warning  one run of each"]


def claim(mode: str, verdict: str, **changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {"claim": "end-to-end", "engine": "spark", "mode": mode}
    value |= {"dialect": "eager"}
    value |= {"verdict": verdict, "value": None, "low": None, "high": None, "unit": None}
    return {**value, "by_stage": [], "says": "Why.", "preliminary": False, **changes}


def reproduction(**changes: Any) -> dict[str, Any]:
    variants = [
        {"engine": "spark", "mode": mode, "dialect": "eager"}
        for mode in ("real-time", "micro-batch")
    ]
    figures = [
        {**variants[0], "stage": "join", "attribution": "mean", "p50_ms": 4.25, "low_ms": 3.5,
         "high_ms": 5.0, "runs": 5, "valid_runs": 4}
    ]  # fmt: skip
    value = {"verb": "reproduce", "preliminary": False, "variants": variants, "figures": figures}
    return campaign(**{**value, "claims": [], **changes})


def test_a_reproduction_tells_each_claim_with_a_verdict_for_each_variant(
    folder: CampaignFolder,
) -> None:
    claims = [
        claim("real-time", "does-not-hold", value=9.4, low=8.0, high=10.25, unit="ms"),
        claim("micro-batch", "cannot-be-told"),
    ]
    lines = summary_lines(reproduction(claims=claims), folder)
    start = next(i for i, line in enumerate(lines) if "344 ms at the median" in line)
    assert lines[start + 1].split() == [
        *("real-time", "eager", "does", "not", "hold", "9.4", "(8.0", "to", "10.2)", "ms")
    ]
    assert lines[start + 2].split()[2:] == ["cannot", "be", "told", "Why."]
    assert "preliminary" not in lines[0]


def test_a_quick_look_is_called_preliminary(folder: CampaignFolder) -> None:
    claims = [
        claim("real-time", "holds", preliminary=True),
        claim("micro-batch", "does-not-hold", preliminary=True),
    ]
    lines = summary_lines(reproduction(preliminary=True, claims=claims), folder)
    assert "preliminary" in lines[0]
    told = "\n".join(lines)
    assert "seems to hold 1, seems not to hold 0" in told
    assert told.count("seems to hold ") + told.count("seems not to hold ") == 6


def test_what_is_testable_nowhere_is_said_once(folder: CampaignFolder) -> None:
    claims = [claim(mode, "not-testable") for mode in ("real-time", "micro-batch")]
    lines = summary_lines(reproduction(claims=claims), folder)
    assert [line for line in lines if "not testable here:" in line] == [
        "    not testable here: Why."
    ]


def test_medians_stand_beside_the_papers(folder: CampaignFolder) -> None:
    lines = summary_lines(reproduction(), folder)
    (row,) = (line for line in lines if line.startswith("join "))
    assert row.split() == ["join", "1,298", "4.2", "(3.5", "to", "5.0;", "4", "of", "5)", "–"]


def test_of_many_runs_warnings_are_counted_and_invalid_ones_named(folder: CampaignFolder) -> None:
    doubts = [
        {"id": "late-publisher", "severity": "warning", "says": "Late."},
        {"id": "outputs-wrong", "severity": "invalid", "says": "Of the outputs 2 missing."},
    ]
    variant = {"engine": "spark", "mode": "real-time", "dialect": "eager"}
    entries: list[dict[str, Any]] = [
        {**kept(folder, 1, run("join", doubts=doubts[:1])), **variant},
        {**kept(folder, 2, run("join", doubts=doubts)), **variant},
        {"path": "runs/3-join", "stage": "join", "ended": None, **variant},
    ]
    lines = summary_lines(reproduction(runs=entries), folder)
    assert "invalid  runs/2-join real-time eager: Of the outputs 2 missing." in lines
    assert "not run  runs/3-join" in lines
    assert "warning  of 3 runs: late-publisher in 2 (the report says each)" in lines
