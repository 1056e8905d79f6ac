"""Have a workload's judge read stored topics, as Arrow tables; compute nothing else.

What a record says and what a stage must make of it is the judge's, here as in the evaluator:
the golden outputs, worked out by hand, check it. Everything around it is done anew.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from contract.workload import Stage
from evaluator.workload import APPENDED, Judge


class Reader:
    """The judge of a stage, from and to Arrow."""

    def __init__(self, judge: Judge, stage: Stage) -> None:
        self._judge, self._stage = judge, stage
        self.inputs_schema = pa.schema([*judge.inputs_schema, *APPENDED])
        self.outputs_schema = pa.schema([*judge.outputs_schema(stage), *APPENDED])
        self.expected_schema = judge.expected_schema(stage)

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
        own = [name for name, _ in self._judge.record_fields]
        rest = [name for name in inputs.column_names if name not in own]
        # whole numbers that may be lacking stay whole numbers
        fields = inputs.select(own).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
        frame = pd.concat([inputs.select(rest).to_pandas(), fields], axis="columns")
        return _as_table(self._judge.expect(frame, self._stage), self.expected_schema)


def _with_append(read: pa.Table, batch: pa.Table) -> pa.Table:
    for field in APPENDED:
        read = read.append_column(field, batch[field.name].cast(field.type))
    return read


def _as_table(frame: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """The schema's columns; what is not a number is unknown."""
    columns = [pa.Array.from_pandas(frame[field.name], type=field.type) for field in schema]
    return pa.table(columns, schema=schema)
