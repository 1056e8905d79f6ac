"""Judge a run's topics: read them, lay them apart by location, give verdicts pile by pile.

At any time only some batches and as many piles as there are cores are in memory, whatever the
size of the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from contract.workload import Stage
from evaluator.appended import Arrivals, Stamps
from evaluator.evidence import TimeAxis
from evaluator.parallel import in_order
from evaluator.piles import Piles, by_text
from evaluator.topics import Topic, Topics
from evaluator.verdicts import judge
from evaluator.workload import APPENDED, Judge, Read

#: records that are judged together: with what is made of them they take a few hundred megabytes
_RECORDS_PER_PILE = 400_000
#: below this it does not pay to judge in several piles at once
_FEW_RECORDS = 50_000


class Judging:
    """What one stage's outputs are worth, and how all records were appended."""

    def __init__(self, workload: Judge, stage: Stage, axis: TimeAxis, same_machine: bool) -> None:
        self._workload, self._stage = workload, stage
        self._axis, self._same_machine = axis, same_machine
        self._workers = len(os.sched_getaffinity(0))
        self.stamps, self.arrivals = Stamps(), Arrivals()

    def verdicts(self, topics: Topics, scratch: Path) -> Iterator[pa.Table]:
        """Of some locations at a time; `scratch` is for what does not fit into memory."""
        records = topics.records
        number = records // _RECORDS_PER_PILE + 1
        if records > _FEW_RECORDS:
            number = max(number, self._workers)
        of_input = pa.schema([*self._workload.inputs_schema, *APPENDED])
        of_output = pa.schema([*self._workload.outputs_schema(self._stage), *APPENDED])
        inputs = Piles("inputs", of_input, number, scratch)
        outputs = Piles("outputs", of_output, number, scratch)
        for read in self._read(topics.inputs, self._workload.read_inputs):
            self.arrivals.add(read)
            inputs.lay(read, by_text(read["location"], number))
        for read in self._read(topics.outputs, self._workload.read_outputs):
            outputs.lay(read, by_text(read["location"], number))
        piles = ((inputs.take(pile), outputs.take(pile)) for pile in range(number))
        yield from in_order(lambda pile: self._judge(*pile), piles, self._workers)

    def _read(self, topic: Topic, read: Read) -> Iterator[pa.Table]:
        """Every record as the workload's judge reads it, with when it was appended."""

        def one(batch: pa.Table) -> tuple[pa.Table, pa.Table]:
            said = [name for name in ("kind", "key", "value") if name in batch.column_names]
            rows = read(batch.select(said), self._stage)
            for field in APPENDED:
                rows = rows.append_column(field, batch[field.name])
            return batch, rows

        for batch, rows in in_order(one, topic.batches(), self._workers):
            self.stamps.add(batch)
            yield rows

    def _judge(self, inputs: pa.Table, outputs: pa.Table) -> pa.Table:
        """What must come of some locations' inputs, and what is to be said of what came."""
        expected = self._workload.expected(inputs, self._stage)
        axis, same_machine = self._axis, self._same_machine
        return judge(inputs, outputs, expected, self._stage, axis, same_machine=same_machine)
