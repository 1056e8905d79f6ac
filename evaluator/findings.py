"""Look into a run's topics: verdicts, latency, stalls; and write latency.parquet."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contract.results import RunFolder
from contract.workload import load_workload
from evaluator.appended import AppendClock, Appended
from evaluator.evidence import Evidence
from evaluator.grouped import Fold, Grouped
from evaluator.judging import Judging
from evaluator.latency import Draft, Measured, write_latency
from evaluator.stalls import Outputs, Stall, find_stalls
from evaluator.store import Store
from evaluator.tally import Faults
from evaluator.workload import load_judge


@dataclass(frozen=True, slots=True)
class Findings:
    """What the topics of a run say."""

    appended: Appended
    clock: AppendClock
    #: counts by slot, awaited slot and verdict, and whether an output came
    verdicts: list[dict[str, Any]]
    stalls: list[Stall]
    measured: Measured
    #: the smallest `last` of any output, measured or not
    last_ms_min: float | None
    #: milliseconds of outputs, ascending, and how many there were in each
    output_ms: tuple[Any, Any]
    #: the first outputs that are not as they must be
    at_fault: list[dict[str, Any]]

    @classmethod
    def none(cls, measured: Measured) -> Findings:
        """Of topics that could not be collected."""
        nothing = np.empty(0, np.int64)
        clock = AppendClock(0, ())
        return cls(Appended.none(), clock, [], [], measured, None, (nothing, nothing), [])

    def put_out_within(self, span_ms: tuple[float, float]) -> int:
        """How many outputs, of whatever slot, were appended within the span."""
        at_ms, came = self.output_ms
        start, end = np.searchsorted(at_ms, span_ms)
        return int(came[start:end].sum())


def look(evidence: Evidence, store: Store, run: RunFolder) -> Findings:
    """Judge the outputs, keep the verdicts, and measure."""
    with tempfile.TemporaryDirectory(prefix="tollgate-judging-") as scratch:
        return _look(evidence, store, run, Path(scratch))


def _look(evidence: Evidence, store: Store, run: RunFolder, scratch: Path) -> Findings:
    told, axis = evidence.conditions, evidence.axis
    workload = load_workload(told["workload"])
    stage = workload.stage(told["stage"])
    judging = Judging(load_judge(workload.name), stage, axis, bool(told.get("same_machine")))
    topics = store.topics(scratch)
    draft, faults = Draft(axis, topics.records, scratch), Faults(axis)
    of_slot, of_ms = Grouped(_OF_SLOT, _COUNTS), Grouped(_OF_MS, _CAME)
    verdicts_dir = scratch / "verdicts"
    verdicts_dir.mkdir()
    judged = judging.verdicts(topics, scratch)
    for part, verdicts in enumerate(judged):
        pq.write_table(verdicts, verdicts_dir / f"part-{part:05d}.parquet", compression="zstd")
        of_slot.add(_countable(verdicts))
        of_ms.add(_came(verdicts))
        draft.add(verdicts)
        faults.add(verdicts)
    store.keep_verdicts(verdicts_dir)
    inputs = judging.arrivals.appended(axis)
    outputs, came, last_ms_min = _by_millisecond(of_ms.table())
    stalls: list[Stall] = []
    if axis.span_ms is not None and draft.last.count:
        stalls = find_stalls(outputs, inputs.at_ms, axis.span_ms, draft.last.quantile(0.5))
    waits = stage.windowed and told.get("dialect") == "windowed"
    ends = inputs.window_ends if waits else None
    measured = write_latency(draft.tables(), run.latency, stalls, ends)
    return Findings(
        inputs,
        judging.stamps.clock(),
        _by_slot(of_slot.table()),
        stalls,
        measured,
        last_ms_min,
        (outputs.at_ms, came),
        faults.first(),
    )


#: `came` tells outputs from what is missing
_OF_SLOT = ("slot", "awaited_slot", "verdict", "came")
_COUNTS: dict[str, Fold] = {
    "count": "sum",
    "expected_copies": "sum",
    "lacking": "sum",
    "incomplete": "sum",
}
#: a row a millisecond: what is held grows with the run's length, not with its rate
_OF_MS = ("output_ms",)
_CAME: dict[str, Fold] = {"count": "sum", "last_ms_min": "min", "last_ms_max": "max"}


def _countable(verdicts: pa.Table) -> pa.Table:
    rows = verdicts.select(["slot", "awaited_slot", "verdict", *list(_COUNTS)[1:]])
    rows = rows.append_column("came", verdicts["output_ms"].is_valid())
    return rows.append_column("count", pa.repeat(1, verdicts.num_rows))


def _came(verdicts: pa.Table) -> pa.Table:
    rows = verdicts.filter(verdicts["output_ms"].is_valid())
    last_ms = pc.subtract(rows["output_ms"], rows["input_last_ms"])
    one = pa.repeat(1, rows.num_rows)
    return pa.table([rows["output_ms"], one, last_ms, last_ms], [*_OF_MS, *_CAME])


def _by_slot(counts: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = counts.to_pylist()
    return rows


def _by_millisecond(of_ms: pa.Table) -> tuple[Outputs, Any, float | None]:
    of_ms = of_ms.sort_by("output_ms")
    at_ms = of_ms["output_ms"].to_numpy()
    # an output without inputs waited for nobody knows what
    last_ms = of_ms["last_ms_max"].cast("float64").fill_null(0.0).to_numpy()
    least = pc.min(of_ms["last_ms_min"]).as_py()
    return Outputs(at_ms, last_ms), of_ms["count"].to_numpy(), least
