"""A good engine in plain loops, and the input it is given; knows nothing of the oracle."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

EVENT_START_S = 1767596400
FIRST_DUE_MS = 1763465000000.0


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic, as the collector stores it."""

    topic: str
    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    kind: str = ""
    slot: int = 0
    #: what it says, before it became bytes
    says: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What `make_run` is asked for."""

    stage: str = "join"
    slots: int = 40
    locations: int = 4
    lanes: int = 2
    number: int = 1
    campaign_id: str = "c"
    warmup_slots: int = 5
    cooldown_slots: int = 4
    slot_ms: float = 1000.0
    latency_ms: float = 6.0
    seed: int = 1
    #: every so many seconds the engine says nothing for `stall_ms`
    stall_every_s: float | None = None
    stall_ms: float = 400.0
    #: the slowest the broker appended, after the record was due
    late_ms: float = 2.0
    #: what `delay_ms(slot)` adds to an output's latency
    delay_ms: Callable[[int], float] | None = None
    repetition: int = 1
    dialect: str = "eager"
    #: what the engine allows, in event time
    disorder_ms_max: float | None = None
    checkpoint_s: float = 5

    @property
    def first_due_ms(self) -> float:
        """Each run begins when the one before it is long over."""
        return FIRST_DUE_MS + 1e6 * (self.number - 1)

    @property
    def window(self) -> dict[str, int]:
        return {
            "first_slot": self.warmup_slots,
            "last_slot": self.slots - self.cooldown_slots - 1,
        }


def instant(second: int, millisecond: int = 0) -> str:
    """As ISO with milliseconds and Z."""
    text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{millisecond:03d}Z"


#: an input record, what it says (with location and lane), when it was due in ms
Input = tuple[Record, dict[str, Any], float]


def input_records(plan: Plan) -> Iterator[Input]:
    """All that is published, in the order in which it is due."""
    rng = random.Random(plan.seed)
    per_slot = plan.locations * plan.lanes * 2
    for slot in range(plan.slots):
        index = 0
        for place in range(plan.locations):
            location = f"net/{place % 7}/place-{place:05d}"
            for number in range(plan.lanes):
                for kind in ("flow", "speed"):
                    fraction = index / per_slot
                    index += 1
                    lane = f"lane{number + 1}"
                    says: dict[str, Any] = {
                        "internalId": lane,
                        "lat": round(51 + place / 1000, 5),
                        "long": round(5 + place / 777, 5),
                    }
                    if kind == "flow":
                        says["flow"] = 0 if place == 0 and slot % 9 == 0 else rng.randrange(1, 60)
                        says["period"] = 60
                    else:
                        says["speed"] = round(rng.uniform(40, 130), 1)
                    says["accuracy"] = rng.randrange(80, 101)
                    says["timestamp"] = instant(EVENT_START_S + slot, int(fraction * 1000))
                    says["num_lanes"] = plan.lanes
                    due_ms = plan.first_due_ms + (slot + fraction) * plan.slot_ms
                    record = Record(
                        f"r{plan.number}.{kind}",
                        place % 2,
                        int(due_ms + rng.uniform(0.3, plan.late_ms)),
                        f"{location}/{lane}".encode(),
                        json.dumps(says, separators=(",", ":")).encode(),
                        kind,
                        slot,
                    )
                    yield record, {**says, "location": location, "lane": lane}, due_ms


@dataclass(slots=True)
class _Engine:
    """A good engine: plain dictionaries, and the append time of the last contributor."""

    stage: str
    pairs: dict[tuple[str, str, int], dict[str, Any]]
    windows: dict[tuple[str, int], list[dict[str, Any]]]
    totals: dict[tuple[str, int], dict[str, Any]]

    def take(self, record: Record, says: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The outputs that this record completes, as key and value."""
        location, lane, slot = says["location"], says["lane"], record.slot
        own = {k: v for k, v in says.items() if k != "internalId"}
        if self.stage == "parse":
            yield f"{location}/{lane}", own
            return
        other = self.pairs.pop((location, lane, slot), None)
        if other is None:
            self.pairs[location, lane, slot] = own
            return
        flow, speed = (own, other) if "flow" in own else (other, own)
        second = instant(EVENT_START_S + slot)
        joined = {
            **flow,
            "speed": speed["speed"],
            "accuracy": min(flow["accuracy"], speed["accuracy"]),
            "timestamp": second,
        }
        if self.stage == "join":
            yield f"{location}/{lane}", joined
            return
        lanes = self.windows.setdefault((location, slot), [])
        lanes.append(joined)
        if len(lanes) < joined["num_lanes"]:
            return
        total = {
            "location": location,
            "timestamp": second,
            "flow": sum(x["flow"] for x in lanes),
            "speed": sum(x["speed"] for x in lanes) / len(lanes),
            "lanes": len(lanes),
        }
        self.totals[location, slot] = total
        if self.stage == "tumbling":
            yield location, total
            return
        short, long = self.totals.get((location, slot - 5)), self.totals.get((location, slot - 10))
        if short is not None and long is not None:
            for name in ("flow", "speed"):
                for span, then in (("short", short), ("long", long)):
                    was = then[name]
                    change = (total[name] - was) / was if was else None
                    total = {**total, f"{name}_change_{span}": change}
            yield location, total


