"""Claims: each test says what the runs say, and says so when they cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from contract.claims import BadClaims, Claim, Verdict, papers_on, read_paper
from contract.results import MEASURES, QUANTILES, RunFolder
from contract.variant import Variant
from evaluator.claims import claims
from evaluator.estimates import EndedRun, Samples

STAGES = ("ingest", "parse", "join", "tumbling", "sliding")
EAGER = Variant("spark", "real-time", "eager")
WINDOWED = Variant("spark", "micro-batch", "windowed")
#: the paper's own medians
PAPER = (292, 464, 1298, 1856, 2344)


def run(stage: str, variant: Variant, p50_ms: float, spread: float, valid: bool) -> EndedRun:
    """A run whose quantiles lie around its median."""
    at = {name: p50_ms + (q - 0.5) * spread for name, q in QUANTILES}
    block = {"count": 1000, "avg": p50_ms, **at}
    blocks = dict.fromkeys(MEASURES, block)
    told = {"workload": "traffic", "stage": stage, "valid": valid, "latency_ms": blocks}
    return EndedRun(RunFolder(Path("nowhere")), variant, told)


def samples(
    medians_ms: tuple[float, ...] = PAPER,
    *,
    variant: Variant = WINDOWED,
    scatter: float = 0.01,
    runs: int = 5,
    spreads: tuple[float, ...] = (10, 20, 30, 40, 50),
    invalid: tuple[str, ...] = (),
) -> Samples:
    draws = np.random.default_rng(1)
    return Samples(
        [
            run(stage, variant, m * (1 + scatter * draws.normal()), s, stage not in invalid)
            for _ in range(runs)
            for stage, m, s in zip(STAGES, medians_ms, spreads, strict=True)
        ]
    )


def verdicts(found: Samples) -> dict[str, str]:
    return {row["claim"]: row["verdict"] for row in claims(found, "traffic")}


def told(found: Samples, claim: str) -> dict[str, object]:
    return next(row for row in claims(found, "traffic") if row["claim"] == claim)


def test_the_paper_confirms_itself() -> None:
    found = verdicts(samples())
    testable = {"prefix-order", "dearest-join", "join-against-parse", "tumbling-waits",
                "spread-upper", "spread-whole", "end-to-end"}  # fmt: skip
    assert {name for name, verdict in found.items() if verdict == "holds"} == testable
    assert found["cluster"] == "not-testable"


@pytest.mark.parametrize(
    ("claim", "medians_ms", "verdict"),
    [
        ("prefix-order", (292, 464, 1298, 900, 2344), "does-not-hold"),
        ("prefix-order", (292, 464, 1298, 1299, 2344), "cannot-be-told"),
        ("dearest-join", (292, 464, 800, 2500, 2900), "does-not-hold"),
        ("dearest-join", (292, 464, 800, 1136, 1400), "cannot-be-told"),
        ("join-against-parse", (292, 464, 700, 1856, 2344), "does-not-hold"),
        ("join-against-parse", (292, 293, 700, 1856, 2344), "cannot-be-told"),
        ("tumbling-waits", (292, 464, 1298, 1500, 2344), "does-not-hold"),
        ("tumbling-waits", (292, 464, 1298, 1798, 2344), "cannot-be-told"),
        ("end-to-end", (29, 46, 129, 185, 234), "does-not-hold"),
    ],
)
def test_each_claim_can_fail(claim: str, medians_ms: tuple[float, ...], verdict: Verdict) -> None:
    found = told(samples(medians_ms, scatter=0.02), claim)
    assert found["verdict"] == verdict
    assert str(found["says"]).endswith("."), "a verdict comes with a sentence"


def test_a_spread_that_shrinks_refutes_its_claims_only() -> None:
    found = verdicts(samples(spreads=(400, 300, 200, 100, 50)))
    assert found["spread-upper"] == found["spread-whole"] == "does-not-hold"
    assert found["prefix-order"] == "holds"


def test_what_does_not_wait_is_not_put_to_a_test_of_waiting() -> None:
    found = told(samples(variant=EAGER), "tumbling-waits")
    assert found["verdict"] == "not-testable" and "eager" in str(found["says"])


def test_a_wide_interval_confirms_no_figure() -> None:
    found = told(samples(scatter=0.6, runs=3), "end-to-end")
    assert found["verdict"] in ("cannot-be-told", "does-not-hold")


def test_a_stage_without_a_valid_run_is_named_where_it_is_needed() -> None:
    found = samples(invalid=("sliding",))
    assert told(found, "prefix-order")["says"] == "There is no valid run of sliding."
    assert told(found, "tumbling-waits")["verdict"] == "holds"
    assert told(found, "end-to-end")["verdict"] == "cannot-be-told"


def test_fewer_runs_than_a_verdict_takes_make_it_preliminary() -> None:
    assert told(samples(runs=2), "end-to-end")["preliminary"] is True
    assert told(samples(runs=3), "end-to-end")["preliminary"] is False
    assert told(samples(runs=2), "cluster")["preliminary"] is False


def test_every_stage_that_is_told_of_has_an_interval() -> None:
    for row in claims(samples(), "traffic"):
        for each in [row, *row["by_stage"]]:
            if each["value"] is not None:
                assert each["low"] <= each["value"] <= each["high"]


def test_each_variant_is_told_in_the_order_planned() -> None:
    both = [*samples(variant=WINDOWED).runs, *samples(variant=EAGER).runs]
    found = claims(Samples(both, [EAGER, WINDOWED]), "traffic")
    assert [Variant.of(row) for row in found[:2]] == [EAGER, WINDOWED]


def test_what_is_stated_is_whole() -> None:
    (paper,) = papers_on("traffic")
    assert tuple(paper.p50_ms.values()) == PAPER and tuple(paper.p50_ms) == STAGES
    assert papers_on("nothing") == []
    for claim in paper.claims:
        assert isinstance(claim, Claim) and claim.says.endswith(".")
        assert not claim.needs or claim.lacking


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('kind = "dearest", stage = "join"', 'kind = "dearest", stage = "joyn"'),
        ('kind = "dearest"', 'kind = "cheapest"'),
        ('statistic = "p50"', 'statistic = "p51"'),
        ('id = "end-to-end"', 'id = "prefix-order"'),
        ("[paper]", "[papers]"),
        ("over_ms = 500", 'over = "500"'),
        ("[[claim]]", "[[claim]"),
    ],
)
def test_a_file_of_claims_that_is_amiss_is_refused(tmp_path: Path, before: str, after: str) -> None:
    source = Path(papers_on.__code__.co_filename).parent / "vandongen-2018.toml"
    text = source.read_text(encoding="utf-8")
    assert before in text
    (tmp_path / "bad.toml").write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(BadClaims, match=r"bad\.toml is no file of claims"):
        read_paper(tmp_path / "bad.toml")
