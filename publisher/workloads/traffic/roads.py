"""Make up a network of measured places along Dutch motorways; the seed tells all of it."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np

#: how many places there are before they are copied under new ids
BASE_PLACES = 240
_GEOHASH_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"
_GEOHASH_LENGTH = 8

#: road number → latitude and longitude of points it passes, coarsely: all of it is land
_ROADS: dict[int, tuple[tuple[float, float], ...]] = {
    1: ((52.33, 4.96), (52.24, 5.20), (52.17, 5.40), (52.18, 5.97), (52.23, 6.15), (52.26, 6.75)),
    2: ((52.30, 4.93), (52.08, 5.05), (51.70, 5.28), (51.44, 5.42), (51.26, 5.71), (51.03, 5.86)),
    4: ((52.31, 4.76), (52.13, 4.50), (52.06, 4.38), (51.98, 4.34), (51.91, 4.37)),
    12: ((52.08, 4.38), (52.03, 4.70), (52.06, 5.10), (52.05, 5.65), (52.00, 5.93), (51.93, 6.08)),
    15: ((51.88, 4.45), (51.85, 4.98), (51.90, 5.43), (51.89, 5.84)),
    16: ((51.90, 4.55), (51.80, 4.65), (51.58, 4.72)),
    27: ((51.60, 4.82), (51.84, 4.97), (52.06, 5.14), (52.21, 5.20)),
    28: ((52.10, 5.18), (52.17, 5.40), (52.33, 5.65), (52.51, 6.07), (52.72, 6.48), (53.20, 6.57)),
    50: ((51.49, 5.48), (51.76, 5.58), (51.96, 5.78), (52.18, 5.99), (52.47, 6.08)),
    58: ((51.46, 5.40), (51.53, 5.08), (51.57, 4.82), (51.54, 4.48), (51.50, 4.32)),
}
#: shares of places with one, two, three and four lanes, summed up
_LANES_UP_TO = (0.15, 0.60, 0.90)
_FREE_FLOW_KMH = (80.0, 100.0, 100.0, 120.0, 130.0)


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a carriageway is measured."""

    id: str
    lat: float
    long: float
    lanes: int
    #: what a lane can carry
    capacity_per_min: float
    free_flow_kmh: float
    #: demand over capacity at the height of the rush
    load: float
    #: which rush it feels, and how much of it
    morning: float
    evening: float


def make_places(seed: int) -> list[Place]:
    """The base network of a seed."""
    # `random` alone, turned into readings by hand: its stream is the same in every numpy
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, 0))))
    places: dict[str, Place] = {}
    while len(places) < BASE_PLACES:
        place = _make_place([float(x) for x in rng.random(10)])
        places.setdefault(place.id, place)
    return list(places.values())


def _make_place(drawn: list[float]) -> Place:
    road = list(_ROADS)[int(drawn[0] * len(_ROADS))]
    along = drawn[1] * (len(_ROADS[road]) - 1)
    (lat0, long0), (lat1, long1) = _ROADS[road][int(along) : int(along) + 2]
    lat = _five_digits(lat0 + (along % 1) * (lat1 - lat0) + 0.004 * (drawn[2] - 0.5))
    long = _five_digits(long0 + (along % 1) * (long1 - long0) + 0.004 * (drawn[3] - 0.5))
    side = "r" if drawn[4] < 0.5 else "l"
    # who drives to work in the morning goes home in the evening, on the other side
    strong, weak = 0.8 + 0.4 * drawn[5], 0.4 + 0.4 * drawn[5]
    path = "/".join(geohash(lat, long))
    return Place(
        id=f"au/{path[2:]}/RWS01_MONIBAS_{road:03d}1hr{side}{int(along * 400) + 1000:04d}ra_1",
        lat=lat,
        long=long,
        lanes=1 + bisect.bisect_right(_LANES_UP_TO, drawn[6]),
        capacity_per_min=30.0 + 6.0 * drawn[7],
        free_flow_kmh=_FREE_FLOW_KMH[int(drawn[8] * len(_FREE_FLOW_KMH))],
        load=0.6 + 0.5 * drawn[9],
        morning=strong if side == "r" else weak,
        evening=weak if side == "r" else strong,
    )


def _five_digits(degrees: float) -> float:
    """Rounded to five digits, the last of which is no zero: texts of one length."""
    scaled = round(degrees * 100_000)
    return (scaled + (scaled % 10 == 0)) / 100_000


def geohash(lat: float, long: float) -> str:
    """The usual geohash, by whose letters NDW's ids begin."""
    ranges = {"long": [-180.0, 180.0], "lat": [-90.0, 90.0]}
    values = {"long": long, "lat": lat}
    number = 0
    for bit in range(5 * _GEOHASH_LENGTH):
        axis = "lat" if bit % 2 else "long"
        low, high = ranges[axis]
        middle = (low + high) / 2
        above = values[axis] >= middle
        ranges[axis] = [middle, high] if above else [low, middle]
        number = 2 * number + above
    digits = [number >> 5 * place & 31 for place in reversed(range(_GEOHASH_LENGTH))]
    return "".join(_GEOHASH_DIGITS[digit] for digit in digits)
