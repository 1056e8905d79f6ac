"""Have a workload's judge read stored topics, as Arrow tables; compute nothing else.

What a record says and what a stage must make of it is the judge's, here as in the evaluator:
the golden outputs, worked out by hand, check it. Everything around it is done anew.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from contract.workload import FieldType, Stage
from evaluator.workload import IDENTITY, Judge

_ARROW: dict[FieldType, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.int64(),
}
_IDENTITY = [(name, pa.int64() if name == "second" else pa.string()) for name in IDENTITY]
_APPENDED = [("partition", pa.int32()), ("offset", pa.int64()), ("timestamp_ms", pa.int64())]


class Reader:
    """The judge of a stage, from and to Arrow."""

    def __init__(self, judge: Judge, stage: Stage) -> None:
        self._judge, self._stage = judge, stage
        self._fields = [(name, _ARROW[kind]) for name, kind in judge.record_fields]
        told = [("event_us", pa.int64()), ("well_formed", pa.bool_())]
        self.inputs_schema = pa.schema([*_IDENTITY, *told, *self._fields, *_APPENDED])
        got = [(f"got_{name}", _ARROW[kind]) for name, kind in stage.fields]
        self.outputs_schema = pa.schema([*_IDENTITY, ("flaw", pa.string()), *got, *_APPENDED])
        wanted = [(f"expected_{name}", _ARROW[kind]) for name, kind in stage.fields]
        self.expected_schema = pa.schema([*_IDENTITY, ("copies", pa.int64()), *wanted])

    def inputs(self, batch: pa.Table) -> pa.Table:
        """A row an input record."""
        frame = batch.select(["kind", "key", "value"]).to_pandas()
        return _with_append(self._judge.read_inputs(frame, self._stage), batch, self.inputs_schema)

    def outputs(self, batch: pa.Table) -> pa.Table:
        """A row an output."""
        frame = batch.select(["key", "value"]).to_pandas()
        read = self._judge.read_outputs(frame, self._stage)
        return _with_append(read, batch, self.outputs_schema)

    def expected(self, inputs: pa.Table) -> pa.Table:
        """What must come out of these inputs, which hold all that some locations said."""
        own = [name for name, _ in self._fields]
        rest = [name for name in inputs.column_names if name not in own]
        # whole numbers that may be lacking stay whole numbers
        fields = inputs.select(own).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
        frame = pd.concat([inputs.select(rest).to_pandas(), fields], axis="columns")
        return _as_table(self._judge.expect(frame, self._stage), self.expected_schema)


def _with_append(read: pd.DataFrame, batch: pa.Table, schema: pa.Schema) -> pa.Table:
    names = [name for name, _ in _APPENDED]
    content = pa.schema([field for field in schema if field.name not in names])
    table = _as_table(read, content)
    for name, kind in _APPENDED:
        table = table.append_column(name, batch[name].cast(kind))
    return table


def _as_table(frame: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """The schema's columns; what is not a number is unknown."""
    columns = [pa.Array.from_pandas(frame[field.name], type=field.type) for field in schema]
    return pa.table(columns, schema=schema)
