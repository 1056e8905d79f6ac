"""The oracle makes of the golden input what was worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from contract.workload import Stage
from contract.workloads.traffic import WORKLOAD
from evaluator.strict_json import instant_us
from evaluator.workloads.traffic import JUDGE

GOLDEN = Path(__file__).resolve().parents[2] / "contract" / "golden"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / f"traffic.{name}.jsonl").open()]


def golden_topics() -> pa.Table:
    rows = lines("input")
    as_bytes = [[None if r[n] is None else r[n].encode() for r in rows] for n in ("key", "value")]
    return pa.table(
        {
            "kind": [r["kind"] for r in rows],
            "key": pa.array(as_bytes[0], pa.binary()),
            "value": pa.array(as_bytes[1], pa.binary()),
        }
    )


def records(stage: Stage) -> pd.DataFrame:
    topics = golden_topics()
    return JUDGE.frame(JUDGE.read_inputs(topics, stage)).assign(offset=range(topics.num_rows))


def as_told(row: Mapping[Hashable, Any], stage: Stage) -> dict[str, Any]:
    """An expected output as the golden files tell it, timestamps as instants."""
    found = {}
    for name, kind in stage.fields:
        value = row[f"expected_{name}"]
        found[name] = None if pd.isna(value) else value
        if kind in ("long", "timestamp") and found[name] is not None:
            assert float(value).is_integer()
            found[name] = int(value)
    return found


@pytest.mark.parametrize("name", ["parse", "join", "tumbling", "sliding"])
def test_the_oracle_makes_of_the_golden_input_what_was_worked_out_by_hand(name: str) -> None:
    stage = WORKLOAD.stage(name)
    expected = JUDGE.expect(records(stage), stage)
    told = {}
    for line in lines(name):
        value = {**dict.fromkeys(n for n, _ in stage.fields), **line["value"]}
        value["timestamp"] = instant_us(value["timestamp"])
        kind = "flow" if value.get("flow") is not None else "speed"
        told[line["key"], value["timestamp"], kind if name == "parse" else ""] = value
    assert len(told) == len(lines(name))
    found = {}
    for row in expected.to_dict("records"):
        key = row["location"] + (f"/{row['lane']}" if "lane" in stage.identity else "")
        found[key, row["expected_timestamp"], row["kind"]] = as_told(row, stage)
    assert found.keys() == told.keys()
    for identity, value in told.items():
        for field, says in value.items():
            near = pytest.approx(says, rel=1e-12, abs=1e-12) if isinstance(says, float) else says
            assert found[identity][field] == near, (identity, field)


def test_ingest_expects_every_record_malformed_or_not() -> None:
    stage = WORKLOAD.stage("ingest")
    expected = JUDGE.expect(records(stage), stage)
    assert expected["copies"].sum() == len(lines("input"))


def test_the_golden_input_holds_as_many_malformed_records_as_its_readme_says() -> None:
    read = records(WORKLOAD.stage("join"))
    assert (~read["well_formed"]).sum() == 15


def test_the_golden_input_is_out_of_order_by_less_than_its_readme_says() -> None:
    read = records(WORKLOAD.stage("join"))
    event_s = read["event_us"][read["well_formed"]] / 1e6
    assert (event_s.cummax() - event_s).max() <= 0.15
