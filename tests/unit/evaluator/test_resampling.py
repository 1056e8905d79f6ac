"""The slots of a single run, resampled: exact at its quantiles, bounded, the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.resampling import Histogram

MEDIAN = {"p50": 0.5}


def only(one_slot: Histogram, quantile: float = 0.5) -> float:
    """The quantile that every resample of a single slot has."""
    (found,) = set(one_slot.resampled_ms({"q": quantile}, np.random.default_rng(0))["q"])
    return float(found)


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.75, 0.95])
def test_a_quantile_is_that_of_the_samples_to_a_tenth_of_a_millisecond(quantile: float) -> None:
    samples = np.random.default_rng(3).exponential(20, 2001)
    found = Histogram.of([(np.zeros(2001, np.int64), samples)])
    assert found is not None
    assert only(found, quantile) == pytest.approx(np.quantile(samples, quantile), abs=0.15)


def test_of_an_even_number_the_median_lies_between_the_middle_two() -> None:
    found = Histogram.of([(np.zeros(4, np.int64), np.array([-3.0, 1.0, 2.0, 50.0]))])
    assert found is not None
    assert only(found) == pytest.approx(1.5)


def test_parts_make_the_same_histogram_as_the_whole() -> None:
    slot, ms = np.arange(100) // 10, np.random.default_rng(1).exponential(9, 100)
    whole = Histogram.of([(slot, ms)])
    parts = Histogram.of([(slot[:55], ms[:55]), (slot[55:], ms[55:])])
    assert whole is not None and parts is not None
    assert (whole.counts == parts.counts).all()
    assert Histogram.of([(slot, np.full(100, np.nan))]) is None


def test_long_runs_and_many_values_stay_bounded() -> None:
    slot = np.repeat(np.arange(2000), 30)
    ms = np.random.default_rng(1).uniform(0, 1e5, slot.size)
    found = Histogram.of([(slot, ms)])
    assert found is not None
    assert found.counts.shape[0] <= 300 and found.counts.shape[1] <= 20_000
    assert found.counts.sum() == slot.size
    told = np.repeat(found.values_ms, found.counts.sum(axis=0))
    assert np.median(told) == pytest.approx(np.median(ms), rel=0.01)


def test_slots_that_differ_scatter_the_median() -> None:
    slot = np.repeat(np.arange(30), 50)
    level = np.random.default_rng(2).normal(10, 0.5, 30)[slot]
    found = Histogram.of([(slot, level + np.random.default_rng(3).exponential(1, slot.size))])
    assert found is not None
    drawn = found.resampled_ms(MEDIAN, np.random.default_rng(1))["p50"]
    again = found.resampled_ms(MEDIAN, np.random.default_rng(1))["p50"]
    assert drawn.size == 2000 and 0.02 < drawn.std() < 0.5
    assert (drawn == again).all(), "the same seed gives the same resamples"


def test_quantiles_of_one_resample_belong_together() -> None:
    slot = np.repeat(np.arange(20), 40)
    found = Histogram.of([(slot, np.random.default_rng(5).exponential(9, slot.size))])
    assert found is not None
    drawn = found.resampled_ms({"p75": 0.75, "p95": 0.95}, np.random.default_rng(1))
    assert (drawn["p95"] > drawn["p75"]).all()
