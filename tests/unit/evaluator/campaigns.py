"""Make a whole plausible campaign folder, its figures computed from its samples."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.doubts import SEVERITIES
from contract.order import order_of
from contract.results import (
    LATENCY_COLUMNS,
    MEASURES,
    QUANTILES,
    RESOURCES_COLUMNS,
    SCHEMA,
    SLOTS_COLUMNS,
    CampaignFolder,
    RunFolder,
    sha256_of,
    write_json,
)
from contract.sources import own_sources_sha256
from contract.variant import Variant
from evaluator.campaign import write_campaign

STAGES = ("ingest", "parse", "join", "tumbling", "sliding")
ENGINE_MS = {"ingest": 4.2, "parse": 5.1, "join": 14.0, "tumbling": 26.0, "sliding": 31.0}
FIRST_DUE_MS = 1_700_000_000_000.0
SLOT_MS = 1000.0
TYPES = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}
SERVICES = {"broker-1": 0.32, "broker-2": 0.14, "broker-3": 0.13, "engine": 0.62, "publisher": 0.2}


VARIANT = Variant("spark", "real-time", "eager")


@dataclass(frozen=True, slots=True)
class Plan:
    """What the campaign to be made looks like."""

    stages: tuple[str, ...] = ("parse", "join")
    repeat: int = 1
    #: mode and dialect, or engine, mode and dialect
    variants: tuple[tuple[str, ...], ...] = (("real-time", "eager"),)
    verb: str = "bench"
    rate: int = 200
    #: of the run at hand: each begins when the one before it is long over
    first_due_ms: float = FIRST_DUE_MS
    warmup_slots: int = 10
    measured_slots: int = 35
    cooldown_slots: int = 4
    #: numbers of the runs (from 1) to which something happened
    invalid: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()
    bare: tuple[int, ...] = ()
    complete: bool = True
    question: str = "What does the join cost?"
    extra_services: dict[str, float] = field(default_factory=dict)
    #: how many times as long the engine takes: by all its variants, or by one more than by others
    pace: float = 1.0
    paces: dict[tuple[str, str], float] = field(default_factory=dict)
    #: another draw of the same: runs of two campaigns are never alike to the last digit
    draw: int = 0
    #: what its settings, its machine and its pins have in the place of the usual
    settings: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    pins: dict[str, Any] = field(default_factory=dict)
    engine_version: str = "4.3.0"

    @property
    def slots(self) -> int:
        return self.warmup_slots + self.measured_slots + self.cooldown_slots

    @property
    def planned(self) -> list[Variant]:
        """Its variants; Spark's where no engine is named."""
        return [Variant(*("spark", *told)[-3:]) for told in self.variants]

    def says(self, number: int, samples: int) -> list[dict[str, Any]]:
        """The doubts of the run of that number."""
        found = []
        if samples < 10_000:
            found.append(("few-samples", f"Of {samples} samples fewer than 10 lie beyond p99_9."))
        if number in self.invalid:
            found.append(("outputs-wrong", "2 of the outputs that had to come are missing."))
        if number in self.dead:
            found.append(("engine-died", "The engine ended with exit code 137 in slot 21."))
        return [{"id": i, "severity": SEVERITIES[i], "says": s} for i, s in found]


#: what a comparison's campaign is named by here: the second engine takes three times as long
ENGINES = (("real-time", "eager"), ("flink", "streaming", "eager"))
CONTEST = Plan(
    repeat=3,
    rate=80,
    verb="compare",
    variants=ENGINES,
    paces={("streaming", "eager"): 3.0},
    question="spark or flink: which is faster at each stage?",
)


def make_campaign(folder: Path, plan: Plan = Plan()) -> Path:
    """Write the campaign that `plan` describes into `folder`."""
    campaign = CampaignFolder(folder)
    listed = []
    for planned in order_of(plan.stages, plan.planned, plan.repeat, 1):
        number, stage = planned.number, planned.stage
        run_folder = campaign.run(number, stage)
        ended: str | None = "invalid" if number in plan.invalid else "valid"
        if number in plan.dead:
            ended = "failed"
        if number in plan.bare:
            ended = None
        listed.append(
            {
                "path": f"runs/{number}-{stage}",
                "stage": stage,
                **planned.variant.to_json(),
                "repetition": planned.repetition,
                "ended": ended,
            }
        )
        if number in plan.bare:
            run_folder.path.mkdir(parents=True)
            continue
        make_run(run_folder, plan, number, stage, planned.variant)
    write_json(campaign.conditions, _conditions(folder, plan, listed))
    write_campaign(folder)
    return folder


