"""What a latency is made of: three parts, none negative in a lawful run, that sum to `mean`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.results import LATENCY_COLUMNS, MEASURES, PARTS
from evaluator.latency import measures_ms, parquet_schema, write_latency
from evaluator.quantities import latencies_ms, latency_blocks
from evaluator.window_ends import WindowEnds

AT_MS = 1_763_465_000_000
#: slot, when its records were appended, what its window waits for besides, the engine's own
Run = list[tuple[int, list[int], int]]
records = st.lists(st.integers(0, 5_000), min_size=1, max_size=6)
runs = st.lists(st.tuples(st.integers(0, 30), records, st.integers(0, 9_000)), min_size=1)


def sampled(run: Run, *, windowed: bool) -> tuple[pa.Table, WindowEnds]:
    """As a good engine would have answered: an output a group of inputs."""
    slot = np.array([slot for slot, came, _ in run for _ in came], np.int64)
    at_ms = np.array([AT_MS + ms for _, came, _ in run for ms in came], np.int64)
    ends = WindowEnds.of(slot, at_ms)
    rows = []
    for one, came, own_ms in run:
        last_ms = AT_MS + max(came)
        later = [ms for s, all_ms, _ in run for ms in all_ms if s > one]
        end_ms = AT_MS + min(later) if windowed and later else None
        row = dict.fromkeys(name for name, _ in LATENCY_COLUMNS)
        row |= {"slot": one, "input_last_ms": last_ms, "window_end_ms": end_ms, "in_stall": False}
        row |= {"input_mean_ms": AT_MS + sum(came) / len(came), "due_ms": float(AT_MS)}
        rows.append(row | {"output_ms": max(last_ms, end_ms or last_ms) + own_ms})
    return pa.Table.from_pylist(rows, parquet_schema(LATENCY_COLUMNS)), ends


@given(runs, st.booleans())
def test_the_parts_of_a_lawful_run_are_never_negative_and_sum_to_the_mean(
    run: Run, windowed: bool
) -> None:
    table, ends = sampled(run, windowed=windowed)
    found = measures_ms(table)
    assert set(found) == set(MEASURES)
    assert all((found[name] >= 0).all() for name in PARTS)
    assert np.allclose(sum(found[name] for name in PARTS), found["mean"], rtol=0, atol=1e-3)
    if not windowed:
        assert not found["residence"].any() and (found["engine"] == found["last"]).all()
    elif len({slot for slot, _, _ in run}) > 1:
        assert ends.after(table["slot"].to_numpy()).equals(table["window_end_ms"].combine_chunks())


@given(runs, st.booleans())
def test_both_implementations_measure_alike(run: Run, windowed: bool) -> None:
    table, _ = sampled(run, windowed=windowed)
    verified = latencies_ms(table)
    for name, found in measures_ms(table).items():
        assert (found == verified[name]).all()


def test_a_window_may_close_when_the_first_record_of_any_later_slot_is_there() -> None:
    ends = WindowEnds.of(np.array([0, 1, 3, 2, 0, 3]), np.array([5, 12, 31, 40, 50, 60]))
    found = ends.after(np.array([-1, 0, 1, 2, 3, 4])).to_pylist()
    # slot 2 was late: slot 3 was seen before it, and closed both windows before
    assert found == [5, 12, 31, 31, None, None]


def test_without_records_no_window_closes() -> None:
    nothing = np.empty(0, np.int64)
    assert WindowEnds.of(nothing, nothing).after(np.array([1, 2])).to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("output_ms", "hasty", "most_ms"),
    [([130, 240], 0, 0.0), ([99, 240], 1, 1.0), ([60, 150], 2, 50.0), ([100, 200], 0, 0.0)],
)
def test_what_comes_before_its_window_can_close_is_counted(
    tmp_path: Path, output_ms: list[int], hasty: int, most_ms: float
) -> None:
    table, _ = sampled([(0, [0, 40], 0), (1, [90, 95], 0)], windowed=True)
    table = table.drop_columns(["window_end_ms", "in_stall", "output_ms"])
    table = table.append_column("output_ms", pa.array(output_ms))
    ends = WindowEnds.of(np.array([1, 2]), np.array([100, 200]))
    found = write_latency([table], tmp_path / "latency.parquet", [], ends)
    assert (found.hasty, found.hasty_ms_max) == (hasty, most_ms)
    written = pq.read_table(tmp_path / "latency.parquet")
    assert written["window_end_ms"].to_pylist() == [100, 200]
    assert set(found.to_json()) == set(latency_blocks(written))


def test_a_window_that_never_could_close_is_not_kept(tmp_path: Path) -> None:
    table, _ = sampled([(0, [0], 5), (1, [90], 5)], windowed=True)
    drafted = table.drop_columns(["window_end_ms", "in_stall"])
    ends = WindowEnds.of(np.array([0, 1]), np.array([AT_MS, AT_MS + 90]))
    found = write_latency([drafted], tmp_path / "latency.parquet", [], ends)
    assert (found.hasty, found.hasty_ms_max) == (1, 0.0)
