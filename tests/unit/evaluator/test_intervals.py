"""Intervals over independent runs hold what they should, and are what the tables say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.doubts import CLOCK_GRAIN_MS
from evaluator.intervals import Sampled, combined, of_runs, ratio, student
from evaluator.verify_intervals import critical, interval

#: two-sided 95 % values as any table of Student's t has them
TABLE = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645, 9: 2.26216, 30: 2.04227, 120: 1.97993}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize(("freedom", "value"), TABLE.items())
def test_students_values_are_those_of_the_table(freedom: int, value: float) -> None:
    assert student(freedom) == pytest.approx(value, abs=1e-4)


def test_with_endless_degrees_of_freedom_student_is_normal() -> None:
    assert student(math.inf) == pytest.approx(1.959964, abs=1e-6)
    assert student(1e6) == pytest.approx(1.959964, abs=1e-4)


@given(st.floats(1, 1e6))
def test_both_ways_to_students_value_agree(freedom: float) -> None:
    assert critical(freedom) == pytest.approx(student(freedom), rel=1e-4)


RUNS = st.lists(st.floats(0, 1e4), min_size=2, max_size=8)


@given(RUNS, RUNS)
def test_both_ways_to_a_difference_agree(own: list[float], before: list[float]) -> None:
    weights = {"own": 1.0, "before": -1.0}
    told = combined({"own": Sampled((*own,)), "before": Sampled((*before,))}, weights, rng())
    found = interval({"own": own, "before": before}, weights)
    size = max(1.0, abs(told.value), told.high - told.low)
    for one, other in zip((told.value, told.low, told.high), found, strict=True):
        assert abs(one - other) < 1e-4 * size


def test_repetitions_that_agree_leave_the_clocks_grain() -> None:
    told = combined({"a": Sampled((4.0, 4.0, 4.0))}, {"a": 1}, rng())
    half = 1.959964 * CLOCK_GRAIN_MS / math.sqrt(12)
    assert told.low == pytest.approx(4 - half) and told.high == pytest.approx(4 + half)
    price = combined({"a": Sampled((4.0,) * 3), "b": Sampled((3.0,) * 3)}, {"a": 1, "b": -1}, rng())
    assert price.high - price.low == pytest.approx(2 * half * math.sqrt(2))


def test_a_spread_holds_two_readings_of_the_clock() -> None:
    one, two = (
        combined({"a": Sampled((4.0, 4.0, 4.0), readings=r)}, {"a": 1}, rng()) for r in (1, 2)
    )
    assert two.high - two.low == pytest.approx((one.high - one.low) * math.sqrt(2))


@pytest.mark.parametrize("runs", [3, 5])
def test_nineteen_of_twenty_intervals_hold_the_truth(runs: int) -> None:
    draws = np.random.default_rng(11)
    hit = 0
    for _ in range(800):
        a = Sampled(tuple(draws.normal(30, 4, runs)))
        b = Sampled(tuple(draws.normal(10, 1, runs)))
        told = combined({"a": a, "b": b}, {"a": 1, "b": -1}, draws)
        hit += told.low <= 20 <= told.high
    assert 0.925 < hit / 800 < 0.99


def test_a_ratios_interval_holds_the_truth() -> None:
    draws = np.random.default_rng(12)
    hit = asked = 0
    for _ in range(600):
        of = {
            "i": Sampled(tuple(draws.normal(80, 4, 5))),
            "p": Sampled(tuple(draws.normal(150, 5, 5))),
            "j": Sampled(tuple(draws.normal(500, 20, 5))),
        }
        told = ratio(of, {"j": 1, "p": -1}, {"p": 1, "i": -1}, draws)
        if told is not None:
            asked += 1
            hit += told.low <= 5 <= told.high
    assert asked > 550 and 0.925 < hit / asked < 0.99


def test_over_what_cannot_be_told_from_zero_there_is_no_ratio() -> None:
    of = {"i": Sampled((3.0, 4.0, 5.0)), "p": Sampled((4.0, 3.0, 5.0)), "j": Sampled((9.0,) * 3)}
    assert ratio(of, {"j": 1, "p": -1}, {"p": 1, "i": -1}, rng()) is None


def test_a_single_run_is_told_by_its_slots() -> None:
    drawn = np.random.default_rng(1).normal(10, 0.5, 2000)
    told = combined({"a": Sampled((10.0,), drawn)}, {"a": 1}, rng())
    assert (told.method, told.runs) == ("slots", 1)
    assert 8.5 < told.low < 9.2 and 10.8 < told.high < 11.5


def test_one_run_beside_several_is_told_by_resampling() -> None:
    drawn = np.random.default_rng(1).normal(10, 0.5, 2000)
    of = {"a": Sampled((10.0,), drawn), "b": Sampled((4.0, 5.0, 6.0))}
    told = combined(of, {"a": 1, "b": -1}, rng())
    assert (told.method, told.runs, told.value) == ("slots", 1, 5.0)
    assert told.low < 4 and told.high > 6, "what the several runs scatter counts"


@given(st.permutations(["a", "b", "c"]))
def test_the_order_in_which_stages_are_named_changes_nothing(names: list[str]) -> None:
    drawn = np.random.default_rng(1).normal(10, 0.5, 200)
    of = {name: Sampled((10.0,), drawn * i) for i, name in enumerate("abc", 1)}
    told = combined(of, {name: {"a": 1.0, "b": -2.0, "c": 1.0}[name] for name in names}, rng())
    assert told == combined(of, {"a": 1.0, "b": -2.0, "c": 1.0}, rng())
    over = ratio(of, dict.fromkeys(names, 1.0), {"a": 1.0}, rng())
    assert over == ratio(of, {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0}, rng())


def test_a_value_lies_within_its_interval_however_it_was_drawn() -> None:
    told = combined({"a": Sampled((50.0,), np.full(2000, 10.0))}, {"a": 1}, rng())
    assert told.low <= told.value <= told.high == 50.0


def test_there_is_no_sample_without_a_run() -> None:
    assert of_runs([None, None]) is None
    assert of_runs([None, 3.0, 5.0]) == Sampled((3.0, 5.0))
    with pytest.raises(ValueError, match="no run"):
        Sampled(())
