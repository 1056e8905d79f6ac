"""The schedule: counted from the start, evenly, in the asked-for order."""

from __future__ import annotations

from collections import Counter
from datetime import UTC

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.settings import ARRIVALS, Arrival
from publisher import plan
from publisher.supervising import SENDER_RATE_MAX, senders_for

slot_lengths_ns = st.integers(1_000_000, 60_000_000_000)
records = st.integers(1, 500)
lane_counts = st.lists(st.integers(1, 4), min_size=1, max_size=60)


def by_location(lanes: list[int]) -> plan.Ints:
    """Two records a lane, location by location."""
    return np.repeat(np.arange(len(lanes)), 2 * np.array(lanes)).astype(np.int64)


@given(slot_lengths_ns, records)
def test_offsets_are_those_of_the_formula_and_lie_within_the_slot(slot_ns: int, k: int) -> None:
    offsets = plan.offsets_ns(k, slot_ns).tolist()
    assert offsets == [i * slot_ns // k for i in range(k)]
    assert offsets == sorted(offsets)
    assert offsets[0] == 0
    assert offsets[-1] < slot_ns


@given(slot_lengths_ns, records, st.integers(0, 100_000))
def test_the_schedule_never_drifts(slot_ns: int, k: int, slot: int) -> None:
    assert plan.due_ns(slot, 0, k, slot_ns) == slot * slot_ns
    for i in (0, k // 2, k - 1):
        assert plan.due_ns(slot, i, k, slot_ns) - plan.due_ns(0, i, k, slot_ns) == slot * slot_ns


def test_offsets_of_the_largest_slot_stay_within_64_bits() -> None:
    offsets = plan.offsets_ns(3_000_000, 60_000_000_000)
    assert int(offsets[-1]) == 2_999_999 * 60_000_000_000 // 3_000_000


def test_no_record_is_due_in_an_empty_slot() -> None:
    assert plan.offsets_ns(0, 1_000_000).tolist() == []
    assert plan.event_ms(0).tolist() == []


@given(records)
def test_event_time_is_the_floor_of_the_due_share(k: int) -> None:
    assert plan.event_ms(k).tolist() == [i * 1000 // k for i in range(k)]


@given(lane_counts, st.sampled_from(ARRIVALS))
def test_each_record_has_one_place_and_a_locations_records_keep_their_order(
    lanes: list[int], arrival: Arrival
) -> None:
    location_of = by_location(lanes)
    order = plan.sending_order(arrival, location_of, len(lanes))
    assert sorted(order.tolist()) == list(range(len(location_of)))
    for location in range(len(lanes)):
        own = [r for r in order.tolist() if location_of[r] == location]
        assert own == sorted(own)


@given(lane_counts)
def test_adjacent_keeps_locations_together(lanes: list[int]) -> None:
    location_of = by_location(lanes)
    sent = location_of[plan.sending_order("adjacent", location_of, len(lanes))]
    assert int(np.count_nonzero(np.diff(sent))) == len(lanes) - 1


@given(st.lists(st.integers(1, 4), min_size=20, max_size=60))
def test_spread_gives_each_part_of_the_slot_its_share_of_a_location(lanes: list[int]) -> None:
    location_of = by_location(lanes)
    order = plan.sending_order("spread", location_of, len(lanes))
    share = np.empty(len(order))
    share[order] = np.arange(len(order)) / len(order)
    for location, count in enumerate(lanes):
        own = share[location_of == location]
        # a location's records take at least the middle of the slot that its count asks for
        assert own[-1] - own[0] >= (2 * count - 1) / (2 * count) - 0.35


def test_partition_is_stable_and_within_bounds() -> None:
    # crc32, and not Python's hash, which differs from process to process
    assert plan.partition_of("au/1/5/x", 7) == 1_002_176_357 % 7
    found = Counter(plan.partition_of(f"au/1/5/{n}", 4) for n in range(4000))
    assert set(found) == {0, 1, 2, 3}
    assert min(found.values()) > 800


@pytest.mark.parametrize("seed", [0, 1, 2, 77, 2**31 - 1])
def test_event_time_starts_at_a_whole_minute_of_a_working_day(seed: int) -> None:
    start = plan.event_start(seed)
    assert start == plan.event_start(seed)
    assert start.tzinfo is UTC
    assert (start.year, start.second, start.microsecond) == (2026, 0, 0)
    assert start.weekday() < 5


def test_seeds_start_at_different_instants() -> None:
    assert len({plan.event_start(seed) for seed in range(20)}) > 15


@pytest.mark.parametrize(
    ("rate", "asked", "cores", "senders"),
    [
        (2000, 0, 2, 1),
        (SENDER_RATE_MAX, 0, 2, 1),
        (SENDER_RATE_MAX + 1, 0, 2, 2),
        (100 * SENDER_RATE_MAX, 0, 8, 8),
        (2000, 3, 2, 3),
    ],
)
def test_as_few_senders_as_the_rate_allows(rate: int, asked: int, cores: int, senders: int) -> None:
    assert senders_for(rate, asked, cores) == senders
