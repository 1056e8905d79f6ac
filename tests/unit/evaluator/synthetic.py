"""Make a complete run folder and store, as conductor, publisher, collector and a good engine would.

The engine's outputs are computed by plain loops, independently of the oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import SCHEMA, write_json
from tests.unit.evaluator.synthetic_cheats import CHANGES, change_one
from tests.unit.evaluator.synthetic_engine import (
    EVENT_START_S,
    FIRST_DUE_MS,
    Input,
    Plan,
    Record,
    input_records,
    instant,
    outputs_of,
)
from tests.unit.evaluator.synthetic_evidence import (
    run_conditions,
    write_monitoring,
    write_publisher,
)

__all__ = [
    "EVENT_START_S",
    "FIRST_DUE_MS",
    "Input",
    "Plan",
    "Record",
    "change_one",
    "input_records",
    "instant",
    "make_campaign_conditions",
    "make_run",
    "outputs_of",
    "topic_table",
]

LOG_APPEND_TIME = 1
#: what synthetic_evidence says of every run
_VARIANT = {"engine": "synthetic", "mode": "real-time", "dialect": "eager"}


def topic_table(records: list[Record], *, timestamp_type: int = LOG_APPEND_TIME) -> pa.Table:
    """Records as the collector's columns; offsets count along each partition."""
    ends: dict[tuple[str, int], int] = {}
    offsets = []
    for r in records:
        offsets.append(ends.get((r.topic, r.partition), 0))
        ends[r.topic, r.partition] = offsets[-1] + 1
    return pa.table(
        {
            "topic": pa.array([r.topic for r in records], pa.string()),
            "partition": pa.array([r.partition for r in records], pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp_ms": pa.array([r.timestamp_ms for r in records], pa.int64()),
            "timestamp_type": pa.array([timestamp_type] * len(records), pa.int32()),
            "key": pa.array([r.key for r in records], pa.binary()),
            "value": pa.array([r.value for r in records], pa.binary()),
            "kind": pa.array([r.kind for r in records], pa.string()),
        }
    )


def write_topic(path: Path, table: pa.Table) -> None:
    """As a folder of the store."""
    path.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path / "part-0.parquet")


def make_run(
    root: Path,
    *,
    cheat: str | Callable[[list[Record]], list[Record]] | None = None,
    conditions: dict[str, Any] | None = None,
    appending: Callable[[list[Input]], list[Input]] | None = None,
    inputs_also: Callable[[list[Record]], list[Record]] | None = None,
    timestamp_type: int = LOG_APPEND_TIME,
    **plan_fields: Any,
) -> tuple[Path, str]:
    """Write a run's folder and its topics; give the folder and the store's address.

    `cheat` names (see `CHANGES`) or is what happens to the outputs. `appending` is what happens
    between publisher and broker, so that the engine sees it too; `inputs_also` is what happens
    to the input topics unseen by the engine. `conditions` replaces keys of the conductor's
    evidence, the rest is a `Plan`.
    The folder is `root/<campaign_id>/runs/<number>-<stage>`, the store `root/store`.
    """
    plan = Plan(**plan_fields)
    run_dir = root / plan.campaign_id / "runs" / f"{plan.number}-{plan.stage}"
    (run_dir / "evidence").mkdir(parents=True, exist_ok=True)
    (run_dir / "logs").mkdir(exist_ok=True)
    sent = list(input_records(plan))
    inputs = appending(sent) if appending is not None else sent
    outputs = outputs_of(plan, inputs)
    if isinstance(cheat, str):
        outputs = CHANGES[cheat](outputs, plan)
    elif cheat is not None:
        outputs = cheat(outputs)
    appended = sorted((r for r, *_ in inputs), key=lambda r: r.timestamp_ms)
    if inputs_also is not None:
        appended = inputs_also(appended)
    stored = root / "store" / plan.campaign_id / run_dir.name
    inputs_table, outputs_table = (
        topic_table(records, timestamp_type=timestamp_type) for records in (appended, outputs)
    )
    write_topic(stored / "inputs", inputs_table)
    write_topic(stored / "outputs", outputs_table.drop_columns(["kind"]))
    write_json(run_dir / "evidence" / "conditions.json", run_conditions(plan) | (conditions or {}))
    write_publisher(run_dir, plan, sent, inputs)
    write_monitoring(run_dir, plan)
    return run_dir, f"file:{root}/store"


def make_campaign_conditions(root: Path, runs: list[Path], campaign_id: str = "c") -> Path:
    """Write the conductor's conditions.json of a campaign of these runs; give its folder."""
    stages = [run.name.split("-", 1)[1] for run in runs]
    told = [
        {
            "path": f"runs/{run.name}",
            "stage": stage,
            **_VARIANT,
            "repetition": stages[:i].count(stage) + 1,
            "ended": "valid",
        }
        for i, (run, stage) in enumerate(zip(runs, stages, strict=True))
    ]
    facts = {
        "schema": SCHEMA,
        "campaign_id": campaign_id,
        "question": "What does the join cost?",
        "command": ["tollgate", "bench"],
        "started_at": "2026-11-18T10:00:00Z",
        "ended_at": "2026-11-18T10:10:00Z",
        "verb": "bench",
        "settings": {"workload": "traffic", "runtime": "embedded", "rate": 16},
        "variants": [{**_VARIANT, "engine_version": "0", "settings": {}}],
        "preliminary": False,
        "interruptions": [],
        "asked_all": False,
        "stages": list(dict.fromkeys(stages)),
        "repeat": max(stages.count(s) for s in stages),
        "runs": told,
        "machine": {
            "cpu_model": "synthetic",
            "cores": 2,
            "memory_bytes": 8 * 1024**3,
            "kernel": "6",
            "os": "Debian",
            "python": "3.11",
            "java": "17",
            "virtualization": None,
        },
        "pins": {"tollgate": "0", "git_commit": None, "git_dirty": None, "packages": {}},
        "store": f"file:{root}/store",
        "store_kept": None,
        "complete": True,
        "says": None,
    }
    write_json(root / campaign_id / "conditions.json", facts)
    return root / campaign_id
