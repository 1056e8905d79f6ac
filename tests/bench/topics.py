"""Make the topics of a long run of the join, and what its witnesses wrote, in a moment.

The records are those of the traffic workload, all different, the outputs those of an engine
without fault; columns are made at once, so that twenty million records take a minute.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contract.results import write_json
from tests.unit.evaluator.synthetic_engine import EVENT_START_S, FIRST_DUE_MS, Plan, instant
from tests.unit.evaluator.synthetic_evidence import run_conditions, write_monitoring

LANES = 4
#: observations a slot, at most: the paper's rate
_PER_SLOT_MAX = 26_000
_SLOTS_MIN = 20
_PARTITIONS = 2


def make_topics(root: Path, observations: int) -> tuple[Path, str]:
    """A run's folder with about so many input records, and the address of its store."""
    per_slot = min(_PER_SLOT_MAX, observations // _SLOTS_MIN)
    locations = max(1, per_slot // (2 * LANES))
    slots = max(_SLOTS_MIN, round(observations / (locations * 2 * LANES)))
    plan = Plan(stage="join", slots=slots, locations=locations, lanes=LANES)
    run_dir = root / plan.campaign_id / "runs" / "1-join"
    (run_dir / "evidence").mkdir(parents=True)
    (run_dir / "logs").mkdir()
    stored = root / "store" / plan.campaign_id / run_dir.name
    writers: dict[str, pq.ParquetWriter] = {}
    offsets: dict[tuple[str, int], int] = {}
    late_us = []
    for slot in range(slots):
        made = _slot(plan, slot)
        late_us.append(made.pop("late_us"))
        for name, table in _topics(made, plan, offsets).items():
            part, _, partition = name.partition("/")
            path = stored / part / f"part-{partition}.parquet"
            if name not in writers:
                path.parent.mkdir(parents=True, exist_ok=True)
                writers[name] = pq.ParquetWriter(path, table.schema, compression="zstd")
            writers[name].write_table(table)
    for writer in writers.values():
        writer.close()
    write_json(run_dir / "evidence" / "conditions.json", run_conditions(plan))
    _write_publisher(run_dir, plan, np.concatenate(late_us))
    write_monitoring(run_dir, plan)
    return run_dir, f"file:{root}/store"


def _slot(plan: Plan, slot: int) -> dict[str, Any]:
    """All that is said and appended of one slot, a column each; a row a lane."""
    rng = np.random.default_rng([plan.seed, slot])
    rows = plan.locations * LANES
    place, lane = np.divmod(np.arange(rows), LANES)
    # a lane's flow, then its speed
    fraction = (2 * np.arange(rows)[:, None] + [0, 1]) / (2 * rows)
    due_ms = FIRST_DUE_MS + (slot + fraction) * plan.slot_ms
    appended_ms = (due_ms + rng.uniform(0.3, plan.late_ms, (rows, 2))).astype(np.int64)
    names = [f"net/{n % 7}/place-{n:05d}" for n in range(plan.locations)]
    return {
        "location": pa.array(names).take(pa.array(place)),
        "lane": pa.array([f"lane{n + 1}" for n in range(LANES)]).take(pa.array(lane)),
        "partition": place % _PARTITIONS,
        "second": instant(EVENT_START_S + slot),
        "stamps": [_stamps(EVENT_START_S + slot, fraction[:, k]) for k in (0, 1)],
        "lat": _text(np.round(51 + place / 1000, 5)),
        "long": _text(np.round(5 + place / 777, 5)),
        "flow": _text(rng.integers(1, 60, rows)),
        "speed": _text(np.round(rng.uniform(40, 130, rows), 1)),
        "accuracy": rng.integers(80, 101, (rows, 2)),
        "appended_ms": appended_ms,
        "output_ms": appended_ms.max(axis=1) + rng.integers(1, 9, rows),
        "late_us": np.round((appended_ms - due_ms).clip(0) * 1000).astype(np.int32).ravel(),
    }


def _topics(
    made: dict[str, Any], plan: Plan, offsets: dict[tuple[str, int], int]
) -> dict[str, pa.Table]:
    """Topic and partition → the records of a slot, as the collector's columns."""
    key = _joined(made["location"], "/", made["lane"])
    where = (made["lat"], ',"long":', made["long"])
    head = _joined('{"internalId":"', made["lane"], '","lat":', *where)
    accuracy = [_text(made["accuracy"][:, k]) for k in (0, 1)]
    tail = [
        _joined(',"accuracy":', accuracy[k], ',"timestamp":"', stamps, '","num_lanes":4}')
        for k, stamps in enumerate(made["stamps"])
    ]
    joined = _joined(
        *('{"location":"', made["location"], '","lane":"', made["lane"]),
        *('","timestamp":"', made["second"], '","lat":', *where),
        *(',"flow":', made["flow"], ',"speed":', made["speed"], ',"period":60,"accuracy":'),
        *(_text(made["accuracy"].min(axis=1)), ',"num_lanes":4}'),
    )
    values = {
        "flow": (_joined(head, ',"flow":', made["flow"], ',"period":60', tail[0]), 0),
        "speed": (_joined(head, ',"speed":', made["speed"], tail[1]), 1),
        "out": (joined, None),
    }
    found = {}
    for topic, (value, column) in values.items():
        at_ms = made["output_ms"] if column is None else made["appended_ms"][:, column]
        for partition in range(_PARTITIONS):
            mine = np.flatnonzero(made["partition"] == partition)
            mine = mine[np.argsort(at_ms[mine], kind="stable")]
            start = offsets.get((topic, partition), 0)
            offsets[topic, partition] = start + mine.size
            columns = {
                "topic": pa.repeat(f"r{plan.number}.{topic}", mine.size),
                "partition": pa.repeat(pa.scalar(partition, pa.int32()), mine.size),
                "offset": np.arange(start, start + mine.size),
                "timestamp_ms": at_ms[mine],
                "timestamp_type": pa.repeat(pa.scalar(1, pa.int32()), mine.size),
                "key": key.take(pa.array(mine)).cast(pa.binary()),
                "value": value.take(pa.array(mine)).cast(pa.binary()),
            }
            if column is not None:
                columns["kind"] = pa.repeat(topic, mine.size)
            part = "outputs" if column is None else "inputs"
            found[f"{part}/{topic}-{partition}"] = pa.table(columns)
    return found


def _joined(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _text(numbers: Any) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _stamps(second: int, fraction: Any) -> pa.Array:
    milliseconds = _text((fraction * 1000).astype(np.int64))
    head = instant(second)[: -len("000Z")]
    return _joined(head, pc.utf8_lpad(milliseconds, 3, "0"), "Z")


def _write_publisher(run_dir: Path, plan: Plan, late_us: Any) -> None:
    per_slot = plan.locations * LANES * 2
    due_us = np.arange(plan.slots * per_slot) * round(plan.slot_ms * 1000) // per_slot
    table = pa.table(
        {
            "slot": pa.array(np.repeat(np.arange(plan.slots), per_slot), pa.int32()),
            "due_us": pa.array(due_us),
            "late_us": pa.array(late_us),
            "ack_us": pa.array(late_us + 900),
        }
    )
    pq.write_table(table, run_dir / "evidence" / "publisher-0.parquet")
    told = dict.fromkeys(("scheduled", "sent", "acknowledged"), table.num_rows)
    facts = {"processes": 1, "records_per_slot": per_slot, "failed": 0, **told}
    (run_dir / "evidence" / "publisher.json").write_text(json.dumps(facts))
