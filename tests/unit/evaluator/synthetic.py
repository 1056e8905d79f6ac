"""Make a complete run folder and store, as conductor, publisher, collector and a good engine would.

The engine's outputs are computed here by plain loops, independently of the oracle.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import write_json

EVENT_START_S = 1767596400
FIRST_DUE_MS = 1763465000000.0
LOG_APPEND_TIME = 1


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic, as the collector stores it."""

    topic: str
    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    kind: str = ""
    slot: int = 0
    #: what it says, before it became bytes
    says: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What `make_run` is asked for."""

    stage: str = "join"
    slots: int = 40
    locations: int = 4
    lanes: int = 2
    number: int = 1
    campaign_id: str = "c"
    warmup_slots: int = 5
    cooldown_slots: int = 4
    slot_ms: float = 1000.0
    latency_ms: float = 6.0
    seed: int = 1
    #: every so many seconds the engine says nothing for `stall_ms`
    stall_every_s: float | None = None
    stall_ms: float = 400.0
    #: the slowest the broker appended, after the record was due
    late_ms: float = 2.0
    #: what `delay_ms(slot)` adds to an output's latency
    delay_ms: Callable[[int], float] | None = None
    repetition: int = 1

    @property
    def window(self) -> dict[str, int]:
        return {
            "first_slot": self.warmup_slots,
            "last_slot": self.slots - self.cooldown_slots - 1,
        }


def instant(second: int, millisecond: int = 0) -> str:
    """As ISO with milliseconds and Z."""
    text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{millisecond:03d}Z"


def input_records(plan: Plan) -> Iterator[tuple[Record, dict[str, Any], float]]:
    """Each input record, what it says (with location and lane), when it was due in ms."""
    rng = random.Random(plan.seed)
    per_slot = plan.locations * plan.lanes * 2
    for slot in range(plan.slots):
        index = 0
        for place in range(plan.locations):
            location = f"net/{place % 7}/place-{place:05d}"
            for number in range(plan.lanes):
                for kind in ("flow", "speed"):
                    fraction = index / per_slot
                    index += 1
                    lane = f"lane{number + 1}"
                    says: dict[str, Any] = {
                        "internalId": lane,
                        "lat": round(51 + place / 1000, 5),
                        "long": round(5 + place / 777, 5),
                    }
                    if kind == "flow":
                        says["flow"] = 0 if place == 0 and slot % 9 == 0 else rng.randrange(1, 60)
                        says["period"] = 60
                    else:
                        says["speed"] = round(rng.uniform(40, 130), 1)
                    says["accuracy"] = rng.randrange(80, 101)
                    says["timestamp"] = instant(EVENT_START_S + slot, int(fraction * 1000))
                    says["num_lanes"] = plan.lanes
                    due_ms = FIRST_DUE_MS + (slot + fraction) * plan.slot_ms
                    record = Record(
                        f"r{plan.number}.{kind}",
                        place % 2,
                        int(due_ms + rng.uniform(0.3, plan.late_ms)),
                        f"{location}/{lane}".encode(),
                        json.dumps(says, separators=(",", ":")).encode(),
                        kind,
                        slot,
                    )
                    yield record, {**says, "location": location, "lane": lane}, due_ms


@dataclass(slots=True)
class _Engine:
    """A good engine: plain dictionaries, and the append time of the last contributor."""

    stage: str
    pairs: dict[tuple[str, str, int], dict[str, Any]]
    windows: dict[tuple[str, int], list[dict[str, Any]]]
    totals: dict[tuple[str, int], dict[str, Any]]

    def take(self, record: Record, says: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The outputs that this record completes, as key and value."""
        location, lane, slot = says["location"], says["lane"], record.slot
        own = {k: v for k, v in says.items() if k != "internalId"}
        if self.stage == "parse":
            yield f"{location}/{lane}", own
            return
        other = self.pairs.pop((location, lane, slot), None)
        if other is None:
            self.pairs[location, lane, slot] = own
            return
        flow, speed = (own, other) if "flow" in own else (other, own)
        second = instant(EVENT_START_S + slot)
        joined = {
            **flow,
            "speed": speed["speed"],
            "accuracy": min(flow["accuracy"], speed["accuracy"]),
            "timestamp": second,
        }
        if self.stage == "join":
            yield f"{location}/{lane}", joined
            return
        lanes = self.windows.setdefault((location, slot), [])
        lanes.append(joined)
        if len(lanes) < joined["num_lanes"]:
            return
        total = {
            "location": location,
            "timestamp": second,
            "flow": sum(x["flow"] for x in lanes),
            "speed": sum(x["speed"] for x in lanes) / len(lanes),
            "lanes": len(lanes),
        }
        self.totals[location, slot] = total
        if self.stage == "tumbling":
            yield location, total
            return
        short, long = self.totals.get((location, slot - 5)), self.totals.get((location, slot - 10))
        if short is not None and long is not None:
            for name in ("flow", "speed"):
                for span, then in (("short", short), ("long", long)):
                    was = then[name]
                    change = (total[name] - was) / was if was else None
                    total = {**total, f"{name}_change_{span}": change}
            yield location, total


