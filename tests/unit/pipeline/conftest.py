"""A small Spark session, and the golden input as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

GOLDEN = Path(__file__).resolve().parents[3] / "contract" / "golden"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """As the engine sets it where outputs, exchanges or jobs depend on it."""
    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.sql.streaming.statefulOperator.checkCorrectness.enabled", "false")
        .config("spark.sql.streaming.statefulOperator.useStrictDistribution", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def golden_input() -> list[dict[str, Any]]:
    """The golden records in the order of their arrival."""
    text = (GOLDEN / "traffic.input.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return sorted(rows, key=lambda row: row["at_slot"])


def golden_outputs(stage: str) -> list[dict[str, Any]]:
    """The hand-worked outputs of a stage."""
    if stage == "ingest":
        return [{"key": r["key"], "value": r["value"]} for r in golden_input()]
    text = (GOLDEN / f"traffic.{stage}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
