"""Say what each lane of the made-up network reports in each slot; any slot, in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from contract.errors import UsageError
from contract.workloads.traffic import KINDS
from publisher import plan
from publisher.order import Order
from publisher.source import Batch, Due, Facts, Share, SourceReport, Texts, slices
from publisher.workloads.traffic import demand
from publisher.workloads.traffic.demand import Lanes, Readings
from publisher.workloads.traffic.roads import BASE_PLACES, Place, make_places

#: an id has five digits for its copy, and all lanes are drawn at once
LANES_MAX = 1_000_000
PERIOD_S = 60
#: on the left one drives faster
_SPEED_LOST_PER_LANE = 0.04

#: of a record: what stays of the value before and of this one, the reading, the second
_PIECES = 3
_FLOWS = demand.FLOW_MAX_PER_MIN + 1
_ACCURACIES = demand.ACCURACY_MAX - demand.ACCURACY_MIN + 1


@dataclass(frozen=True, slots=True)
class Location:
    """A copy of a place of the base network, with the lanes it has here."""

    id: str
    place: Place
    lanes: int


def make_locations(places: list[Place], lanes: int) -> list[Location]:
    """As many copies of places as have exactly that many lanes; the last one is trimmed."""
    locations: list[Location] = []
    while lanes:
        copy, base = divmod(len(locations), BASE_PLACES)
        place = places[base]
        taken = min(place.lanes, lanes)
        locations.append(Location(f"{place.id}/{copy:05d}", place, taken))
        lanes -= taken
    return locations


class NetworkSource:
    """A sender's share of the network: what stays the same is laid out once, as columns."""

    def __init__(self, order: Order, share: Share) -> None:
        lanes = order.records_per_slot // len(KINDS)
        if lanes > LANES_MAX:
            raise UsageError(
                f"RATE={order.rate} needs {lanes} lanes, and the network has at most {LANES_MAX}; "
                f"lower RATE or raise TEMPORAL_SCALE"
            )
        locations = make_locations(make_places(order.seed), lanes)
        self._seed = order.seed
        self._slot_ns = order.slot_ns
        self._lanes_total = lanes
        self._event_start = plan.event_start(order.seed)
        self._start_minute = self._event_start.hour * 60 + self._event_start.minute
        self._facts = Facts(
            locations=len(locations),
            records_per_slot=len(KINDS) * lanes,
            event_start_s=int(self._event_start.timestamp()),
            report=SourceReport(order.source),
        )
        self._lay_out(order, share, locations)

    def _lay_out(self, order: Order, share: Share, locations: list[Location]) -> None:
        counts = np.array([location.lanes for location in locations], dtype=np.int64)
        location_of_lane = np.repeat(np.arange(len(locations), dtype=np.int64), counts)
        location_of = np.repeat(location_of_lane, len(KINDS))
        order_of = plan.sending_order(order.arrival, location_of, len(locations))
        ours = np.flatnonzero(location_of[order_of] % share.senders == share.index)
        records = order_of[ours]
        self._lane_of = records // len(KINDS)
        self._topics = records % len(KINDS)
        self._is_flow = self._topics == 0
        self._offsets_ns = plan.offsets_ns(len(location_of), order.slot_ns)[ours]
        self._lanes = _columns(locations, counts)
        fixed = [
            _fixed_parts(order, locations[where], lane, is_flow)
            for where, lane, is_flow in zip(
                location_of[records].tolist(),
                (self._lane_of - (np.cumsum(counts) - counts)[location_of[records]]).tolist(),
                self._is_flow.tolist(),
                strict=True,
            )
        ]
        due_ms = plan.event_ms(len(location_of))[ours].tolist()
        self._partitions = np.array([part.partition for part in fixed], dtype=np.int64)
        self._keys = Texts.of([part.key for part in fixed])
        # between two readings stands what never changes; the rest is put in slot by slot
        self._heads = [part.head for part in fixed]
        self._tails = [b".%03d%b" % (ms, part.tail) for ms, part in zip(due_ms, fixed, strict=True)]
        self._pieces = [b""] * (_PIECES * len(fixed))
        self._pieces[0::_PIECES] = [
            tail + head for tail, head in zip([b"", *self._tails], self._heads, strict=False)
        ]
        stays = [len(h) + len(t) for h, t in zip(self._heads, self._tails, strict=True)]
        self._sizes = np.array(stays, dtype=np.int64)
        middles = _middles()
        self._middles = np.array(middles, dtype=object)
        self._middle_sizes = np.array([len(middle) for middle in middles], dtype=np.int64)

    @property
    def facts(self) -> Facts:
        """What holds of the network as a whole."""
        return self._facts

    def readings(self, slot: int) -> Readings:
        """What all lanes read in a slot; every sender draws all, so that the shares fit."""
        drawn = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence((self._seed, 1 + slot)))
        ).random((self._lanes_total, demand.DRAWS))
        return demand.read_lanes(self._lanes, self._start_minute + slot, drawn)

    def due(self, slot: int) -> Due:
        """The share's records of a slot: drawn at once, put together a batch at a time."""
        readings = self.readings(slot)
        flows = readings.flow_per_min * _ACCURACIES + readings.flow_accuracy
        speeds = (_FLOWS * _ACCURACIES) + (readings.speed_tenths * _ACCURACIES)
        speeds += readings.speed_accuracy
        codes = np.where(self._is_flow, flows[self._lane_of], speeds[self._lane_of])
        codes -= demand.ACCURACY_MIN
        second = plan.event_second(self._event_start, slot)
        return Due(len(codes), self._put_together(slot * self._slot_ns, codes, second))

    def _put_together(self, slot_ns: int, codes: plan.Ints, second: bytes) -> Iterator[Batch]:
        for rows in slices(len(codes)):
            pieces = self._pieces[_PIECES * rows.start : _PIECES * rows.stop]
            pieces[0] = self._heads[rows.start]
            pieces[1::_PIECES] = self._middles[codes[rows]].tolist()
            pieces[2::_PIECES] = [second] * (rows.stop - rows.start)
            pieces.append(self._tails[rows.stop - 1])
            sizes = self._sizes[rows] + self._middle_sizes[codes[rows]] + len(second)
            yield Batch(
                due_ns=slot_ns + self._offsets_ns[rows],
                topics=self._topics[rows],
                partitions=self._partitions[rows],
                keys=self._keys[rows],
                values=Texts.end_to_end(b"".join(pieces), sizes),
            )


