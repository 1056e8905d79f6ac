"""Tell flow and speed of every lane from the time of day; pure arithmetic on arrays.

Only the four operations and `floor`, which every machine rounds alike: the same seed gives the
same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MINUTES_PER_DAY = 1440
FLOW_MAX_PER_MIN = 45
SPEED_MIN_KMH, SPEED_MAX_KMH = 5.0, 135.0
ACCURACY_MIN, ACCURACY_MAX = 80, 100
#: uniform draws a lane and slot: two each for flow and speed, one each for the two accuracies
DRAWS = 6

#: hour of the day → share of what the rush adds nothing to
_EVERYDAY = ((0, 0.06), (2, 0.04), (5, 0.08), (7, 0.45), (16, 0.50), (19, 0.35), (24, 0.06))
_MORNING = ((0, 0.0), (6, 0.0), (7.5, 0.5), (8.5, 0.5), (10, 0.0), (24, 0.0))
_EVENING = ((0, 0.0), (15, 0.0), (17, 0.5), (18, 0.5), (19.5, 0.0), (24, 0.0))
#: Bureau of Public Roads: travel time grows with 1 + a x^4; a as fits motorways with a queue
_BPR_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class Lanes:
    """What stays the same of every lane, as columns."""

    capacity_per_min: Doubles
    free_flow_kmh: Doubles
    load: Doubles
    morning: Doubles
    evening: Doubles


@dataclass(frozen=True, slots=True)
class Readings:
    """One slot's readings of every lane."""

    flow_per_min: Ints
    #: tenths of km/h
    speed_tenths: Ints
    flow_accuracy: Ints
    speed_accuracy: Ints


def read_lanes(lanes: Lanes, minute_of_day: int, drawn: Doubles) -> Readings:
    """The readings of a minute, by the lanes' uniform draws (DRAWS of each)."""
    hour = (minute_of_day % MINUTES_PER_DAY) / 60
    share = (
        _at(_EVERYDAY, hour)
        + _at(_MORNING, hour) * lanes.morning
        + _at(_EVENING, hour) * lanes.evening
    )
    flow_noise = drawn[:, 0] + drawn[:, 1] - 1.0
    speed_noise = drawn[:, 2] + drawn[:, 3] - 1.0
    saturation = lanes.load * share * (1.0 + 0.12 * flow_noise)
    carried = np.minimum(saturation, 1.0) * lanes.capacity_per_min + 1.5 * flow_noise
    squared = saturation * saturation
    speed = lanes.free_flow_kmh / (1.0 + _BPR_FACTOR * squared * squared)
    speed = np.clip(speed * (1.0 + 0.08 * speed_noise), SPEED_MIN_KMH, SPEED_MAX_KMH)
    accuracies = ACCURACY_MAX - ACCURACY_MIN + 1
    return Readings(
        flow_per_min=np.clip(_whole(carried + 0.5), 0, FLOW_MAX_PER_MIN),
        speed_tenths=_whole(speed * 10.0),
        flow_accuracy=ACCURACY_MIN + _whole(drawn[:, 4] * accuracies),
        speed_accuracy=ACCURACY_MIN + _whole(drawn[:, 5] * accuracies),
    )


def _whole(values: Doubles) -> Ints:
    return np.floor(values).astype(np.int64)


def _at(points: Sequence[tuple[float, float]], hour: float) -> float:
    """The value at an hour, on straight lines between the points."""
    for (hour0, value0), (hour1, value1) in pairwise(points):
        if hour0 <= hour <= hour1:
            return value0 + (value1 - value0) * (hour - hour0) / (hour1 - hour0)
    raise ValueError(f"no such hour: {hour}")
