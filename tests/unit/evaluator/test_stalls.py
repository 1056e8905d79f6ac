"""A stall is a gap behind which something waited, until it is worked off."""

from __future__ import annotations

import numpy as np

from evaluator.stalls import Outputs, Stall, find_stalls, in_any, stalls_to_json


def outputs_of(last_input_ms: list[int], stops: list[tuple[int, int]], latency_ms: int) -> Outputs:
    """What an engine puts out that takes `latency_ms`, and does nothing during the stops."""
    at_ms = np.array(last_input_ms) + latency_ms
    for start_ms, end_ms in stops:
        at_ms = np.where((at_ms >= start_ms) & (at_ms < end_ms), end_ms, at_ms)
    last_ms = at_ms - np.array(last_input_ms)
    times = np.unique(at_ms)
    return Outputs(times, np.array([last_ms[at_ms == t].max() for t in times], np.float64))


STEADY = list(range(0, 5000, 5))


def test_a_steady_engine_has_no_stall() -> None:
    found = outputs_of(STEADY, [], 6)
    assert find_stalls(found, np.array(STEADY), (0, 5000), 6.0) == []


def test_a_stop_is_found_with_what_piled_up() -> None:
    found = outputs_of(STEADY, [(2003, 2400)], 6)
    (stall,) = find_stalls(found, np.array(STEADY), (0, 5000), 6.0)
    assert stall == Stall(2001, 2401, 399)


def test_an_engine_with_nothing_to_do_does_not_stall() -> None:
    rare = list(range(0, 5000, 250))
    assert find_stalls(outputs_of(rare, [], 6), np.array(rare), (0, 5000), 6.0) == []


def test_a_gap_without_inputs_is_none() -> None:
    found = outputs_of(STEADY, [(2003, 2400)], 6)
    assert find_stalls(found, np.array([10, 4000]), (0, 5000), 6.0) == []


def test_a_gap_must_be_ten_medians() -> None:
    found = outputs_of(STEADY, [(2003, 2400)], 60)
    assert find_stalls(found, np.array(STEADY), (0, 5000), 60.0) == []


def test_gaps_outside_the_span_do_not_count_but_one_that_reaches_in_does() -> None:
    found = outputs_of(STEADY, [(1000, 1300), (4000, 4400)], 6)
    assert find_stalls(found, np.array(STEADY), (1400, 3900), 6.0) == []
    assert len(find_stalls(found, np.array(STEADY), (1200, 4100), 6.0)) == 2


def test_a_partition_that_resumes_later_belongs_to_the_stall() -> None:
    one = (
        [(t, 6) for t in range(0, 1000, 10)]
        + [(1500, 500)]
        + [(t, 6) for t in range(1510, 4000, 10)]
    )
    other = [(1605, 600), (1606, 300)]
    both = sorted(one + other)
    found = Outputs(np.array([t for t, _ in both]), np.array([float(ms) for _, ms in both]))
    assert find_stalls(found, np.arange(0, 4000), (0, 4000), 6.0) == [Stall(990, 1607, 510)]


def test_what_comes_much_later_does_not_stretch_a_stall() -> None:
    one = (
        [(t, 6) for t in range(0, 1000, 10)]
        + [(1500, 500)]
        + [(t, 6) for t in range(1510, 4000, 10)]
    )
    both = sorted([*one, (3905, 2600)])
    found = Outputs(np.array([t for t, _ in both]), np.array([float(ms) for _, ms in both]))
    assert find_stalls(found, np.arange(0, 4000), (0, 4000), 6.0) == [Stall(990, 1510, 510)]


def test_a_second_stop_before_the_first_is_worked_off_belongs_to_it() -> None:
    at_ms = np.array([0, 100, 400, 600, 610, 700])
    last_ms = np.array([5.0, 5.0, 290.0, 350.0, 5.0, 5.0])
    found = find_stalls(Outputs(at_ms, last_ms), np.arange(0, 700), (0, 700), 5.0)
    assert found == [Stall(100, 610, 300)]


def test_outputs_of_a_stall_are_those_after_its_start_and_before_its_end() -> None:
    stalls = [Stall(100, 200, 90), Stall(300, 400, 90)]
    times = np.array([50, 100, 101, 199, 200, 300, 350, 400])
    assert in_any(stalls, times).tolist() == [False, False, True, True, False, False, True, False]
    assert not in_any([], times).any()
    assert stalls_to_json(stalls) == {"count": 2, "total_ms": 200, "longest_ms": 100}
