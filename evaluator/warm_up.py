"""Evaluate a run of nothing, so that the first real one finds the JVM and its workers warm."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from contract.results import RunFolder, write_json
from contract.workload import load_workload, workload_names
from evaluator.evaluate import evaluate_run
from evaluator.session import connector_jars
from evaluator.store import INPUTS_SCHEMA, Store

_RECORDS = 64


def warm_up(spark: SparkSession) -> None:
    """Go once through all that an evaluation does, in a temporary folder."""
    workload = load_workload(workload_names()[0])
    if connector_jars():
        # nothing is read, but the connector's classes are loaded
        spark.read.format("kafka").options(
            **{"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "none"}
        ).load()
    with tempfile.TemporaryDirectory(prefix="tollgate-warm-up-") as name:
        folder = Path(name)
        run = RunFolder(folder / "runs" / "1-warm-up")
        rows = [
            ("warm", i % 2, i // 2, i, 1, b"a/%d" % i, b"{}", kind)
            for kind in workload.kinds
            for i in range(_RECORDS)
        ]
        records = spark.createDataFrame(rows, INPUTS_SCHEMA)
        store = Store(spark, folder.as_uri(), "warm", run.path.name)
        store.write_inputs(records)
        store.write_outputs(records.drop("kind"))
        conditions = {
            "workload": workload.name,
            "stage": workload.stages[-1].name,
            "settings": {"rate": _RECORDS},
            "window": {"first_slot": 0, "last_slot": 1},
        }
        write_json(run.conditions, conditions)
        evaluate_run(spark, run.path, folder.as_uri(), "warm", collecting=False)