def seal(folder: Path, campaign: dict[str, Any]) -> None:
    """Write campaign.json with the hashes of all files."""
    files = {
        str(p.relative_to(folder)): sha256_of(p)
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in ("campaign.json", "report.html")
    }
    write_json(folder / "campaign.json", {**campaign, "files": files})


def make_run(
    folder: RunFolder, plan: Plan, number: int, stage: str, variant: Variant = VARIANT
) -> dict[str, Any]:
    """Write one run's files; its run.json comes back."""
    plan = replace(plan, first_due_ms=FIRST_DUE_MS + 1e6 * (number - 1))
    rng = np.random.default_rng([number, plan.draw] if plan.draw else number)
    dead = number in plan.dead
    window = {
        "first_slot": plan.warmup_slots,
        "last_slot": plan.warmup_slots + plan.measured_slots - 1,
        "start_ms": plan.first_due_ms + plan.warmup_slots * SLOT_MS,
        "end_ms": plan.first_due_ms + (plan.warmup_slots + plan.measured_slots) * SLOT_MS,
    }
    all_rows = _samples(rng, plan, stage, variant)
    stalls = _stalls(plan, stage)
    measured = (all_rows["slot"] >= window["first_slot"]) & (
        all_rows["slot"] <= window["last_slot"]
    )
    lost = 2 if number in plan.invalid else 0
    kept = ~measured
    kept[np.flatnonzero(measured)[lost:]] = True
    all_rows = {k: v[kept] for k, v in all_rows.items()}
    measured = measured[kept]
    rows = {k: v[measured] for k, v in all_rows.items()}
    evidence = _publisher(folder, rng, plan)
    slots = _slots(plan, all_rows, evidence, lost)
    resources = _resources(rng, plan)
    _write(folder.slots, SLOTS_COLUMNS, slots)
    _write(folder.resources, RESOURCES_COLUMNS, resources)
    if not dead:
        _write(folder.latency, LATENCY_COLUMNS, rows)
    folder.logs.mkdir()
    (folder.logs / "engine.log").write_text("started\n")
    _witnesses(folder, plan, number, stage, window, variant)
    run = {
        **_identity(folder, plan, stage, variant),
        "valid": not dead and number not in plan.invalid,
        "doubts": plan.says(number, 10_000 if dead else len(rows["slot"])),
        "phases_s": dict.fromkeys(("set_up", "start", "warm_up", "measure", "drain"), 1.5)
        | {"collect": 0.7, "evaluate": 6.0},
        **(_no_figures() if dead else _figures(rows, slots, stalls, window, lost)),
        "publisher": _publisher_figures(plan, evidence, not dead),
        "resources": {} if dead else _resource_figures(resources, window),
        "window": None if dead else window,
        "stall_list": None if dead else stalls,
        "delivery": "at-least-once",
        "checkpoint_s": 10,
        "failure": _failure() if dead else None,
    }
    write_json(folder.run_json, run)
    return run


def _identity(folder: RunFolder, plan: Plan, stage: str, variant: Variant) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run_id": f"{folder.path.parents[1].name}-{folder.path.name}",
        "workload": "traffic",
        "stage": stage,
        **variant.to_json(),
        "engine_version": plan.engine_version,
        "runtime": "embedded",
        "settings": _settings(plan),
        "engine_services": ["engine"],
        "limits": None,
        "images": None,
    }


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "rate": plan.rate,
        "warmup_s": plan.warmup_slots,
        "duration_s": plan.measured_slots,
        "cooldown_s": plan.cooldown_slots,
        "brokers": 3,
        "replication": 3,
        "partitions": 2,
        "parallelism": 2,
        "instances": 1,
        "seed": 1,
        "temporal_scale": 60,
        "arrival": "adjacent",
        "source": "network",
        "checkpoint_s": 10,
        "engine": {"trigger": "real-time", "checkpoint_s": 10},
        **plan.settings,
    }


def _common(plan: Plan) -> dict[str, Any]:
    return {name: value for name, value in _settings(plan).items() if name != "engine"}


def _stalls(plan: Plan, stage: str) -> list[dict[str, Any]]:
    length = {"ingest": 180, "parse": 190, "join": 310, "tumbling": 420, "sliding": 520}[stage]
    starts = np.arange(plan.first_due_ms + 3200, plan.first_due_ms + plan.slots * SLOT_MS, 10_000.0)
    low = plan.first_due_ms + plan.warmup_slots * SLOT_MS
    high = low + plan.measured_slots * SLOT_MS
    return [
        {"start_ms": int(s), "end_ms": int(s + length * 1.2), "gap_ms": length}
        for s in starts
        if low <= s < high
    ]