def outputs_of(plan: Plan, inputs: list[tuple[Record, dict[str, Any], float]]) -> list[Record]:
    """What a good engine appends, in the order of appending."""
    rng = random.Random(plan.seed + 1)
    engine = _Engine(plan.stage, {}, {}, {})
    free_ms = 0.0
    found: list[Record] = []
    for record, says, _ in sorted(inputs, key=lambda x: x[0].timestamp_ms):
        if plan.stage == "ingest":
            made = [(record.key, record.value, None)]
        else:
            made = [
                (key.encode(), json.dumps(value, separators=(",", ":")).encode(), value)
                for key, value in engine.take(record, says)
            ]
        for key, value, told in made:
            extra_ms = plan.delay_ms(record.slot) if plan.delay_ms else 0.0
            at_ms = record.timestamp_ms + plan.latency_ms * rng.uniform(0.7, 1.6) + extra_ms
            if plan.stall_every_s is not None:
                every_ms = plan.stall_every_s * 1000
                into_ms = (at_ms - FIRST_DUE_MS) % every_ms
                if into_ms < plan.stall_ms and at_ms - FIRST_DUE_MS > every_ms:
                    at_ms += plan.stall_ms - into_ms
            free_ms = max(at_ms, free_ms)
            found.append(
                Record(
                    f"r{plan.number}.out",
                    record.partition,
                    int(free_ms),
                    key,
                    value,
                    record.kind,
                    record.slot,
                    told,
                )
            )
    return found


def change_one(outputs: list[Record], where: Callable[[Record], bool], **says: Any) -> list[Record]:
    """The outputs with one value changed: the first where `where` holds."""
    changed = list(outputs)
    index = next(i for i, r in enumerate(changed) if where(r))
    told = {**(changed[index].says or {}), **says}
    changed[index] = replace(changed[index], says=told, value=json.dumps(told).encode())
    return changed


def _cheat(name: str, outputs: list[Record], plan: Plan) -> list[Record]:
    middle = plan.window["first_slot"] + 1
    hit = next(i for i, r in enumerate(outputs) if r.slot == middle)
    if name == "drop":
        return [r for i, r in enumerate(outputs) if i % 1000 != hit % 1000]
    if name == "double":
        return [*outputs[: hit + 1], outputs[hit], *outputs[hit + 1 :]]
    if name == "off-by-one":
        told = outputs[hit].says or {}
        field = "flow" if "flow" in told else "accuracy"
        return change_one(outputs, lambda r: r is outputs[hit], **{field: told[field] + 1})
    if name == "early":
        hasty = replace(outputs[hit], timestamp_ms=outputs[hit].timestamp_ms - 200)
        return [*outputs[:hit], hasty, *outputs[hit + 1 :]]
    raise ValueError(f"no such cheat: {name}")


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
        "schema": 1,
        "run_id": f"r{plan.number}",
        "workload": "traffic",
        "stage": plan.stage,
        "engine": "synthetic",
        "engine_version": "0",
        "delivery": "exactly-once",
        "mode": "real-time",
        "dialect": "eager",
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
            "checkpoint_s": 10,
            "engine": {},
        },
        "bootstrap_servers": "127.0.0.1:1",
        "topics": {"inputs": names, "output": output},
        "same_machine": True,
        "disorder_ms_max": None,
        "checkpoint_s": 5,
        "first_due_ms": FIRST_DUE_MS,
        "event_start_s": EVENT_START_S,
        "slot_ms": plan.slot_ms,
        "ready": {"at_ms": int(FIRST_DUE_MS) + 1000, "slot": 1},
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
        "phases_s": {"set_up": 1.0, "start": 2.0, "warm_up": 5.0, "measure": 30.0, "drain": 1.0},
    }


