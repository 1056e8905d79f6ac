"""How far records came out of order, and whether a clock went back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from evaluator.appended import AppendClock, Stamps, disorder_ms


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([], 0),
        ([(0, 0), (1, 100), (2, 200)], 0),
        ([(0, 100), (1, 30), (2, 200)], 70),
        ([(0, 100), (0, 30)], 0),  # in one millisecond nobody can tell the order
        ([(0, 500), (1, 600), (2, 450), (9, 590)], 150),
    ],
)
def test_disorder_is_how_far_event_time_falls_behind(
    records: list[tuple[int, int]], found: float
) -> None:
    at_ms = np.array([at for at, _ in records], np.int64)
    event_ms = np.array([event for _, event in records], np.float64)
    assert disorder_ms(at_ms, event_ms, event_ms) == found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_clock_goes_back_only_along_a_partition(size: int) -> None:
    names = ("topic", "partition", "offset", "timestamp_ms", "timestamp_type")
    rows = [
        ("a", 0, 0, 100, 1),
        ("a", 0, 1, 170, 1),
        ("a", 0, 2, 120, 1),
        ("a", 1, 0, 10, 1),
        ("b", 0, 0, 5, 0),
    ]
    held = [dict(zip(names, row, strict=True)) for row in rows]
    stamps = Stamps()
    # batches of consecutive offsets, in whatever order
    for start in reversed(range(0, len(held), size)):
        stamps.add(pa.Table.from_pylist(held[start : start + size]))
    assert stamps.clock() == AppendClock(50, (0, 1))
