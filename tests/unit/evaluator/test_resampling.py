"""Intervals hold what they should; a verdict needs three runs."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.prices import Estimate, Histogram, estimate, price


def run_of(median_ms: float, seed: int, slots: int = 30, each: int = 50) -> Histogram:
    rng = np.random.default_rng(seed)
    slot = np.repeat(np.arange(slots), each)
    level = rng.normal(median_ms, 0.5, slots)[slot]
    found = Histogram.of([(slot, level + rng.exponential(1.0, slot.size) - np.log(2))])
    assert found is not None
    return found


def of(medians: list[float], seed: int) -> Estimate:
    runs = [run_of(m, seed + i) for i, m in enumerate(medians)]
    return estimate(runs, medians, np.random.default_rng(seed))


def only_median_ms(one_slot: Histogram) -> float:
    """The median that every resample of a single slot has."""
    (found,) = set(one_slot.resampled_ms(np.random.default_rng(0)))
    return float(found)


def test_the_median_is_that_of_the_samples_to_a_tenth_of_a_millisecond() -> None:
    samples = np.random.default_rng(3).exponential(20, 2001)
    found = Histogram.of([(np.zeros(2001, np.int64), samples)])
    assert found is not None
    assert only_median_ms(found) == pytest.approx(np.median(samples), abs=0.05)


def test_of_an_even_number_the_median_lies_between_the_middle_two() -> None:
    found = Histogram.of([(np.zeros(4, np.int64), np.array([-3.0, 1.0, 2.0, 50.0]))])
    assert found is not None
    assert only_median_ms(found) == pytest.approx(1.5)


def test_parts_make_the_same_histogram_as_the_whole() -> None:
    slot, ms = np.arange(100) // 10, np.random.default_rng(1).exponential(9, 100)
    whole, parts = (
        Histogram.of([(slot, ms)]),
        Histogram.of([(slot[:55], ms[:55]), (slot[55:], ms[55:])]),
    )
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


def test_the_point_is_the_exact_median_that_the_run_tells() -> None:
    told = estimate([run_of(10.0, 1)], [10.0123], np.random.default_rng(1))
    assert told.p50_ms == 10.0123
    two = estimate([run_of(10.0, 1), run_of(11.0, 2)], [10.01, 11.03], np.random.default_rng(1))
    assert two.p50_ms == pytest.approx(10.52)


def test_one_run_is_resampled_by_slots_several_by_runs() -> None:
    one, several = of([10.0], 1), of([10.0, 10.2, 9.9], 2)
    assert (one.method, several.method) == ("slots", "runs")
    for found in (one, several):
        assert found.low_ms <= found.p50_ms <= found.high_ms
        assert 0 < found.high_ms - found.low_ms < 2


def test_the_interval_of_several_runs_sees_how_they_differ() -> None:
    alike, apart = of([10.0, 10.0, 10.0], 1), of([5.0, 10.0, 15.0], 1)
    assert apart.high_ms - apart.low_ms > 3 * (alike.high_ms - alike.low_ms)


def test_below_three_runs_no_verdict_is_given() -> None:
    told = price(of([20.0, 20.0], 1), of([5.0, 5.0, 5.0], 9))
    assert told.verdict == "too-few-runs"
    assert told.price_ms == pytest.approx(15, abs=1)


@pytest.mark.parametrize(
    ("stage_ms", "predecessor_ms", "verdict"),
    [(20.0, 5.0, "costs"), (5.0, 20.0, "saves"), (10.0, 10.0, "cannot-be-told")],
)
def test_a_price_is_told_where_its_interval_leaves_out_0(
    stage_ms: float, predecessor_ms: float, verdict: str
) -> None:
    told = price(of([stage_ms] * 3, 1), of([predecessor_ms] * 3, 20))
    assert told.verdict == verdict
    assert told.low_ms <= told.price_ms <= told.high_ms


def test_the_same_seed_gives_the_same_interval() -> None:
    first, second = of([10.0, 11.0], 4), of([10.0, 11.0], 4)
    assert (first.low_ms, first.high_ms) == (second.low_ms, second.high_ms)
