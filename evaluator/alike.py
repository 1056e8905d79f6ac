"""Read JSON objects that look alike, all at once and as strictly as one by one; open nothing.

A look is which names an object has, in which order, with what white space and how its instant is
written. What is of a look is told by a regular expression that admits nothing but strict JSON
whose values are of their fields' types; an object that no look admits is left to whoever asks.
So a look may miss an object that is well-formed, and never admits one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from contract.workload import FieldType
from evaluator.strict_json import parse_object, second_of
from evaluator.workload import fields_of

#: numbers that every reader takes for the same: none overflows, none loses an integer's digits
_LONG = "-?(?:[1-9][0-9]{0,17}|0)"
_DOUBLE = _LONG + r"(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
#: without a comma: objects that look alike are cut at theirs
_STRING = r'"[^",\\\x00-\x1f]*"'
_PATTERNS: dict[FieldType, str] = {"long": _LONG, "double": _DOUBLE, "string": _STRING}
_MEMBER = re.compile(
    r'([ \t]*)"(\w+)"([ \t]*):([ \t]*)("[^"\\\x00-\x1f]*"|[-+.\w]+)([ \t]*)', re.ASCII
)
_INSTANT = re.compile(r"[-\d]{10}[T ][:\d]{8}(?:\.(\d{1,6}))?Z?", re.ASCII)
_SECOND_CHARS = 19
#: looks that are learned in a batch, and records that may turn out to have none
_LOOKS_MAX = 4
_UNLIKE_MAX = 4


@dataclass(frozen=True, slots=True)
class Fields:
    """What may be in an object, and how its instants must be written."""

    types: tuple[tuple[str, FieldType], ...]
    instant: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Member:
    """A name, and how many characters stand before and behind its value."""

    name: str
    before: int
    behind: int


@dataclass(frozen=True, slots=True)
class _Look:
    pattern: str
    members: tuple[_Member, ...]
    #: digits of the instant's fraction
    fraction_digits: int


def read_all(
    batch: pa.Table,
    fields: Fields,
    at_once: Callable[[pa.Table, pa.Table], tuple[pa.Table, pa.Array]],
    one_by_one: Callable[[pa.Table], pa.Table],
) -> pa.Table:
    """A row for each record of the batch, in its order.

    `at_once` is given records that look alike and what their values say; it gives their rows, and
    which of them it is sure of. `one_by_one` reads the others.
    """
    batch = batch.combine_chunks()
    value = batch["value"]
    values = value.chunk(0) if value.num_chunks else pa.array([], value.type)
    left = np.ones(len(values), bool)
    tables, places = [], []
    for where, said in read_alike(values, fields):
        alike = batch if len(where) == batch.num_rows else batch.take(where)
        rows, sure = at_once(alike, said)
        place = where.to_numpy()[sure.to_numpy(zero_copy_only=False)]
        tables.append(rows if len(place) == rows.num_rows else rows.filter(sure))
        places.append(place)
        left[place] = False
    if left.any() or not tables:
        tables.append(one_by_one(batch.filter(pa.array(left))))
        places.append(np.flatnonzero(left))
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables).take(np.argsort(np.concatenate(places), kind="stable"))


def read_alike(values: pa.Array, fields: Fields) -> Iterator[tuple[pa.Array, pa.Table]]:
    """For each look among the values (binary): which of them have it, and what these say.

    A column a field, in the order of `fields`; a timestamp in µs since 1970, null where it is no
    instant; what is absent is null.
    """
    left = values
    where = pa.array(np.arange(len(values)))
    looks = unlike = 0
    while len(left) and looks < _LOOKS_MAX and unlike < _UNLIKE_MAX:
        look = _look_of(left[0].as_py(), fields)
        alike = _admitted(left[:1], look)
        if look is None or not alike[0].as_py():
            unlike += 1
            left, where = left[1:], where[1:]
            continue
        looks += 1
        alike = _admitted(left, look)
        text = left if alike.true_count == len(left) else left.filter(alike)
        if _is_utf8(text):
            yield where.filter(alike), _read(text, look, fields)
        others = pc.invert(alike)
        left, where = left.filter(others), where.filter(others)


def _admitted(values: pa.Array, look: _Look | None) -> Any:
    if look is None:
        return pa.repeat(pa.scalar(False), len(values))
    return pc.match_substring_regex(values, look.pattern).fill_null(False)


def _is_utf8(values: pa.Array) -> bool:
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _look_of(value: bytes | None, fields: Fields) -> _Look | None:
    """The look of one object; None where it is not of the kind that has one."""
    if value is None or parse_object(value) is None:
        return None
    text, types = value.decode(), dict(fields.types)
    parts, members, fraction_digits, at = ["^\\{"], dict[str, _Member](), 0, 1
    while member := _MEMBER.match(text, at):
        before, name, after, ahead, says, behind = member.groups()
        if name not in types or name in members:
            return None
        if types[name] == "timestamp":
            found = _INSTANT.fullmatch(says[1:-1])
            if found is None or fields.instant.fullmatch(says[1:-1]) is None:
                return None
            fraction_digits = len(found[1] or "")
            pattern = re.sub("[0-9]", "[0-9]", says.replace(".", "[.]"))
        else:
            pattern = f"(?:{_PATTERNS[types[name]]}|null)"
        parts.append(f'{before}"{name}"{after}:{ahead}{pattern}{behind}')
        at = member.end() + 1
        # the brace that opens it stands before the first, the one that closes it behind the last
        ahead_of_value = member.start(5) - member.start() + (not members)
        members[name] = _Member(name, ahead_of_value, len(behind) + (text[at - 1] == "}"))
        if text[at - 1] != ",":
            break
        parts.append(",")
    if text[at - 1 :] != "}" or not members:
        return None
    return _Look("".join([*parts, "\\}$"]), tuple(members.values()), fraction_digits)


def _read(text: pa.Array, look: _Look, fields: Fields) -> pa.Table:
    """What they say, a column a field; cut at the commas, for none is in a value."""
    lines = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(text)]), text), b"\n")
    blob = lines[0].as_buffer()
    names = [member.name for member in look.members]
    cut = pcsv.read_csv(
        pa.BufferReader(blob),
        read_options=pcsv.ReadOptions(
            use_threads=False, column_names=names, block_size=len(blob) + 1
        ),
        parse_options=pcsv.ParseOptions(quote_char=False),
        convert_options=pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    ).combine_chunks()
    members = {member.name: member for member in look.members}
    columns = {}
    for field, (name, kind) in zip(fields_of(fields.types), fields.types, strict=True):
        if name not in members:
            columns[name] = pa.nulls(len(text), field.type)
            continue
        value = _value(cut[name].chunk(0), members[name], len(blob))
        if kind == "timestamp":
            columns[name] = _instants(_unquoted(value), look.fraction_digits)
        else:
            columns[name] = _unquoted(value) if kind == "string" else value.cast(field.type)
    return pa.table(columns)


def _value(cut: pa.Array, member: _Member, longest: int) -> pa.Array:
    """What stands in the place of the value; nothing, where that is `null`."""
    if member.behind:
        value = pc.utf8_slice_codeunits(cut, member.before, -member.behind)
    else:
        # bytes need not be counted as characters
        value = pc.binary_slice(cut.cast(pa.binary()), member.before, longest).cast(pa.string())
    null = pc.equal(value, "null")
    return pc.if_else(null, None, value) if null.true_count else value


def _unquoted(value: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(value, 1, -1)


def _instants(text: pa.Array, fraction_digits: int) -> pa.Array:
    """Epoch µs; null where a date is none."""
    seconds = pc.utf8_slice_codeunits(text, 0, _SECOND_CHARS).dictionary_encode()
    known = [second_of(told.replace(" ", "T")) for told in seconds.dictionary.to_pylist()]
    us = pc.multiply(pa.array(known, pa.int64()).take(seconds.indices), 1_000_000)
    if not fraction_digits:
        return us
    start = _SECOND_CHARS + 1
    fraction = pc.utf8_slice_codeunits(text, start, start + fraction_digits).cast(pa.int64())
    return pc.add(us, pc.multiply(fraction, 10 ** (6 - fraction_digits)))
