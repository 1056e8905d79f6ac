"""The made-up network: exact counts, stable bytes, plausible readings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.errors import UsageError
from publisher.order import Order
from publisher.source import Share
from publisher.workloads.traffic import demand
from publisher.workloads.traffic.network import NetworkSource, make_locations
from publisher.workloads.traffic.roads import BASE_PLACES, geohash, make_places
from tests.unit.publisher.records import Record, records_of

Sent = Callable[..., list[Record]]

fixture_is_constant = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@fixture_is_constant
@given(
    records=st.integers(1, 400).map(lambda lanes: 2 * lanes),
    slot=st.integers(0, 3000),
    senders=st.integers(1, 3),
    arrival=st.sampled_from(["adjacent", "spread"]),
)
def test_each_kind_key_and_slot_comes_once_and_a_slot_is_full(
    order: Order, records: int, slot: int, senders: int, arrival: str, sent: Sent
) -> None:
    found = sent(order, slot, senders, records_per_slot=records, arrival=arrival)
    assert len(found) == records
    assert len({(topic, key) for _, topic, _, key, _ in found}) == records
    dues = [due_ns for due_ns, *_ in found]
    assert dues == [slot * order.slot_ns + i * order.slot_ns // records for i in range(records)]


@pytest.mark.parametrize("arrival", ["adjacent", "spread"])
@pytest.mark.parametrize("senders", [2, 3, 5])
def test_the_senders_together_send_what_one_would(
    order: Order, senders: int, arrival: str, sent: Sent
) -> None:
    for slot in (0, 1, 500):
        alone = sent(order, slot, 1, records_per_slot=1000, arrival=arrival)
        assert sent(order, slot, senders, records_per_slot=1000, arrival=arrival) == alone


def test_a_location_has_one_sender(order: Order) -> None:
    shares = [
        {location_of(record) for record in records_of(order, NetworkSource(order, Share(i, 3)), 0)}
        for i in range(3)
    ]
    assert not shares[0] & shares[1]
    assert not shares[1] & shares[2]
    assert not shares[0] & shares[2]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(order: Order, sent: Sent) -> None:
    assert sent(order, 7) == sent(order, 7)
    assert {r[4] for r in sent(order, 7)}.isdisjoint(r[4] for r in sent(order, 7, seed=2))
    # any slot can be told without those before it
    source = NetworkSource(order, Share(0, 1))
    records_of(order, source, 3)
    assert records_of(order, source, 7) == sent(order, 7)


def test_a_locations_records_share_a_partition_number(order: Order, sent: Sent) -> None:
    partitions: dict[str, set[int]] = {}
    for record in sent(order, 0, records_per_slot=2000):
        partitions.setdefault(location_of(record), set()).add(record[2])
    assert all(len(found) == 1 for found in partitions.values())
    assert set().union(*partitions.values()) == {0, 1, 2}


@pytest.mark.parametrize("slot", [0, 119, 1200])
def test_key_and_value_have_180_to_200_bytes(order: Order, slot: int, sent: Sent) -> None:
    for _, _, _, key, value in sent(order, slot, records_per_slot=26_000):
        assert 180 <= len(key) + len(value or b"") <= 200


def test_the_longest_and_shortest_readings_have_180_to_200_bytes(order: Order) -> None:
    # fixed parts have one length, so the table of readings holds the extremes
    source = NetworkSource(order, Share(0, 1))
    flow, speed = records_of(order, source, 0)[:2]
    for record, texts in ((flow, (b"0", b"45")), (speed, (b"5.0", b"135.0"))):
        value = record[4] or b""
        name = b"flow" if record is flow else b"speed"
        reading = value.split(b'"' + name + b'":')[1].split(b",")[0]
        accuracy = value.split(b'"accuracy":')[1].split(b",")[0]
        rest = len(record[3]) + len(value) - len(reading) - len(accuracy)
        assert rest + len(texts[0]) + 2 >= 180
        assert rest + len(texts[1]) + 3 <= 200


def test_values_have_the_designs_fields_in_order_and_nothing_else(order: Order, sent: Sent) -> None:
    flow, speed = sent(order, 2)[:2]
    common = ["accuracy", "timestamp", "num_lanes"]
    assert list(value_of(flow)) == ["internalId", "lat", "long", "flow", "period", *common]
    assert list(value_of(speed)) == ["internalId", "lat", "long", "speed", *common]
    assert (flow[1], speed[1]) == ("test.flow", "test.speed")
    assert flow[3] == speed[3]
    assert b" " not in (flow[4] or b"")
    assert value_of(flow)["internalId"] == flow[3].decode().rpartition("/")[2]


def test_timestamps_are_due_times_in_event_time(order: Order, sent: Sent) -> None:
    start_s = NetworkSource(order, Share(0, 1)).facts.event_start_s
    for slot in (0, 61):
        for index, record in enumerate(sent(order, slot)):
            stamp = datetime.fromisoformat(value_of(record)["timestamp"])
            since_ms = round((stamp.timestamp() - start_s) * 1000)
            assert since_ms == slot * 1000 + index * 1000 // 200


@given(st.integers(0, 2500))
def test_locations_have_exactly_the_lanes_that_were_asked_for(lanes: int) -> None:
    locations = make_locations(make_places(3), lanes)
    assert sum(location.lanes for location in locations) == lanes
    assert len({location.id for location in locations}) == len(locations)


def test_num_lanes_is_how_many_lanes_there_are(order: Order, sent: Sent) -> None:
    for records in (2, 6, 198, 202):
        found = sent(order, 0, records_per_slot=records)
        lanes = Counter(location_of(record) for record in found if record[1] == "test.flow")
        for record in found:
            assert value_of(record)["num_lanes"] == lanes[location_of(record)]


def test_copies_are_new_locations_with_other_readings(order: Order, sent: Sent) -> None:
    found = sent(order, 0, records_per_slot=4000)
    copies: dict[str, list[int]] = {}
    for record in found:
        if record[1] == "test.flow":
            base, _, copy = location_of(record).rpartition("/")
            assert copy.isdigit()
            assert len(copy) == 5
            copies.setdefault(f"{base} {record[3].rpartition(b'/')[2]!r}", []).append(
                value_of(record)["flow"]
            )
    several = [flows for flows in copies.values() if len(flows) > 1]
    assert len(several) > 100
    assert sum(len(set(flows)) > 1 for flows in several) > len(several) / 2


@pytest.mark.parametrize("seed", range(5))
def test_places_lie_in_the_netherlands_and_have_ids_of_one_length(seed: int) -> None:
    places = make_places(seed)
    assert len({place.id for place in places}) == len(places) == BASE_PLACES
    assert len({len(place.id) for place in places}) == 1
    assert {place.lanes for place in places} == {1, 2, 3, 4}
    for place in places:
        assert 50.7 < place.lat < 53.6
        assert 3.3 < place.long < 7.25
        assert len(f"{place.lat}") == 8
        assert len(f"{place.long}") == 7


def test_geohash_is_that_of_the_designs_example() -> None:
    assert geohash(51.34545, 5.54914) == "u15un70u"


def lanes_at(hour: float, seed: int = 1, load: float = 0.9) -> demand.Readings:
    """The readings of a thousand equal lanes."""
    ones = np.ones(1000)
    lanes = demand.Lanes(33.0 * ones, 120.0 * ones, load * ones, 0.9 * ones, 0.9 * ones)
    drawn = np.random.default_rng(seed).random((1000, demand.DRAWS))
    return demand.read_lanes(lanes, int(hour * 60), drawn)


def test_the_rush_hours_are_those_of_a_working_day() -> None:
    flow = {hour: float(lanes_at(hour).flow_per_min.mean()) for hour in (3, 8, 12.5, 17.5)}
    assert flow[8] > 1.5 * flow[12.5] > 5 * flow[3]
    assert flow[17.5] > 1.5 * flow[12.5]


def test_speed_falls_as_flow_nears_capacity() -> None:
    speeds = [float(lanes_at(8, load=x).speed_tenths.mean()) for x in (0.2, 0.6, 0.8, 1.0, 1.1)]
    assert speeds == sorted(speeds, reverse=True)
    assert speeds[0] > 1.5 * speeds[-1]


@given(st.floats(0, 47.99), st.integers(0, 1000), st.floats(0.1, 1.2))
def test_readings_stay_within_their_bounds(hour: float, seed: int, load: float) -> None:
    found = lanes_at(hour, seed, load)
    within(found.flow_per_min, 0, demand.FLOW_MAX_PER_MIN)
    within(found.speed_tenths, 50, 1350)
    within(found.flow_accuracy, 80, 100)
    within(found.speed_accuracy, 80, 100)


def within(values: Iterable[int], low: int, high: int) -> None:
    """All of them."""
    assert all(low <= value <= high for value in values)


def test_a_network_beyond_its_bound_is_refused(order: Order, sent: Sent) -> None:
    with pytest.raises(UsageError, match="lower RATE"):
        sent(order, 0, records_per_slot=20_000_000)


def test_arrival_decides_how_far_a_locations_records_are_apart(order: Order, sent: Sent) -> None:
    spans = {}
    for arrival in ("adjacent", "spread"):
        found = sent(order, 0, records_per_slot=2000, arrival=arrival)
        spans[arrival] = max(span_ns(found, place) for place in {location_of(r) for r in found})
        gaps = {b[0] - a[0] for a, b in pairwise(found)}
        assert gaps == {order.slot_ns // 2000}
    assert spans["adjacent"] == 7 * order.slot_ns // 2000
    assert spans["spread"] > 0.8 * order.slot_ns


def span_ns(found: list[Record], location: str) -> int:
    """From the first to the last record of a location."""
    dues = [record[0] for record in found if location_of(record) == location]
    return max(dues) - min(dues)


def value_of(record: Record) -> dict[str, Any]:
    """A record's value, parsed."""
    value: dict[str, Any] = json.loads(record[4] or b"")
    return value


def location_of(record: Record) -> str:
    """The location in a record's key."""
    return record[3].decode().rpartition("/")[0]
