"""What containers used is the growth of counters; what cAdvisor missed the Docker engine tells."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st
from influxdb_client.rest import ApiException

from contract.results import RESOURCES_COLUMNS, read_jsonl
from evaluator import monitoring
from evaluator.monitoring import (
    GAP_MS_MAX,
    RESOURCES,
    STALE_MS,
    STAND_IN,
    ask,
    bring_resources,
    rates,
    stand_ins,
)

START_MS = 1_700_000_000_000


def look(at_ms: int, cpu_ns: int | None, container: str = "a", **says: Any) -> dict[str, Any]:
    """How a container's counters stood."""
    return {
        "service": f"service-{container}",
        "container": container,
        "at_ms": START_MS + at_ms,
        "cpu_usage_ns": cpu_ns,
        "memory_bytes": 100,
        "net_in_bytes": 0,
        "net_out_bytes": 0,
        **says,
    }


def test_a_row_is_what_was_used_since_the_look_before() -> None:
    looks = [
        look(0, 5_000_000_000, net_in_bytes=10, net_out_bytes=7, memory_bytes=1),
        look(1000, 6_500_000_000, net_in_bytes=110, net_out_bytes=7, memory_bytes=2),
        look(3000, 6_500_000_000, net_in_bytes=110, net_out_bytes=9, memory_bytes=3),
    ]
    assert list(rates(looks)) == [
        {
            "at_ms": START_MS + 1000,
            "service": "service-a",
            "cpu_cores": 1.5,
            "memory_bytes": 2,
            "net_in_bytes": 100,
            "net_out_bytes": 0,
            "source": "cadvisor",
        },
        {
            "at_ms": START_MS + 3000,
            "service": "service-a",
            "cpu_cores": 0.0,
            "memory_bytes": 3,
            "net_in_bytes": 0,
            "net_out_bytes": 2,
            "source": "cadvisor",
        },
    ]


def test_a_row_has_what_is_kept_of_resources() -> None:
    (row,) = rates([look(0, 0), look(1000, 1)])
    assert set(row) == {name for name, _ in RESOURCES_COLUMNS}


def test_looks_may_come_in_any_order_and_each_container_counts_for_itself() -> None:
    looks = [look(2000, 3 * 10**9), look(1000, 500, "b"), look(0, 10**9), look(0, 0, "b")]
    rows = {row["service"]: row["cpu_cores"] for row in rates(looks)}
    assert rows == {"service-a": 1.0, "service-b": 0.0}


def test_a_service_that_was_started_anew_is_another_container() -> None:
    looks = [
        *(look(at, 10**9 + at, "first", service="spark") for at in (0, 1000)),
        *(look(at, at, "second", service="spark") for at in (2000, 3000)),
    ]
    rows = list(rates(looks))
    assert [row["at_ms"] - START_MS for row in rows] == [1000, 3000]
    assert all(0 <= row["cpu_cores"] < 1 for row in rows)


def test_counters_that_began_anew_tell_nothing_of_that_second() -> None:
    rows = list(rates([look(0, 10**9), look(1000, 5), look(2000, 10**9 + 5)]))
    assert [row["at_ms"] - START_MS for row in rows] == [2000]
    (row,) = rates([look(0, 0, net_in_bytes=900), look(1000, 10**9, net_in_bytes=3)])
    assert (row["cpu_cores"], row["net_in_bytes"], row["net_out_bytes"]) == (1.0, None, 0)


def test_what_was_not_told_is_not_taken_for_nothing() -> None:
    assert list(rates([look(0, None), look(1000, 5)])) == []
    (row,) = rates([look(0, 0, net_out_bytes=None), look(1000, 5, memory_bytes=None)])
    assert (row["net_out_bytes"], row["memory_bytes"]) == (None, None)


def test_two_looks_too_far_apart_are_no_rate() -> None:
    assert len(list(rates([look(0, 0), look(GAP_MS_MAX, 5)]))) == 1
    assert list(rates([look(0, 0), look(GAP_MS_MAX + 1, 5)])) == []
    assert list(rates([look(0, 0), look(0, 5)])) == []
    assert list(rates([look(0, 0)])) == list(rates([])) == []


@given(
    st.lists(
        st.tuples(st.integers(0, 100_000), st.one_of(st.none(), st.integers(0, 2**62))),
        max_size=30,
    )
)
def test_whatever_was_counted_no_rate_is_below_nothing(told: list[tuple[int, int | None]]) -> None:
    rows = list(rates([look(at, cpu) for at, cpu in told]))
    assert all(row["cpu_cores"] >= 0 for row in rows)
    assert [row["at_ms"] for row in rows] == sorted(row["at_ms"] for row in rows)
    assert len(rows) <= max(0, len(told) - 1)


def noted(service: str, at_ms: int) -> dict[str, Any]:
    """A line of what the Docker engine counted."""
    row = {"memory_bytes": 1, "net_in_bytes": 0, "net_out_bytes": 0}
    return {"at_ms": START_MS + at_ms, "service": service, "cpu_cores": 0.5, **row}


