"""Figures, prices and effects of a campaign's runs: each from the runs it is said to be from."""

from __future__ import annotations

import pytest

from contract.results import MEASURES
from contract.variant import Variant
from evaluator.comparisons import PRICED, effects, figures, prices
from evaluator.estimates import Samples
from tests.unit.evaluator.test_claims import EAGER, PAPER, STAGES, WINDOWED, samples

BATCH_EAGER = Variant("spark", "micro-batch", "eager")


def several() -> Samples:
    """Three variants: slower by execution, slower still by dialect."""
    runs = [
        run
        for variant, share in ((WINDOWED, 1.0), (EAGER, 0.01), (BATCH_EAGER, 0.4))
        for run in samples(tuple(share * v for v in PAPER), variant=variant).runs
    ]
    return Samples(runs, [EAGER, WINDOWED, BATCH_EAGER])


def test_a_figure_is_told_of_each_stage_variant_and_measure() -> None:
    rows = figures(several())
    assert len(rows) == 3 * len(STAGES) * len(MEASURES)
    assert [Variant.of(row) for row in rows[:: len(STAGES) * len(MEASURES)]] == [
        *(EAGER, WINDOWED, BATCH_EAGER)
    ]
    for row in rows:
        assert row["low_ms"] <= row["p50_ms"] <= row["high_ms"]
        assert row["p50_ms_min"] <= row["p50_ms"] <= row["p50_ms_max"]
        assert (row["runs"], row["valid_runs"], row["method"]) == (5, 5, "runs")


def test_a_figure_is_the_mean_of_its_runs_medians() -> None:
    found = samples()
    row = next(r for r in figures(found) if (r["stage"], r["attribution"]) == ("join", "last"))
    medians = [run.latency_ms["last"]["p50"] for run in found.runs if run.stage == "join"]
    assert row["p50_ms"] == pytest.approx(sum(medians) / 5)


def test_a_price_is_the_difference_of_neighbouring_figures() -> None:
    rows = prices(several())
    assert len(rows) == 3 * (len(STAGES) - 1) * len(PRICED)
    found = {(r["stage"], r["attribution"]): r for r in rows if Variant.of(r) == WINDOWED}
    assert found["join", "last"]["price_ms"] == pytest.approx(834, rel=0.05)
    assert {r["verdict"] for r in found.values()} == {"costs"}


def test_what_cannot_be_told_from_zero_is_said_to_be_so() -> None:
    rows = prices(samples((292, 293, 1298, 1000, 2344), scatter=0.02))
    found = {r["stage"]: r["verdict"] for r in rows if r["attribution"] == "last"}
    assert found == {
        "parse": "cannot-be-told",
        "join": "costs",
        "tumbling": "saves",
        "sliding": "costs",
    }
    few = prices(samples(runs=2))
    assert {r["verdict"] for r in few} == {"too-few-runs"}


def test_execution_and_dialect_are_told_apart_each_at_the_other_held_fast() -> None:
    rows = [r for r in effects(several()) if r["attribution"] == "mean" and r["stage"] == "join"]
    told = {r["of"]: (Variant.of(r["from"]), Variant.of(r["to"])) for r in rows}
    assert told == {"execution": (EAGER, BATCH_EAGER), "dialect": (BATCH_EAGER, WINDOWED)}
    differences = {r["of"]: r["difference_ms"] for r in rows}
    assert differences["execution"] == pytest.approx(0.39 * 1298, rel=0.05)
    assert differences["dialect"] == pytest.approx(0.6 * 1298, rel=0.05)
    assert {r["verdict"] for r in rows} == {"slower"}


def test_variants_that_differ_in_both_tell_of_neither() -> None:
    runs = [*samples(variant=EAGER).runs, *samples(variant=WINDOWED).runs]
    assert effects(Samples(runs)) == []


def test_an_effect_needs_valid_runs_on_both_sides() -> None:
    runs = [
        *samples(variant=EAGER).runs,
        *samples(variant=BATCH_EAGER, invalid=("join",)).runs,
    ]
    stages = {r["stage"] for r in effects(Samples(runs))}
    assert stages == set(STAGES) - {"join"}