def _samples(rng: np.random.Generator, plan: Plan, stage: str, variant: Variant) -> dict[str, Any]:
    pace = plan.pace * plan.paces.get((variant.mode, variant.dialect), 1.0)
    per_slot = plan.rate if stage in ("ingest", "parse") else plan.rate // 2
    if stage in ("tumbling", "sliding"):
        per_slot //= 2
    count = per_slot * plan.slots
    slot = np.repeat(np.arange(plan.slots), per_slot)
    due = plan.first_due_ms + SLOT_MS * (slot + np.tile(np.arange(per_slot) / per_slot, plan.slots))
    last = np.ceil(due + rng.gamma(2.0, 0.7, count)).astype(np.int64)
    own = rng.lognormal(np.log(ENGINE_MS[stage] * pace), 0.35, count)
    output = last + np.ceil(own * np.where(slot < 6, 3.0 - slot / 3.0, 1.0)).astype(np.int64)
    in_stall = np.zeros(count, dtype=bool)
    for stall in _stalls(plan, stage):
        start, gap, end = stall["start_ms"], stall["gap_ms"], stall["end_ms"]
        held = (output > start) & (output <= end)
        drained = start + gap + (output[held] - start) * (end - start - gap) / (end - start)
        output[held] = np.maximum(output[held], np.ceil(drained)).astype(np.int64)
        in_stall |= (output > start) & (output < end)
    places = [f"au/1/5/u/n/7/0/u/RWS01_{i // 2:04d}" for i in range(per_slot)]
    lanes = [f"lane{i % 2 + 1}" for i in range(per_slot)]
    kinds: list[str | None] = [None] * per_slot
    if stage in ("ingest", "parse"):
        kinds = [("flow", "speed")[i % 2] for i in range(per_slot)]
    return {
        "location": np.tile(np.array(places, dtype=object), plan.slots),
        "lane": np.tile(np.array(lanes, dtype=object), plan.slots),
        "kind": np.tile(np.array(kinds, dtype=object), plan.slots),
        "slot": slot,
        "input_mean_ms": last - rng.uniform(0, 2, count),
        "input_last_ms": last,
        "due_ms": due,
        "window_end_ms": np.full(count, None),
        "output_ms": output,
        "in_stall": in_stall,
    }


def _publisher(folder: RunFolder, rng: np.random.Generator, plan: Plan) -> dict[str, Any]:
    count = plan.rate * plan.slots
    late_us = rng.gamma(2.0, 45.0, count).astype(np.int32)
    rows = {
        "slot": np.repeat(np.arange(plan.slots), plan.rate),
        "due_us": (np.arange(count) * (1_000_000 / plan.rate)).astype(np.int64),
        "late_us": late_us,
        "ack_us": late_us + rng.gamma(2.0, 900.0, count).astype(np.int32),
    }
    folder.evidence.mkdir(parents=True)
    columns = (
        ("slot", "int32"),
        ("due_us", "int64"),
        ("late_us", "int32"),
        ("ack_us", "int32"),
    )
    _write(folder.evidence / "publisher-0.parquet", columns, rows)
    write_json(
        folder.evidence / "publisher.json",
        {
            "schema": SCHEMA,
            "processes": 1,
            "first_due_ms": plan.first_due_ms,
            "event_start_s": 1767596400,
            "slot_ms": SLOT_MS,
            "records_per_slot": plan.rate,
            "locations": plan.rate // 4,
            "scheduled": count,
            "sent": count,
            "acknowledged": count,
            "failed": 0,
            "last_slot": plan.slots - 1,
            "source": {
                "name": "network",
                "files": ["rws-2015.json.gz"],
                "records": 96_000,
                "bad_lines": 1,
                "bad_examples": ["rws-2015.json.gz:17: no <speed> in it"],
            },
        },
    )
    return rows


