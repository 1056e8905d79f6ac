"""Fetch what cAdvisor noted of each container from InfluxDB; the only file that asks it.

Where cAdvisor has nothing of a container, the Docker engine's own statistics, which the conductor
noted, stand in; each row says where it is from.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import urllib3
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException

from contract.results import read_jsonl

RESOURCES = "resources.jsonl"
STAND_IN = "engine-statistics.jsonl"
CADVISOR, ENGINE = "cadvisor", "docker"
ASK_S_MAX = 30
#: two looks further apart are not one rate
GAP_MS_MAX = 15_000
#: who was not heard of for so long is not reported any more
STALE_MS = 5_000
_FIELDS = ("cpu_usage_ns", "memory_bytes", "net_in_bytes", "net_out_bytes")


def bring_resources(evidence: Path, told: Mapping[str, Any]) -> None:
    """Write resources.jsonl of a run in containers; who is missing in it was seen by nobody."""
    source = told.get("monitoring_source")
    if source is None:
        return
    observed = told["observed_ms"]
    rows: list[dict[str, Any]] = []
    try:
        rows += rates(ask(source, observed["from"], observed["to"]))
    except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
        print(f"evaluator: InfluxDB did not answer: {_brief(error)}", file=sys.stderr)
    rows += stand_ins(rows, read_jsonl(evidence / STAND_IN), observed["to"])
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (evidence / RESOURCES).write_text(text, encoding="utf-8")


def stand_ins(
    rows: Sequence[Mapping[str, Any]], engine: Sequence[Mapping[str, Any]], until_ms: int
) -> list[dict[str, Any]]:
    """What the Docker engine noted of services that cAdvisor missed, or stopped reporting."""
    last_ms: dict[str, int] = {}
    for row in rows:
        last_ms[row["service"]] = max(last_ms.get(row["service"], 0), row["at_ms"])
    found = []
    for line in engine:
        after_ms = last_ms.get(line["service"], 0)
        if until_ms - after_ms > STALE_MS and line["at_ms"] > after_ms:
            found.append({**line, "source": ENGINE})
    return found


def ask(source: Mapping[str, Any], from_ms: int, to_ms: int) -> list[dict[str, Any]]:
    """One row a container and look: service, at_ms, and the counters as they stood."""
    query = (
        f'from(bucket: "{source["database"]}/autogen")'
        f" |> range(start: {_time(from_ms)}, stop: {_time(to_ms)})"
        ' |> filter(fn: (r) => r._measurement == "container")'
        ' |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")'
    )
    # 1.8 has neither tokens nor organisations; the client wants both
    with InfluxDBClient(source["url"], token="-", org="-", timeout=ASK_S_MAX * 1000) as client:
        tables = client.query_api().query(query)
    return [
        {
            "service": record.values["service"],
            "container": record.values["container"],
            "at_ms": round(record.get_time().timestamp() * 1000),
            **{name: record.values.get(name) for name in _FIELDS},
        }
        for table in tables
        for record in table.records
    ]


def rates(looks: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """Rows of resources.jsonl, from counters: what was used since the look before."""
    of_container: dict[str, list[Mapping[str, Any]]] = {}
    for look in looks:
        of_container.setdefault(str(look["container"]), []).append(look)
    for mine in of_container.values():
        ordered = sorted(mine, key=lambda look: int(look["at_ms"]))
        yield from _of_one(ordered)


def _of_one(ordered: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    for before, now in pairwise(ordered):
        span_ms = int(now["at_ms"]) - int(before["at_ms"])
        used_ns = _since(before, now, "cpu_usage_ns")
        if not 0 < span_ms <= GAP_MS_MAX or used_ns is None:
            continue
        yield {
            "at_ms": int(now["at_ms"]),
            "service": str(now["service"]),
            "cpu_cores": round(used_ns / 1e6 / span_ms, 4),
            "memory_bytes": now["memory_bytes"],
            "net_in_bytes": _since(before, now, "net_in_bytes"),
            "net_out_bytes": _since(before, now, "net_out_bytes"),
            "source": CADVISOR,
        }


def _since(before: Mapping[str, Any], now: Mapping[str, Any], name: str) -> int | None:
    """How much a counter grew; None where it was not told, or began anew."""
    first, last = before[name], now[name]
    if first is None or last is None or last < first:
        return None
    return int(last) - int(first)


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def _brief(error: Exception) -> str:
    said = str(error).splitlines()
    return said[0][:200] if said else type(error).__name__
