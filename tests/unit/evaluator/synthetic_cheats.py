"""What a broken or cheating engine puts out instead of what a good one would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.unit.evaluator.synthetic_engine import Plan, Record

Change = Callable[[list[Record], Plan], list[Record]]


def saying(record: Record, **says: Any) -> Record:
    """The record with other words in it."""
    told = {**(record.says or {}), **says}
    return replace(record, says=told, value=json.dumps(told).encode())


def change_one(outputs: list[Record], where: Callable[[Record], bool], **says: Any) -> list[Record]:
    """The outputs with one value changed: the first where `where` holds."""
    index = next(i for i, r in enumerate(outputs) if where(r))
    return [*outputs[:index], saying(outputs[index], **says), *outputs[index + 1 :]]


def _hit(outputs: list[Record], plan: Plan) -> int:
    """The first output of a measured slot."""
    return next(i for i, r in enumerate(outputs) if r.slot == plan.window["first_slot"] + 1)


def _before(outputs: list[Record], slots: int) -> dict[int, dict[str, Any]]:
    """What each output's location said so many slots earlier, by the output's index."""
    said = {(r.key, r.slot): r.says or {} for r in outputs}
    then = {i: said.get((r.key, r.slot - slots)) for i, r in enumerate(outputs)}
    return {i: says for i, says in then.items() if says is not None}


def drop(outputs: list[Record], plan: Plan) -> list[Record]:
    """One in a thousand does not come."""
    hit = _hit(outputs, plan)
    return [r for i, r in enumerate(outputs) if i % 1000 != hit % 1000]


def double(outputs: list[Record], plan: Plan) -> list[Record]:
    """One comes twice."""
    hit = _hit(outputs, plan)
    return [*outputs[: hit + 1], outputs[hit], *outputs[hit + 1 :]]


def late_double(outputs: list[Record], plan: Plan) -> list[Record]:
    """One comes again when all is over, as after a restart from a checkpoint."""
    again = outputs[_hit(outputs, plan)]
    return [*outputs, replace(again, timestamp_ms=outputs[-1].timestamp_ms + 500)]


def tail_double(outputs: list[Record], _plan: Plan) -> list[Record]:
    """One of the tail, where nothing needs to come, comes twice."""
    return [*outputs, replace(outputs[-1], timestamp_ms=outputs[-1].timestamp_ms + 5)]


def wrong_lane(outputs: list[Record], plan: Plan) -> list[Record]:
    """What one lane says comes as what another one says."""
    one = outputs[_hit(outputs, plan) + 1]
    key = (one.key or b"").replace(b"lane2", b"lane1")
    return [saying(replace(r, key=key), lane="lane1") if r is one else r for r in outputs]


def exchanged_lanes(outputs: list[Record], plan: Plan) -> list[Record]:
    """Two lanes of a location say each what the other should."""
    first = outputs[_hit(outputs, plan)]
    told = first.says or {}
    place = (told["location"], first.slot)
    of_place = [r for r in outputs if ((r.says or {})["location"], r.slot) == place]
    flows = [(r.says or {})["flow"] for r in of_place]
    other = {id(r): flow for r, flow in zip(of_place, reversed(flows), strict=True)}
    return [saying(r, flow=other[id(r)]) if id(r) in other else r for r in outputs]


def wrong_sum(outputs: list[Record], plan: Plan) -> list[Record]:
    """One sum is off by one."""
    one = outputs[_hit(outputs, plan)]
    return change_one(outputs, lambda r: r is one, flow=(one.says or {})["flow"] + 1)


def _looking_back(outputs: list[Record], slots: int) -> list[Record]:
    changed = list(outputs)
    for index, then in _before(outputs, slots).items():
        now = outputs[index].says or {}
        change = {
            f"{name}_change_short": (now[name] - then[name]) / then[name] if then[name] else None
            for name in ("flow", "speed")
        }
        changed[index] = saying(outputs[index], **change)
    return changed


def stale_look_back(outputs: list[Record], _plan: Plan) -> list[Record]:
    """The short change is that since four slots ago, not five."""
    return _looking_back(outputs, 4)


def previous_slot(outputs: list[Record], _plan: Plan) -> list[Record]:
    """The short change is that since the slot before."""
    return _looking_back(outputs, 1)


def constant(outputs: list[Record], _plan: Plan) -> list[Record]:
    """Each answers in time what the very first one answered."""
    said = outputs[0].says or {}
    always = {name: said[name] for name in ("flow", "speed", "accuracy")}
    return [saying(r, **always) for r in outputs]


def truncated(outputs: list[Record], plan: Plan) -> list[Record]:
    """From the middle of the window on nothing comes."""
    middle = sum(plan.window.values()) // 2
    return [r for r in outputs if r.slot <= middle]


def forged(outputs: list[Record], plan: Plan) -> list[Record]:
    """One more comes, of a place that does not exist."""
    middle = outputs[_hit(outputs, plan)]
    return [*outputs, replace(outputs[-1], key=b"net/0/nowhere/lane1", value=middle.value)]


def junk(outputs: list[Record], _plan: Plan) -> list[Record]:
    """One more comes that is no JSON."""
    return [*outputs, replace(outputs[-1], value=b"{")]


def late_fault(outputs: list[Record], plan: Plan) -> list[Record]:
    """Wrong in the tail, where nothing needs to come but what comes must be right."""
    return change_one(outputs, lambda r: r.slot == plan.slots - 1, flow=-1)


def early(outputs: list[Record], plan: Plan) -> list[Record]:
    """One comes before what it was made from."""
    hit = _hit(outputs, plan)
    hasty = replace(outputs[hit], timestamp_ms=outputs[hit].timestamp_ms - 200)
    return [*outputs[:hit], hasty, *outputs[hit + 1 :]]


def _sooner(outputs: list[Record], ms: int) -> list[Record]:
    return [replace(r, timestamp_ms=r.timestamp_ms - ms) for r in outputs]


def foretold(outputs: list[Record], _plan: Plan) -> list[Record]:
    """All come a little before their inputs: whoever knows the seed knows the answers."""
    return _sooner(outputs, 50)


def by_its_own_watch(outputs: list[Record], _plan: Plan) -> list[Record]:
    """Windows are closed when their time is over on the wall, just before anything shows it."""
    return _sooner(outputs, 20)


def _released(outputs: list[Record], plan: Plan, after_ms: float) -> list[Record]:
    first, last = plan.window["first_slot"], plan.window["last_slot"]
    at_ms = int(plan.first_due_ms + (last + 1) * plan.slot_ms + after_ms)
    return [
        replace(r, timestamp_ms=max(r.timestamp_ms, at_ms)) if r.slot >= first else r
        for r in outputs
    ]


def until_the_end(outputs: list[Record], plan: Plan) -> list[Record]:
    """All of the window's come at once as soon as it is over."""
    return _released(outputs, plan, 100)


def until_long_after(outputs: list[Record], plan: Plan) -> list[Record]:
    """All of the window's come at once ten seconds after it is over."""
    return _released(outputs, plan, 10_000)


def clock_back(records: list[Record]) -> list[Record]:
    """From a slot's begin on the clock is 300 ms slow; nothing is under way at that time."""
    return [replace(r, timestamp_ms=r.timestamp_ms - 300) if r.slot >= 20 else r for r in records]


#: what `make_run` can be asked for by name
CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (
        drop,
        double,
        late_double,
        tail_double,
        wrong_lane,
        exchanged_lanes,
        wrong_sum,
        stale_look_back,
        previous_slot,
        constant,
        truncated,
        forged,
        junk,
        late_fault,
        early,
        foretold,
        by_its_own_watch,
        until_the_end,
        until_long_after,
    )
}
