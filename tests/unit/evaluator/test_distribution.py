"""Quantiles are exact: what numpy says of the single values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contract.results import QUANTILES
from evaluator.distribution import Distribution

SAMPLES = st.lists(st.integers(-50, 5000).map(lambda x: x / 4), min_size=1, max_size=300)


@given(SAMPLES)
def test_quantiles_are_numpy_s_to_the_bit(samples: list[float]) -> None:
    found = Distribution.of(np.array(samples))
    for _, q in QUANTILES:
        assert found.quantile(q) == np.quantile(samples, q)
    assert found.quantile(1.0) == max(samples)


@given(st.lists(SAMPLES, max_size=5))
def test_parts_merged_are_the_whole(parts: list[list[float]]) -> None:
    merged = Distribution.merged(Distribution.of(np.array(part)) for part in parts)
    whole = Distribution.of(np.array([x for part in parts for x in part]))
    assert merged.summary() == whole.summary()


def test_of_nothing_all_is_null() -> None:
    told = Distribution.of(np.array([np.nan])).summary()
    assert told.pop("count") == 0
    assert set(told.values()) == {None}