def outputs_of(plan: Plan, inputs: list[Input]) -> list[Record]:
    """What a good engine appends, in the order of appending."""
    made = sorted(_made(plan, inputs), key=lambda x: x[0])
    return _appended(plan, made)


_Made = tuple[float, Record, bytes | None, bytes | None, dict[str, Any] | None]


def _made(plan: Plan, inputs: list[Input]) -> Iterator[_Made]:
    """From when on it may be put out, its last input, key, value and what that says."""
    engine = _Engine(plan.stage, {}, {}, {})
    waits = plan.dialect == "windowed" and plan.stage in ("tumbling", "sliding")
    end_ms = _window_ends(inputs) if waits else {}
    for record, says, _ in sorted(inputs, key=lambda x: x[0].timestamp_ms):
        if plan.stage == "ingest":
            yield record.timestamp_ms, record, record.key, record.value, None
            continue
        for key, told in engine.take(record, says):
            value = json.dumps(told, separators=(",", ":")).encode()
            if not waits:
                yield record.timestamp_ms, record, key.encode(), value, told
            elif record.slot in end_ms:
                ready_ms = max(record.timestamp_ms, end_ms[record.slot])
                yield ready_ms, record, key.encode(), value, told


def _window_ends(inputs: list[Input]) -> dict[int, int]:
    """Slot → when the first record of a later one was there; not of the last."""
    first: dict[int, int] = {}
    for record, *_ in inputs:
        first[record.slot] = min(record.timestamp_ms, first.get(record.slot, record.timestamp_ms))
    return {slot: min(first[s] for s in first if s > slot) for slot in sorted(first)[:-1]}


def _appended(plan: Plan, made: list[_Made]) -> list[Record]:
    rng = random.Random(plan.seed + 1)
    free_ms = 0.0
    found: list[Record] = []
    for ready_ms, record, key, value, told in made:
        extra_ms = plan.delay_ms(record.slot) if plan.delay_ms else 0.0
        at_ms = ready_ms + plan.latency_ms * rng.uniform(0.7, 1.6) + extra_ms
        if plan.stall_every_s is not None:
            every_ms = plan.stall_every_s * 1000
            into_ms = (at_ms - plan.first_due_ms) % every_ms
            if into_ms < plan.stall_ms and at_ms - plan.first_due_ms > every_ms:
                at_ms += plan.stall_ms - into_ms
        free_ms = max(at_ms, free_ms)
        found.append(
            Record(
                f"r{plan.number}.out",
                record.partition,
                int(free_ms),
                key,
                value,
                record.kind,
                record.slot,
                told,
            )
        )
    return found
