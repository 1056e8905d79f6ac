"""What is JSON, an integer, a number, an instant: to the letter."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.strict_json import as_double, as_long, instant_us, parse_object

INSTANT_US = 1767596400_250_000


@pytest.mark.parametrize("value", [b'{"a":1}', b' {"a": 1}\n', b'\t{"a":1} '])
def test_an_object_is_read_whatever_white_space_surrounds_it(value: bytes) -> None:
    assert parse_object(value) == {"a": 1}


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"null",
        b"[1]",
        b'{"a":1',
        b'{"a":1} x',
        b'{"a":1}{"a":1}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b"{'a':1}",
        b'{"a":"\xff"}',
        b'{"a":' * 5000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_anything_else_is_none(value: bytes | None) -> None:
    assert parse_object(value) is None


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 2**63, [1]])
def test_what_is_no_integer_is_not_taken_for_one(value: Any) -> None:
    assert as_long(value) is None


@pytest.mark.parametrize("value", [True, float("inf"), "1", None, 10**400])
def test_what_is_no_number_is_not_taken_for_one(value: Any) -> None:
    assert as_double(value) is None


def test_integers_are_numbers() -> None:
    assert as_long(-(2**63)) == -(2**63)
    assert as_double(3) == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-05T07:00:00.25Z",
        "2026-01-05 07:00:00.250",
        "2026-01-05T07:00:00.250000000Z",
        "2026-01-05T08:30:00.25+01:30",
        "2026-01-05T05:00:00.25-0200",
    ],
)
def test_an_instant_may_be_written_in_many_ways(text: str) -> None:
    assert instant_us(text) == INSTANT_US


@pytest.mark.parametrize(
    "text", [None, 1767596400, "2026-13-05T07:00:00Z", "2026-01-05", "2026-01-05T07:00:00Z\n"]
)
def test_what_is_no_instant_is_none(text: Any) -> None:
    assert instant_us(text) is None
