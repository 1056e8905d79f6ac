"""Set each output against what its inputs demand, value by value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from contract.workload import FieldType, Stage
from evaluator.rebuild.timing import Timing
from evaluator.workload import IDENTITY

DOUBLE_RELATIVE = 1e-9
DOUBLE_ABSOLUTE = 1e-12

Verdict = Literal["correct", "wrong", "duplicate", "unexpected", "missing", "incomplete"]
#: location, lane, kind, second, token
Identity = tuple[str, str, str, int, str]


@dataclass(slots=True)
class Source:
    """The inputs that an output of one identity is made from."""

    records: int
    at_ms_sum: int
    at_ms_last: int
    event_us_last: int

    @property
    def at_ms_mean(self) -> float:
        return self.at_ms_sum / self.records


class Wanted(NamedTuple):
    """What must come of an identity, and how often."""

    copies: int
    fields: tuple[Any, ...]


class Came(NamedTuple):
    """An output: when and where it was appended, and what it says."""

    at_ms: int
    partition: int
    offset: int
    flaw: str | None
    fields: tuple[Any, ...]


class Judged(NamedTuple):
    """A verdict: on an output, or on what did not come."""

    verdict: Verdict
    identity: Identity
    slot: int | None
    #: the slot up to which it had to be there; None where no input tells
    awaited: int | None
    #: when the output was appended
    at_ms: int | None
    source: Source | None
    #: whether it is the first that is said of its identity
    first: bool = True
    #: of an identity, told once: how many had to come, and how many did not
    expected: int = 0
    lacking: int = 0


def judge(
    inputs: pa.Table, outputs: pa.Table, expected: pa.Table, stage: Stage, timing: Timing
) -> Iterator[Judged]:
    """The verdicts on all that has to do with some locations."""
    sources = _sources(inputs, stage)
    wanted = _wanted(expected, stage)
    came = _came(outputs, stage)
    kinds = [kind for _, kind in stage.fields]
    for identity, source in sources.items():
        if identity not in came:
            yield _lacks(identity, source, wanted.get(identity), timing)
    for identity, all_came in came.items():
        from_what = sources.get(identity)
        due = wanted.get(identity) if from_what is not None else None
        yield from _verdicts(
            identity, sorted(all_came, key=_as_appended), from_what, due, kinds, timing
        )


def _as_appended(came: Came) -> tuple[int, int, int]:
    return came.at_ms, came.partition, came.offset


def _lacks(identity: Identity, source: Source, due: Wanted | None, timing: Timing) -> Judged:
    slot, awaited = _slots(identity, source, timing)
    if due is None:
        return Judged("incomplete", identity, slot, awaited, None, source)
    told = (due.copies, due.copies)
    return Judged("missing", identity, slot, awaited, None, source, True, *told)


def _verdicts(
    identity: Identity,
    came: list[Came],
    source: Source | None,
    due: Wanted | None,
    kinds: list[FieldType],
    timing: Timing,
) -> Iterator[Judged]:
    """On the outputs of one identity, in the order in which they were appended."""
    slot, awaited = _slots(identity, source, timing)
    copies = due.copies if due is not None else 0
    for place, output in enumerate(came):
        verdict: Verdict = "correct"
        if due is None:
            verdict = "unexpected"
        elif place >= copies:
            verdict = "duplicate"
        elif output.flaw or not _all_same(due.fields, output.fields, kinds):
            verdict = "wrong"
        first = place == 0
        told = (copies, max(0, copies - len(came))) if first else (0, 0)
        yield Judged(verdict, identity, slot, awaited, output.at_ms, source, first, *told)


def _slots(
    identity: Identity, source: Source | None, timing: Timing
) -> tuple[int | None, int | None]:
    """The identity's own slot, and the one by which its output is due."""
    slot = timing.slot_of(identity[3])
    if slot is None and source is not None:
        return None, timing.slot_at(source.at_ms_last)
    return slot, slot


def _all_same(wanted: tuple[Any, ...], got: tuple[Any, ...], kinds: list[FieldType]) -> bool:
    return all(same(*pair) for pair in zip(wanted, got, kinds, strict=True))


def same(wanted: Any, got: Any, kind: FieldType) -> bool:
    """Whether a field says what it must: a null only null, doubles but for their last digits."""
    if wanted is None or got is None:
        return wanted is None and got is None
    if kind != "double" or wanted == got:
        return bool(wanted == got)
    allowed = max(DOUBLE_RELATIVE * abs(wanted), DOUBLE_RELATIVE * abs(got), DOUBLE_ABSOLUTE)
    return bool(abs(wanted - got) <= allowed)


def _sources(inputs: pa.Table, stage: Stage) -> dict[Identity, Source]:
    """What came in of each identity that an output of this stage can have."""
    found: dict[Identity, Source] = {}
    names = ("timestamp_ms", "event_us", "well_formed")
    rows = zip(
        _identities(inputs, stage.identity),
        *(inputs[name].to_pylist() for name in names),
        strict=True,
    )
    for identity, at_ms, event_us, well_formed in rows:
        if stage.fields and not well_formed:
            continue  # only a stage that passes records on as they are passes these
        known = found.get(identity)
        if known is None:
            found[identity] = Source(1, at_ms, at_ms, event_us)
            continue
        known.records += 1
        known.at_ms_sum += at_ms
        known.at_ms_last = max(known.at_ms_last, at_ms)
        known.event_us_last = max(known.event_us_last, event_us)
    return found


def _identities(table: pa.Table, told: tuple[str, ...] = IDENTITY) -> Iterator[Identity]:
    """Of each row: what tells it from others, but for what the stage does not tell by."""
    always = ("second", "token")
    columns: list[list[Any]] = [
        table[name].to_pylist() if name in always or name in told else [""] * table.num_rows
        for name in IDENTITY
    ]
    return zip(*columns, strict=True)


def _wanted(expected: pa.Table, stage: Stage) -> dict[Identity, Wanted]:
    copies = expected["copies"].to_pylist()
    rows = zip(_identities(expected), copies, _values(expected, "expected", stage), strict=True)
    return {identity: Wanted(number, fields) for identity, number, fields in rows}


def _came(outputs: pa.Table, stage: Stage) -> dict[Identity, list[Came]]:
    names = ("timestamp_ms", "partition", "offset", "flaw")
    columns = (outputs[name].to_pylist() for name in names)
    came = map(Came, *columns, _values(outputs, "got", stage))
    found: dict[Identity, list[Came]] = {}
    for identity, output in zip(_identities(outputs), came, strict=True):
        found.setdefault(identity, []).append(output)
    return found


def _values(table: pa.Table, whose: str, stage: Stage) -> Iterator[tuple[Any, ...]]:
    """The stage's fields of each row."""
    if not stage.fields:
        return iter([()] * table.num_rows)
    return zip(*(table[f"{whose}_{name}"].to_pylist() for name, _ in stage.fields), strict=True)