def _slots(
    plan: Plan,
    all_rows: dict[str, Any],
    sent: dict[str, Any],
    lost: int,
) -> dict[str, Any]:
    slots = np.arange(plan.slots)
    late_ms = sent["late_us"].reshape(plan.slots, -1) / 1000
    latencies = all_rows["output_ms"] - all_rows["input_last_ms"]
    last = [latencies[all_rows["slot"] == s] for s in slots]
    outputs = np.bincount(all_rows["slot"], minlength=plan.slots)
    expected = outputs.copy()
    expected[plan.warmup_slots] += lost
    full = np.full(plan.slots, plan.rate)
    return {
        "slot": slots,
        "due_ms": plan.first_due_ms + slots * SLOT_MS,
        "measured": (slots >= plan.warmup_slots)
        & (slots < plan.warmup_slots + plan.measured_slots),
        **dict.fromkeys(("scheduled", "sent", "acknowledged", "appended"), full),
        "expected": expected,
        "outputs": outputs,
        "late_p50_ms": np.quantile(late_ms, 0.5, axis=1),
        "late_p99_ms": np.quantile(late_ms, 0.99, axis=1),
        "late_max_ms": late_ms.max(axis=1),
        "last_p5_ms": np.array([np.quantile(v, 0.05) for v in last]),
        "last_p50_ms": np.array([np.quantile(v, 0.5) for v in last]),
        "last_p95_ms": np.array([np.quantile(v, 0.95) for v in last]),
        "last_max_ms": np.array([v.max() for v in last], dtype=float),
    }


def _resources(rng: np.random.Generator, plan: Plan) -> dict[str, Any]:
    services = SERVICES | plan.extra_services
    seconds = np.arange(plan.slots)
    return {
        "service": np.repeat(np.array(list(services), dtype=object), plan.slots),
        "at_ms": np.tile(plan.first_due_ms + seconds * 1000, len(services)).astype(np.int64),
        "cpu_cores": np.concatenate(
            [c * (1 + 1.2 * np.exp(-seconds / 5)) * rng.uniform(0.8, 1.2, plan.slots)
             for c in services.values()]
        ),
        "memory_bytes": np.concatenate(
            [(0.4e9 + c * 1e9 + 4e6 * seconds).astype(np.int64) for c in services.values()]
        ),
        "net_in_bytes": np.array([None] * plan.slots * len(services), dtype=object),
        "net_out_bytes": np.array([None] * plan.slots * len(services), dtype=object),
        "source": np.array(["psutil"] * plan.slots * len(services), dtype=object),
    }  # fmt: skip


def _block(values: Any) -> dict[str, Any]:
    return {
        "count": len(values),
        "avg": float(np.mean(values)),
        "min": float(np.min(values)),
        **{name: float(np.quantile(values, q)) for name, q in QUANTILES},
        "max": float(np.max(values)),
    }


def _figures(
    rows: dict[str, Any],
    slots: dict[str, Any],
    stalls: list[dict[str, Any]],
    window: dict[str, Any],
    lost: int,
) -> dict[str, Any]:
    last = rows["output_ms"] - rows["input_last_ms"]
    seconds = (window["end_ms"] - window["start_ms"]) / 1000
    inside = slots["measured"]
    correct = int(slots["outputs"][slots["slot"] <= window["last_slot"]].sum())
    return {
        "outputs": {
            "expected": correct + lost,
            "correct": correct,
            "missing": lost,
            "duplicate": 0,
            "wrong": 0,
            "unexpected": 0,
            "malformed_inputs": 0,
            "incomplete": 0,
        },
        "latency_ms": {
            "mean": _block(rows["output_ms"] - rows["input_mean_ms"]),
            "last": _block(last),
            "due": _block(rows["output_ms"] - rows["due_ms"]),
            # in the eager dialect no output waits for its window's end
            "gathering": _block(rows["input_last_ms"] - rows["input_mean_ms"]),
            "residence": _block(np.zeros(len(last))),
            "engine": _block(last),
            "last_outside_stalls": _block(last[~rows["in_stall"]]),
        },
        "stalls": {
            "count": len(stalls),
            "total_ms": sum(s["end_ms"] - s["start_ms"] for s in stalls),
            "longest_ms": max((s["end_ms"] - s["start_ms"] for s in stalls), default=0),
        },
        "throughput": {
            "input_per_s": float(slots["appended"][inside].sum() / seconds),
            "output_per_s": float(slots["outputs"][inside].sum() / seconds),
        },
    }


def _no_figures() -> dict[str, Any]:
    return {
        "outputs": None,
        "latency_ms": dict.fromkeys((*MEASURES, "last_outside_stalls")),
        "stalls": None,
        "throughput": None,
    }


def _failure() -> dict[str, Any]:
    tail = ["java.lang.OutOfMemoryError: <Java heap space>", "at org.apache.spark…"]
    return {"service": "engine", "says": "The engine ended with exit code 137.", "log_tail": tail}