def test_the_docker_engine_stands_in_for_a_service_that_cadvisor_missed() -> None:
    seen = [{"service": "broker-1", "at_ms": START_MS + at} for at in range(0, 60_001, 1000)]
    engine = [noted(name, at) for at in (20_000, 40_000) for name in ("broker-1", "spark")]
    assert stand_ins(seen, engine, START_MS + 60_000) == [
        {**noted("spark", at), "source": "docker"} for at in (20_000, 40_000)
    ]


def test_it_goes_on_where_cadvisor_stopped_reporting() -> None:
    seen = [{"service": "spark", "at_ms": START_MS + at} for at in range(0, 30_001, 1000)]
    engine = [noted("spark", at) for at in (20_000, 30_000, 40_000)]
    found = stand_ins(seen, engine, START_MS + 60_000)
    assert [line["at_ms"] - START_MS for line in found] == [40_000]


def test_a_last_second_that_cadvisor_had_no_time_for_is_no_gap() -> None:
    seen = [{"service": "spark", "at_ms": START_MS + 50_000}]
    engine = [noted("spark", 52_000)]
    assert stand_ins(seen, engine, START_MS + 50_000 + STALE_MS) == []
    assert stand_ins(seen, engine, START_MS + 50_001 + STALE_MS) != []


SOURCE = {"url": "http://127.0.0.1:1", "database": "cadvisor", "services": ["spark"]}
TOLD: dict[str, Any] = {
    "monitoring_source": SOURCE,
    "observed_ms": {"from": START_MS, "to": START_MS + 60_000},
}


def answers(monkeypatch: pytest.MonkeyPatch, answer: list[dict[str, Any]] | Exception) -> None:
    def asked(source: object, from_ms: int, to_ms: int) -> list[dict[str, Any]]:
        assert (source, from_ms, to_ms) == (SOURCE, START_MS, START_MS + 60_000)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(monitoring, "ask", asked)


def test_what_both_tell_is_written_with_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, [look(at, at * 10**6) for at in range(0, 60_001, 1000)])
    lines = (json.dumps(noted(name, 30_000)) for name in ("service-a", "spark"))
    (tmp_path / STAND_IN).write_text("\n".join(lines) + "\n")
    bring_resources(tmp_path, TOLD)
    rows = read_jsonl(tmp_path / RESOURCES)
    assert {(row["service"], row["source"]) for row in rows} == {
        ("service-a", "cadvisor"),
        ("spark", "docker"),
    }
    assert len(rows) == 61


def test_where_this_machines_monitor_saw_all_nothing_is_asked_and_nothing_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, ZeroDivisionError())
    (tmp_path / RESOURCES).write_text("{}\n")
    bring_resources(tmp_path, {"monitoring_source": None})
    bring_resources(tmp_path, {})
    assert (tmp_path / RESOURCES).read_text() == "{}\n"


@pytest.mark.parametrize(
    "error",
    [
        ApiException(status=500, reason="no"),  # type: ignore[no-untyped-call]
        urllib3.exceptions.NewConnectionError(None, "nobody listens"),  # type: ignore[arg-type]
        urllib3.exceptions.HTTPError(),
        ConnectionRefusedError(111, "refused"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_influxdb_that_does_not_answer_is_said_and_the_engine_stands_in(
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers(monkeypatch, error)
    (tmp_path / STAND_IN).write_text(json.dumps(noted("spark", 1000)) + "\n")
    bring_resources(tmp_path, TOLD)
    told = capsys.readouterr().err
    assert told.startswith("evaluator: InfluxDB did not answer: ")
    assert told.count("\n") == 1
    assert [row["source"] for row in read_jsonl(tmp_path / RESOURCES)] == ["docker"]


def test_without_any_witness_there_are_no_resources_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, [])
    bring_resources(tmp_path, TOLD)
    assert read_jsonl(tmp_path / RESOURCES) == []


def test_influxdb_is_asked_for_the_time_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    values = {"service": "spark", "container": "x", "cpu_usage_ns": 7, "memory_bytes": 9}
    time = SimpleNamespace(timestamp=lambda: START_MS / 1000 + 0.0014)
    record = SimpleNamespace(values=values, get_time=lambda: time)

    class Client:
        def __init__(self, url: str, **_: object) -> None:
            assert url == SOURCE["url"]

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None: ...

        def query_api(self) -> Client:
            return self

        def query(self, query: str) -> list[Any]:
            asked.append(query)
            return [SimpleNamespace(records=[record])]

    monkeypatch.setattr(monitoring, "InfluxDBClient", Client)
    (found,) = ask(SOURCE, START_MS, START_MS + 60_500)
    assert found == {
        "service": "spark",
        "container": "x",
        "at_ms": START_MS + 1,
        "cpu_usage_ns": 7,
        "memory_bytes": 9,
        "net_in_bytes": None,
        "net_out_bytes": None,
    }
    (query,) = asked
    assert 'from(bucket: "cadvisor/autogen")' in query
    assert "start: 2023-11-14T22:13:20Z, stop: 2023-11-14T22:14:20.500000Z" in query
