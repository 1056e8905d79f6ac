"""What conductor and publisher would have written of a run in which nothing went wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import SCHEMA, write_json
from tests.unit.evaluator.synthetic_engine import EVENT_START_S, Input, Plan


def run_conditions(plan: Plan) -> dict[str, Any]:
    """The conductor's evidence of a run in which nothing went wrong."""
    names = {"flow": f"r{plan.number}.flow", "speed": f"r{plan.number}.speed"}
    output = f"r{plan.number}.out"
    topics = [*names.values(), output]
    leaders = [
        {"topic": t, "partition": p, "leader": 1, "epoch": 0, "replicas": [1], "isr": [1]}
        for t in topics
        for p in (0, 1)
    ]
    types = dict.fromkeys(topics, "LogAppendTime")
    rate = round(plan.locations * plan.lanes * 2 * 1000 / plan.slot_ms)
    slot_s = plan.slot_ms / 1000
    measured = plan.window["last_slot"] - plan.window["first_slot"] + 1
    return {
        "schema": SCHEMA,
        "run_id": f"{plan.campaign_id}-{plan.number}-{plan.stage}",
        "workload": "traffic",
        "stage": plan.stage,
        "engine": "synthetic",
        "engine_version": "0",
        "delivery": "exactly-once",
        "mode": "real-time",
        "dialect": plan.dialect,
        "runtime": "embedded",
        "settings": {
            "rate": rate,
            "warmup_s": plan.warmup_slots * slot_s,
            "duration_s": measured * slot_s,
            "cooldown_s": plan.cooldown_slots * slot_s,
            "brokers": 1,
            "replication": 1,
            "partitions": 2,
            "parallelism": 2,
            "instances": 1,
            "seed": plan.seed,
            "temporal_scale": 60 / slot_s,
            "arrival": "adjacent",
            "source": "network",
            "checkpoint_s": plan.checkpoint_s,
            "engine": {},
        },
        "bootstrap_servers": "127.0.0.1:1",
        "topics": {"inputs": names, "output": output},
        "same_machine": True,
        "disorder_ms_max": plan.disorder_ms_max,
        "checkpoint_s": plan.checkpoint_s,
        "first_due_ms": plan.first_due_ms,
        "event_start_s": EVENT_START_S,
        "slot_ms": plan.slot_ms,
        "ready": {"at_ms": int(plan.first_due_ms), "slot": -1},
        "window": plan.window,
        "last_slot": plan.slots - 1,
        "leaders": {"before": leaders, "after": leaders},
        "clock_broker": 1,
        "timestamp_types": {"before": types, "after": types},
        "clock_step_ms": 0.2,
        "deaths": [],
        "interrupted": False,
        "never_ready": None,
        "drained": True,
        "drain_says": "all outputs of the window came",
        "cores": 2,
        "monitoring": True,
        "fault_injected": False,
        "engine_services": ["engine"],
        "limits": None,
        "images": None,
        "monitoring_source": None,
        "observed_ms": {
            "from": int(plan.first_due_ms) - 5000,
            "to": int(plan.first_due_ms) + 60_000,
        },
        "phases_s": {"set_up": 1.0, "start": 2.0, "warm_up": 5.0, "measure": 30.0, "drain": 1.0},
    }


def write_publisher(run_dir: Path, plan: Plan, inputs: list[Input], appended: list[Input]) -> None:
    """The publisher's account of `inputs`; those that were not appended nobody acknowledged."""
    late_us = [max(0, round((r.timestamp_ms - due_ms) * 1000) - 200) for r, _, due_ms in inputs]
    there = {(r.topic, r.key, r.slot) for r, *_ in appended}
    acks = [(r.topic, r.key, r.slot) in there for r, *_ in inputs]
    ack_us = [late + 900 if ack else None for late, ack in zip(late_us, acks, strict=True)]
    table = pa.table(
        {
            "slot": pa.array([r.slot for r, _, _ in inputs], pa.int32()),
            "due_us": pa.array([round((due - plan.first_due_ms) * 1000) for *_, due in inputs]),
            "late_us": pa.array(late_us, pa.int32()),
            "ack_us": pa.array(ack_us, pa.int32()),
        }
    )
    pq.write_table(table, run_dir / "evidence" / "publisher-0.parquet")
    told = {"scheduled": len(inputs), "sent": len(inputs), "acknowledged": sum(acks)}
    told |= {"failed": len(inputs) - sum(acks)}
    facts = {
        "schema": SCHEMA,
        "processes": 1,
        "first_due_ms": plan.first_due_ms,
        "event_start_s": EVENT_START_S,
        "slot_ms": plan.slot_ms,
        "records_per_slot": plan.locations * plan.lanes * 2,
        "locations": plan.locations,
        "last_slot": plan.slots - 1,
        "source": {"name": "network", "files": [], "records": 0, "bad_lines": 0},
    }
    write_json(run_dir / "evidence" / "publisher.json", {**facts, **told})


def write_monitoring(run_dir: Path, plan: Plan) -> None:
    seconds = round(plan.slots * plan.slot_ms / 1000)
    lines, machine = [], []
    for second in range(seconds):
        at_ms = int(plan.first_due_ms) + second * 1000
        for service, cores, memory in (("broker-1", 0.2, 3e8), ("engine", 0.5, 9e8)):
            line = {"at_ms": at_ms, "service": service, "cpu_cores": cores + second % 3 / 20}
            line |= {"memory_bytes": int(memory), "net_in_bytes": None, "net_out_bytes": None}
            line |= {"source": "psutil"}
            lines.append(json.dumps(line))
        look = {"at_ms": at_ms, "cores": 2, "busy_cores": 0.9, "steal_cores": 0.0}
        look |= {"iowait_cores": 0.0, "ours_cores": 0.88, "swap_out_bytes": 0}
        look |= {"disk_free_bytes": 50 * 1024**3, "memory_available_bytes": 8 * 1024**3}
        machine.append(json.dumps(look))
    (run_dir / "evidence" / "resources.jsonl").write_text("\n".join(lines) + "\n")
    (run_dir / "evidence" / "machine.jsonl").write_text("\n".join(machine) + "\n")
