"""Judge one run's topics again: read, lay apart by location, match, sum up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from contract.results import RunFolder, read_json
from contract.workload import load_workload
from evaluator.rebuild.appending import Arrivals, Stamps
from evaluator.rebuild.comparing import Found, compare_run
from evaluator.rebuild.counting import Sums
from evaluator.rebuild.matching import judge
from evaluator.rebuild.piles import RECORDS_PER_PILE, Piles
from evaluator.rebuild.reading import Reader
from evaluator.rebuild.samples import Samples, told_rows
from evaluator.rebuild.stored import Topics
from evaluator.rebuild.timing import Timing
from evaluator.verify_parts import Check
from evaluator.workload import load_judge

_NO_ROWS = pa.schema([])


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of rebuilding a run."""

    checks: list[Check]
    #: how many outputs, and how many that are missing, were judged again
    verdicts: int
    records: int


def rebuild_run(
    folder: RunFolder, topics: Topics, scratch: Path, records_per_pile: int = RECORDS_PER_PILE
) -> Rebuilt:
    """`scratch` is for what does not fit into memory; whatever is amiss is a check."""
    try:
        run: dict[str, Any] = read_json(folder.run_json)
        conditions: dict[str, Any] = read_json(folder.conditions)
        records = topics.records
        piles = records // records_per_pile + 1
        found = _find(folder, conditions, topics, scratch, piles)
        checks = list(compare_run(folder, run, conditions, found))
    except (
        ValueError,
        OSError,
        LookupError,
        TypeError,
        AttributeError,
        pa.ArrowException,
    ) as error:
        # topics that were cut or changed may be wrong in any way; it is told, without a trace
        says = next(iter(str(error).splitlines()), type(error).__name__)
        return Rebuilt([Check(f"{folder.path.name} topics", "readable", says)], 0, 0)
    return Rebuilt(checks, found.sums.verdicts, records)


def _find(
    folder: RunFolder, conditions: dict[str, Any], topics: Topics, scratch: Path, number: int
) -> Found:
    """Everything that the topics say; at any time only one pile's records are in memory."""
    timing, workload = Timing.of(conditions), str(conditions["workload"])
    stage = load_workload(workload).stage(str(conditions["stage"]))
    reader = Reader(load_judge(workload), stage)
    inputs, outputs, told = (
        Piles(name, number, scratch) for name in ("inputs", "outputs", "latency")
    )
    stamps, arrivals, sums = Stamps(), Arrivals(timing), Sums(stage, timing)
    for batch in topics.batches("inputs"):
        stamps.add(batch)
        read = reader.inputs(batch)
        arrivals.add(read)
        inputs.add(read)
    for batch in topics.batches("outputs"):
        stamps.add(batch)
        outputs.add(reader.outputs(batch))
    for rows in told_rows(folder.latency):
        told.add(rows)
    waits = stage.windowed and conditions.get("dialect") == "windowed"
    samples = Samples(arrivals.window_ends_ms() if waits else None)
    for pile in range(number):
        of_pile = inputs.take(pile, reader.inputs_schema)
        came = outputs.take(pile, reader.outputs_schema)
        judged = judge(of_pile, came, reader.expected(of_pile), stage, timing)
        measured = [row for one in judged if (row := sums.add(one)) is not None]
        samples.compare(measured, told.take(pile, _NO_ROWS))
    return Found(timing, stamps, arrivals, sums, samples)
