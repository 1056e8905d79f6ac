"""Have a workload's judge read stored topics, as Arrow tables; compute nothing else.

What a record says and what a stage must make of it is the judge's, here as in the evaluator:
the golden outputs, worked out by hand, check it. Everything around it is done anew.
"""

from __future__ import annotations

import pyarrow as pa

from contract.workload import Stage
from evaluator.workload import APPENDED, Judge


class Reader:
    """The judge of a stage, from and to Arrow."""

    def __init__(self, judge: Judge, stage: Stage) -> None:
        self._judge, self._stage = judge, stage
        self.inputs_schema = pa.schema([*judge.inputs_schema, *APPENDED])
        self.outputs_schema = pa.schema([*judge.outputs_schema(stage), *APPENDED])

    def inputs(self, batch: pa.Table) -> pa.Table:
        """A row an input record."""
        read = self._judge.read_inputs(batch.select(["kind", "key", "value"]), self._stage)
        return _with_append(read, batch)

    def outputs(self, batch: pa.Table) -> pa.Table:
        """A row an output."""
        read = self._judge.read_outputs(batch.select(["key", "value"]), self._stage)
        return _with_append(read, batch)

    def expected(self, inputs: pa.Table) -> pa.Table:
        """What must come out of these inputs, which hold all that some locations said."""
        return self._judge.expected(inputs, self._stage)


def _with_append(read: pa.Table, batch: pa.Table) -> pa.Table:
    for field in APPENDED:
        read = read.append_column(field, batch[field.name].cast(field.type))
    return read
