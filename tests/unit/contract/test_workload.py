"""Workload words: keys, event seconds, stages."""

from __future__ import annotations

import pytest

from contract.errors import UsageError
from contract.workload import load_workload
from contract.workloads.traffic import event_second_of, split_key


def test_a_location_holds_slashes() -> None:
    assert split_key("a/b/00001/lane2") == ("a/b/00001", "lane2")
    for bad in ("lane2", "/lane2", "a/", ""):
        assert split_key(bad) is None


@pytest.mark.parametrize(
    "value",
    [
        b'{"timestamp":"2026-01-05T07:00:17.437Z"}',
        b'{"x":1, "timestamp": "2026-01-05 07:00:17"}',
    ],
)
def test_event_second(value: bytes) -> None:
    assert event_second_of(value) == 1767596417
    assert event_second_of(b"{}") is None


def test_a_prefix_names_its_predecessor() -> None:
    traffic = load_workload("traffic")
    names = [stage.name for stage in traffic.stages]
    assert [stage.predecessor for stage in traffic.stages] == [None, *names[:-1]]
    with pytest.raises(UsageError, match="did you mean traffic"):
        load_workload("trafic")