def _publisher_figures(plan: Plan, rows: dict[str, Any], measured: bool) -> dict[str, Any]:
    count = len(rows["late_us"])
    last = plan.warmup_slots + plan.measured_slots
    inside = (rows["slot"] >= plan.warmup_slots) & (rows["slot"] < last)
    late_ms = rows["late_us"][inside if measured else slice(None)] / 1000
    return {
        "scheduled": count,
        "sent": count,
        "acknowledged": count,
        "late_ms": {
            "p50": float(np.quantile(late_ms, 0.5)),
            "p99": float(np.quantile(late_ms, 0.99)),
            "max": float(late_ms.max()),
        },
    }


def _resource_figures(rows: dict[str, Any], window: dict[str, Any]) -> dict[str, Any]:
    inside = (rows["at_ms"] >= window["start_ms"]) & (rows["at_ms"] < window["end_ms"])
    found = {}
    for service in dict.fromkeys(rows["service"]):
        mine = inside & (rows["service"] == service)
        found[service] = {
            "cpu_cores_avg": float(rows["cpu_cores"][mine].mean()),
            "cpu_cores_max": float(rows["cpu_cores"][mine].max()),
            "memory_bytes_max": int(rows["memory_bytes"][mine].max()),
        }
    return found


def _witnesses(
    folder: RunFolder,
    plan: Plan,
    number: int,
    stage: str,
    window: dict[str, Any],
    variant: Variant,
) -> None:
    dead = number in plan.dead
    write_json(
        folder.conditions,
        {
            **_identity(folder, plan, stage, variant),
            "delivery": "at-least-once",
            "same_machine": True,
            "disorder_ms_max": 200,
            "checkpoint_s": 10,
            "first_due_ms": plan.first_due_ms,
            "event_start_s": 1767596400,
            "slot_ms": SLOT_MS,
            "last_slot": plan.slots - 1,
            # the warm-up begins with the slot after it
            "ready": {"at_ms": int(plan.first_due_ms), "slot": -1},
            "window": None if dead else {k: window[k] for k in ("first_slot", "last_slot")},
            "deaths": [{"service": "engine", "exit_code": 137, "log_tail": []}] if dead else [],
            "interrupted": False,
            "never_ready": None,
            "drained": not dead,
            "drain_says": "",
            "cores": 2,
            "monitoring": True,
        },
    )
    lines = [
        {"at_ms": plan.first_due_ms + 1000 * s, "cores": 2, "busy_cores": 1.4} for s in range(5)
    ]
    (folder.evidence / "machine.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )


def _conditions(folder: Path, plan: Plan, listed: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "campaign_id": folder.name,
        "verb": plan.verb,
        "question": plan.question,
        "command": ["tollgate", plan.verb, "RATE=2000"],
        "started_at": "2026-11-18T11:22:33Z",
        "ended_at": "2026-11-18T11:25:10Z",
        "settings": {"workload": "traffic", "runtime": "embedded", **_common(plan)},
        "variants": [
            {
                **variant.to_json(),
                "engine_version": plan.engine_version,
                "settings": _settings(plan)["engine"],
            }
            for variant in plan.planned
        ],
        "stages": list(plan.stages),
        "asked_all": len(plan.stages) > 2,
        "repeat": plan.repeat,
        "preliminary": plan.repeat < 3,
        "runs": listed,
        "interruptions": [],
        "machine": {
            "cpu_model": "AMD EPYC 7B13",
            "cores": 2,
            "memory_bytes": 8 * 1024**3,
            "kernel": "6.1.0-31-amd64",
            "os": "Debian GNU/Linux 12 (bookworm)",
            "python": "3.11.2",
            "java": "openjdk 17.0.13",
            "virtualization": "kvm",
            **plan.machine,
        },
        "pins": {
            "tollgate": "0.1.0",
            "sources_sha256": own_sources_sha256(),
            "git_commit": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "git_dirty": False,
            "requirements_lock_sha256": "ab" * 32,
            "artifacts_lock_sha256": "cd" * 32,
            "packages": {"pyspark": "4.3.0", "numpy": "2.4.6", "confluent-kafka": "2.12.1"},
            "docker": None,
            **plan.pins,
        },
        "store": "file:/tmp/store",
        "store_kept": None,
        "complete": plan.complete,
        "says": None if plan.complete else "interrupted by the user in run 2",
    }


def _write(path: Path, columns: tuple[tuple[str, str], ...], rows: dict[str, Any]) -> None:
    arrays = [pa.array(rows[name], type=TYPES[kind]) for name, kind in columns]
    pq.write_table(pa.table(arrays, names=[name for name, _ in columns]), path)
