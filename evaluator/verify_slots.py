"""Check slots.parquet against the samples, the publisher's account and what run.json counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator import quantities
from evaluator.quantities import Floats, flags, floats
from evaluator.verify_parts import RELATIVE, Check, Kept


def check_slots(kept: Kept) -> Iterator[Check]:
    """All that another file tells of the slots, too."""
    if kept.slots is None:
        return
    yield from _accounts(kept, kept.slots)
    if kept.latency is not None:
        yield from _latencies(kept.latency, kept.slots, kept.name)
    window, told = kept.conditions.get("window"), kept.run.get("outputs") or {}
    if window:
        slot = floats(kept.slots, "slot")
        inside = (slot >= window["first_slot"]) & (slot <= window["last_slot"])
        wrong = flags(kept.slots, "measured") != inside
        yield Check(f"{kept.name} slots.parquet measured, rows amiss", 0, int(wrong.sum()))
        if told.get("expected") is not None and told.get("correct") is not None:
            until = slot <= window["last_slot"]
            yield from _outputs(told, kept.slots, until, f"{kept.name} outputs")


def _accounts(kept: Kept, slots: pa.Table) -> Iterator[Check]:
    """Of each slot, when it was due and what the publisher tells of it."""
    slot = floats(slots, "slot")
    begin_ms = float(kept.conditions.get("first_due_ms") or 0)
    found = {"due_ms": begin_ms + slot * float(kept.conditions.get("slot_ms") or 1000)}
    if kept.sent is not None:
        found |= quantities.slot_accounts(kept.sent, slot)
    for column, values in found.items():
        yield _rows_amiss(kept.name, column, floats(slots, column), values)


def _latencies(latency: pa.Table, slots: pa.Table, name: str) -> Iterator[Check]:
    """The quantiles of each measured slot are those of its samples."""
    measured = flags(slots, "measured")
    found = quantities.slot_quantiles(latency, floats(slots, "slot")[measured])
    for column, values in found.items():
        yield _rows_amiss(name, column, floats(slots, column)[measured], values)


def _outputs(
    told: dict[str, Any], slots: pa.Table, until: quantities.Flags, where: str
) -> Iterator[Check]:
    """What had to come and what came, slot by slot; malformed inputs have no slot."""
    expected, came = (quantities.total(slots, name, until) or 0 for name in ("expected", "outputs"))
    rest = told["expected"] - expected
    agrees = 0 <= rest <= (told.get("malformed_inputs") or 0)
    yield Check(f"{where} expected, of slots", told["expected"], expected, agrees=agrees)
    faulty = sum(told.get(name) or 0 for name in ("wrong", "duplicate", "unexpected"))
    says = f"{came} came, {faulty} are faulty"
    agrees = told["correct"] - rest <= came <= told["correct"] + faulty
    yield Check(f"{where} correct, of slots", told["correct"], says, agrees=agrees)


def _rows_amiss(name: str, column: str, told: Floats, found: Floats) -> Check:
    same = np.isclose(told, found, rtol=RELATIVE, atol=1e-12, equal_nan=True)
    return Check(f"{name} slots.parquet {column}, rows amiss", 0, int((~same).sum()))
