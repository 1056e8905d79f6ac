"""Tell which doubts a run's topics demand, and which of those that were told they refute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contract import doubts as limit
from evaluator.verify_parts import Check

#: these are found in the topics and nowhere else: told without reason they are amiss, too
FROM_TOPICS_ONLY = ("outputs-wrong", "publisher-disordered", "output-before-input")
LOG_APPEND_TIME = 1


@dataclass(frozen=True, slots=True)
class Told:
    """What a run's topics say towards doubts."""

    outputs: dict[str, int | None]
    timestamp_types: frozenset[int]
    back_ms_max: int
    disorder_ms: float
    last_ms_min: int | None
    #: records of the measured slots, malformed ones too: nobody can say where those belong
    appended: int
    #: None: the publisher left no account
    scheduled: int | None


def check_doubts(
    name: str, run: dict[str, Any], conditions: dict[str, Any], told: Told
) -> Iterator[Check]:
    """None that the topics demand is left out, and none that only they can tell is made up."""
    there = {str(doubt.get("id")) for doubt in run.get("doubts") or []}
    found = dict(demanded(conditions, told))
    for doubt, why in found.items():
        yield Check(f"{name} doubt {doubt}", "nothing", why, agrees=doubt in there)
    for doubt in FROM_TOPICS_ONLY:
        if doubt not in found:
            yield Check(f"{name} doubt {doubt}", doubt in there, False)


def demanded(conditions: dict[str, Any], told: Told) -> Iterator[tuple[str, str]]:
    """Doubt → why it must be there."""
    excused = conditions.get("delivery") == "at-least-once" and conditions.get("fault_injected")
    names = ("missing", "duplicate", "wrong", "unexpected")
    faults = {name: told.outputs[name] or 0 for name in names}
    if excused:
        faults["duplicate"] = 0
    if any(faults.values()):
        said = ", ".join(f"{number} {name}" for name, number in faults.items() if number)
        yield "outputs-wrong", f"the topics hold {said}"
    if told.timestamp_types - {LOG_APPEND_TIME}:
        yield "not-log-append-time", f"records are of types {sorted(told.timestamp_types)}"
    if told.back_ms_max > limit.CLOCK_STEP_MS_MAX:
        yield "clock-stepped", f"append times fell back by {told.back_ms_max} ms"
    allowed_ms = conditions.get("disorder_ms_max")
    if allowed_ms is not None and told.disorder_ms > allowed_ms:
        yield "publisher-disordered", f"a record was {told.disorder_ms:g} ms out of order"
    if told.last_ms_min is not None and told.last_ms_min < 0:
        yield "output-before-input", f"an output {-told.last_ms_min} ms before its last input"
    least = limit.APPENDED_SHARE_MIN
    if told.scheduled and told.appended / told.scheduled < least:
        yield "publisher-late", f"{told.appended} of {told.scheduled} records were appended"