def _columns(locations: list[Location], counts: plan.Ints) -> Lanes:
    def column(values: list[float]) -> demand.Doubles:
        return np.repeat(np.array(values, dtype=np.float64), counts)

    places = [location.place for location in locations]
    nth_lane = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return Lanes(
        capacity_per_min=column([place.capacity_per_min for place in places]),
        free_flow_kmh=column([place.free_flow_kmh for place in places])
        * (1.0 - _SPEED_LOST_PER_LANE * nth_lane),
        load=column([place.load for place in places]),
        morning=column([place.morning for place in places]),
        evening=column([place.evening for place in places]),
    )


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What stays the same of a lane's flow or speed."""

    partition: int
    key: bytes
    #: what stands in the value before the reading, and after the timestamp's milliseconds
    head: bytes
    tail: bytes


def _fixed_parts(order: Order, location: Location, lane: int, is_flow: bool) -> _Fixed:
    kind = KINDS[0] if is_flow else KINDS[1]
    name = f"lane{lane + 1}"
    fields = {"internalId": name, "lat": location.place.lat, "long": location.place.long}
    head = json.dumps(fields, separators=(",", ":")).removesuffix("}")
    return _Fixed(
        partition=plan.partition_of(location.id, order.partitions),
        key=f"{location.id}/{name}".encode(),
        head=f'{head},"{kind}":'.encode(),
        tail=f'Z","num_lanes":{location.lanes}}}'.encode(),
    )


def _middles() -> list[bytes]:
    """What stands between a value's head and its timestamp, by reading and accuracy."""
    accuracies = range(demand.ACCURACY_MIN, demand.ACCURACY_MAX + 1)
    stamp = ',"timestamp":"'
    flows = [
        f'{flow},"period":{PERIOD_S},"accuracy":{accuracy}{stamp}'.encode()
        for flow in range(_FLOWS)
        for accuracy in accuracies
    ]
    speeds = [
        f'{tenths / 10:.1f},"accuracy":{accuracy}{stamp}'.encode()
        for tenths in range(int(demand.SPEED_MAX_KMH * 10) + 1)
        for accuracy in accuracies
    ]
    return flows + speeds