def _write_publisher(run_dir: Path, plan: Plan, inputs: list[Any]) -> None:
    late_us = [max(0, round((r.timestamp_ms - due_ms) * 1000) - 200) for r, _, due_ms in inputs]
    table = pa.table(
        {
            "slot": pa.array([r.slot for r, _, _ in inputs], pa.int32()),
            "due_us": pa.array([round((due - FIRST_DUE_MS) * 1000) for *_, due in inputs]),
            "late_us": pa.array(late_us, pa.int32()),
            "ack_us": pa.array([late + 900 for late in late_us], pa.int32()),
        }
    )
    pq.write_table(table, run_dir / "evidence" / "publisher-0.parquet")
    told = {"scheduled": len(inputs), "sent": len(inputs), "acknowledged": len(inputs), "failed": 0}
    facts = {
        "schema": 1,
        "processes": 1,
        "first_due_ms": FIRST_DUE_MS,
        "event_start_s": EVENT_START_S,
        "slot_ms": plan.slot_ms,
        "records_per_slot": plan.locations * plan.lanes * 2,
        "locations": plan.locations,
        "last_slot": plan.slots - 1,
        "source": {"name": "network", "files": [], "records": 0, "bad_lines": 0},
    }
    write_json(run_dir / "evidence" / "publisher.json", {**facts, **told})


def _write_monitoring(run_dir: Path, plan: Plan) -> None:
    seconds = round(plan.slots * plan.slot_ms / 1000)
    lines, machine = [], []
    for second in range(seconds):
        at_ms = int(FIRST_DUE_MS) + second * 1000
        for service, cores, memory in (("broker-1", 0.2, 3e8), ("engine", 0.5, 9e8)):
            line = {"at_ms": at_ms, "service": service, "cpu_cores": cores + second % 3 / 20}
            line |= {"memory_bytes": int(memory), "net_in_bytes": None, "net_out_bytes": None}
            lines.append(json.dumps(line))
        look = {"at_ms": at_ms, "cores": 2, "busy_cores": 0.9, "steal_cores": 0.0}
        look |= {"iowait_cores": 0.0, "ours_cores": 0.88, "swap_out_bytes": 0}
        look |= {"disk_free_bytes": 50 * 1024**3, "memory_available_bytes": 8 * 1024**3}
        machine.append(json.dumps(look))
    (run_dir / "evidence" / "resources.jsonl").write_text("\n".join(lines) + "\n")
    (run_dir / "evidence" / "machine.jsonl").write_text("\n".join(machine) + "\n")


def make_run(
    root: Path,
    *,
    cheat: str | Callable[[list[Record]], list[Record]] | None = None,
    conditions: dict[str, Any] | None = None,
    inputs_also: Callable[[list[Record]], list[Record]] | None = None,
    **plan_fields: Any,
) -> tuple[Path, str]:
    """Write a run's folder and its topics; give the folder and the store's address.

    `cheat` names or is what happens to the outputs, `inputs_also` what happens to the input
    topics, `conditions` replaces keys of the conductor's evidence, the rest is a `Plan`.
    The folder is `root/<campaign_id>/runs/<number>-<stage>`, the store `root/store`.
    """
    plan = Plan(**plan_fields)
    run_dir = root / plan.campaign_id / "runs" / f"{plan.number}-{plan.stage}"
    (run_dir / "evidence").mkdir(parents=True, exist_ok=True)
    (run_dir / "logs").mkdir(exist_ok=True)
    inputs = list(input_records(plan))
    outputs = outputs_of(plan, inputs)
    if isinstance(cheat, str):
        outputs = _cheat(cheat, outputs, plan)
    elif cheat is not None:
        outputs = cheat(outputs)
    appended = sorted((r for r, *_ in inputs), key=lambda r: r.timestamp_ms)
    if inputs_also is not None:
        appended = inputs_also(appended)
    stored = root / "store" / plan.campaign_id / run_dir.name
    write_topic(stored / "inputs", topic_table(appended))
    write_topic(stored / "outputs", topic_table(outputs).drop_columns(["kind"]))
    write_json(run_dir / "evidence" / "conditions.json", run_conditions(plan) | (conditions or {}))
    _write_publisher(run_dir, plan, inputs)
    _write_monitoring(run_dir, plan)
    return run_dir, f"file:{root}/store"


def make_campaign_conditions(root: Path, runs: list[Path], campaign_id: str = "c") -> Path:
    """Write the conductor's conditions.json of a campaign of these runs; give its folder."""
    stages = [run.name.split("-", 1)[1] for run in runs]
    told = [
        {
            "path": f"runs/{run.name}",
            "stage": stage,
            "repetition": stages[:i].count(stage) + 1,
            "ended": "valid",
        }
        for i, (run, stage) in enumerate(zip(runs, stages, strict=True))
    ]
    facts = {
        "schema": 1,
        "campaign_id": campaign_id,
        "question": "What does the join cost?",
        "command": ["tollgate", "bench"],
        "started_at": "2026-11-18T10:00:00Z",
        "ended_at": "2026-11-18T10:10:00Z",
        "settings": {"rate": 16},
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
        "complete": True,
        "says": None,
    }
    write_json(root / campaign_id / "conditions.json", facts)
    return root / campaign_id
