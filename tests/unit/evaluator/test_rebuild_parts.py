"""What judges again agrees with what judged, on whatever it is given; each by its own code."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.workload import FieldType
from evaluator.appended import disorder_ms
from evaluator.rebuild.appending import Arrivals, Stamps
from evaluator.rebuild.matching import same
from evaluator.rebuild.pauses import Course, pauses
from evaluator.rebuild.piles import Piles
from evaluator.rebuild.timing import Timing
from evaluator.stalls import Outputs, find_stalls
from evaluator.workload import NO_SECOND

TIMING = Timing(1000.0, 100, 500.0, 9, (2, 7), True)
#: outputs come in bursts with pauses of up to seconds between
STEPS = st.lists(
    st.tuples(st.sampled_from([1, 2, 5, 40, 99, 150, 400, 2500]), st.integers(-5, 3000)),
    min_size=2,
    max_size=60,
)


@given(STEPS, st.lists(st.integers(0, 30_000), max_size=40), st.floats(0.5, 80))
def test_stalls_are_found_alike(
    steps: list[tuple[int, int]], inputs: list[int], median_ms: float
) -> None:
    at_ms = np.cumsum([step for step, _ in steps])
    last_ms = [float(last) for _, last in steps]
    span_ms, fed_ms = (300.0, 20_000.0), sorted(set(inputs))
    told = find_stalls(
        Outputs(at_ms.astype(np.int64), np.array(last_ms)),
        np.array(fed_ms, np.int64),
        span_ms,
        median_ms,
    )
    course = Course(dict(zip(at_ms.tolist(), last_ms, strict=True)))
    found = pauses(course, fed_ms, span_ms, median_ms)
    assert found == [(stall.start_ms, stall.end_ms, stall.gap_ms) for stall in told]


def read_inputs(rows: list[tuple[int, int | None]]) -> pa.Table:
    """Append time and event time in µs, as the judge gives them."""
    seconds = [NO_SECOND if us is None else us // 1_000_000 for _, us in rows]
    return pa.table(
        {
            "timestamp_ms": pa.array([ms for ms, _ in rows], pa.int64()),
            "event_us": pa.array([us or 0 for _, us in rows], pa.int64()),
            "second": pa.array(seconds, pa.int64()),
            "well_formed": pa.array([us is not None for _, us in rows], pa.bool_()),
        }
    )


ROWS = st.lists(
    st.tuples(st.integers(0, 50), st.one_of(st.none(), st.integers(100_000_000, 109_000_000))),
    min_size=1,
    max_size=60,
)


@given(ROWS, st.integers(1, 5))
def test_arrivals_are_counted_alike(rows: list[tuple[int, int | None]], batches: int) -> None:
    arrivals = Arrivals(TIMING)
    for start in range(batches):
        arrivals.add(read_inputs(rows[start::batches]))
    timed = [(ms, us) for ms, us in rows if us is not None]
    event_ms = np.array([us for _, us in timed], np.float64) / 1000
    at_ms = np.array([ms for ms, _ in timed], np.int64)
    # µs in a double of ms are not exact; records say ms, which are
    assert arrivals.disorder_ms() == pytest.approx(disorder_ms(at_ms, event_ms, event_ms))
    assert arrivals.malformed == len(rows) - len(timed)
    assert arrivals.at_ms() == sorted({ms for ms, _ in rows})
    slots = [us // 1_000_000 - 100 for _, us in timed]
    assert arrivals.of_slot == {slot: slots.count(slot) for slot in set(slots)}
    for slot, end_ms in arrivals.window_ends_ms().items():
        later = [ms for (ms, _), other in zip(timed, slots, strict=True) if other > slot]
        assert end_ms == min(later, default=None)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300)), min_size=1, max_size=60))
def test_a_time_that_falls_back_along_a_partition_is_seen(rows: list[tuple[int, int]]) -> None:
    """In whatever order its records are read."""
    stamps, worst = Stamps(), 0
    for place, (partition, at_ms) in enumerate(rows):
        before = [ms for other, ms in rows[:place] if other == partition]
        worst = max(worst, max(before, default=at_ms) - at_ms)
    for place in reversed(range(len(rows))):
        partition, at_ms = rows[place]
        stamps.add(
            pa.table(
                {
                    "topic": ["t"],
                    "partition": pa.array([partition], pa.int32()),
                    "offset": [place],
                    "timestamp_ms": [at_ms],
                    "timestamp_type": pa.array([1], pa.int32()),
                }
            )
        )
    assert stamps.back_ms_max() == worst and stamps.types == {1}


@pytest.mark.parametrize(
    ("wanted", "got", "kind", "agree"),
    [
        (None, None, "double", True),
        (None, 0.0, "double", False),
        (0.0, None, "double", False),
        (1.0, 1.0 + 1e-10, "double", True),
        (1.0, 1.0 + 1e-8, "double", False),
        (0.0, 1e-13, "double", True),
        (0.0, 1e-11, "double", False),
        (2**53, 2**53 + 1, "long", False),
        (None, None, "long", True),
        ("a", "a", "string", True),
        ("a", "A", "string", False),
        (1_000_000, 1_000_001, "timestamp", False),
    ],
)
def test_fields_are_compared_value_by_value(
    wanted: object, got: object, kind: FieldType, agree: bool
) -> None:
    assert same(wanted, got, kind) is agree


@given(st.lists(st.sampled_from(["", "a", "b/1", "ä"]), max_size=40), st.integers(1, 6))
def test_a_location_is_on_one_pile(locations: list[str], number: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        piles = Piles("x", number, Path(scratch))
        schema = pa.schema([("location", pa.string()), ("row", pa.int64())])
        rows = pa.table([locations, list(range(len(locations)))], schema=schema)
        for start in range(0, len(locations), 7):
            piles.add(rows.slice(start, 7))
        taken = [piles.take(pile, schema) for pile in range(number)]
        held = [set(table["location"].to_pylist()) for table in taken]
        assert sum(map(len, held)) == len(set(locations))
        assert sorted(row for t in taken for row in t["row"].to_pylist()) == [
            *range(len(locations))
        ]
        assert list(Path(scratch).iterdir()) == []
