"""An output's inputs are the records of its identity and second: as plain loops find them."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest

from contract.workloads.traffic import WORKLOAD
from evaluator.evidence import TimeAxis
from evaluator.identity import numbered
from evaluator.lineage import Sources, due_on_wall_ms, passing, slots_of
from evaluator.workload import NO_SECOND
from evaluator.workloads.traffic import JUDGE
from tests.unit.evaluator.synthetic import (
    EVENT_START_S,
    FIRST_DUE_MS,
    Plan,
    input_records,
    topic_table,
)

AXIS = TimeAxis(FIRST_DUE_MS, EVENT_START_S, 500.0, 5, 0, 5)


@pytest.mark.parametrize("stage", ["parse", "join", "sliding"])
@pytest.mark.parametrize("seed", [1, 2])
def test_lineage_is_what_plain_loops_find_whatever_the_order(stage: str, seed: int) -> None:
    rng = random.Random(seed)
    plan = Plan(slots=6, locations=3, lanes=3, slot_ms=500.0, late_ms=90.0, seed=seed)
    made = list(input_records(plan))
    rng.shuffle(made)
    groups = defaultdict(list)
    for record, says, due_ms in made:
        identity = {**says, "kind": record.kind}
        names = WORKLOAD.stage(stage).identity
        groups[(*(identity[n] for n in names), record.slot)].append((record.timestamp_ms, due_ms))

    table = topic_table([record for record, *_ in made])
    asked = WORKLOAD.stage(stage)
    read = JUDGE.read_inputs(table.select(["kind", "key", "value"]), asked)
    records = passing(read.append_column("timestamp_ms", table["timestamp_ms"]), asked)
    (number,), many = numbered([records])
    at_ms, event_us = (records[name].to_numpy() for name in ("timestamp_ms", "event_us"))
    sources = Sources.of(number, many, at_ms, event_us)
    slot, known = slots_of(records["second"].to_numpy(), AXIS)

    assert many == len(groups) and known.all()
    places = zip(*(records[name].to_pylist() for name in asked.identity), strict=True)
    for place, one, of_slot in zip(places, number.tolist(), slot.tolist(), strict=True):
        inputs = groups[(*place, of_slot)]
        appended = [at for at, _ in inputs]
        assert sources.records[one] == len(inputs)
        assert sources.last_ms[one] == max(appended)
        assert sources.mean_ms[one] == sum(appended) / len(appended)
        # event time is told to the millisecond, cut off
        told_ms = due_on_wall_ms(sources.event_last_us, AXIS)[one]
        assert told_ms == pytest.approx(max(due for _, due in inputs), abs=0.5)


def test_a_second_of_another_century_has_no_slot() -> None:
    start = AXIS.event_start_s
    second = np.array([NO_SECOND, start - 2**31 - 1, start - 1, start, start + 2**31], np.int64)
    slot, known = slots_of(second, AXIS)
    assert known.tolist() == [False, False, True, True, False]
    assert slot[known].tolist() == [-1, 0]
