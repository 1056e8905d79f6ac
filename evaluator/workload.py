"""What the evaluator must know of a workload: how to read its topics, what must come out."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from contract.workload import FieldType, Stage

#: what tells one output from another; '' where a stage does not tell by it
IDENTITY = ("location", "lane", "kind", "second", "token")
#: the `second` of a record that has none
NO_SECOND = -(2**62)

Read = Callable[[pa.Table, Stage], pa.Table]
Expect = Callable[[pd.DataFrame, Stage], pd.DataFrame]

_ARROW: dict[FieldType, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.int64(),
}
_IDENTITY_FIELDS = [
    pa.field(name, pa.int64() if name == "second" else pa.string()) for name in IDENTITY
]
_RECURRING = ("location", "lane", "kind")
_WHOLE = {pa.int64(): pd.Int64Dtype()}
#: what the readers' rows are given besides: where and when a record was appended
APPENDED = [
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp_ms", pa.int64()),
]


def fields_of(types: Sequence[tuple[str, FieldType]], prefix: str = "") -> list[pa.Field]:
    """Fields as Arrow has them; a timestamp is microseconds."""
    return [pa.field(f"{prefix}{name}", _ARROW[kind]) for name, kind in types]


@dataclass(frozen=True, slots=True)
class Judge:
    """A workload's own part of the evaluation; its functions are pure.

    `read_inputs` gives a row for each input record, in their order: its identity, `event_us`,
    `well_formed` and `record_fields`. `read_outputs` gives a row for each output: its identity,
    `flaw`, what keeps it from being compared, and the stage's fields. `expect` gives, for the
    records of some locations, whole, the identities and fields that must come out, with `copies`.
    """

    record_fields: tuple[tuple[str, FieldType], ...]
    read_inputs: Read
    read_outputs: Read
    expect: Expect

    @property
    def inputs_schema(self) -> pa.Schema:
        """What `read_inputs` gives."""
        told = [pa.field("event_us", pa.int64()), pa.field("well_formed", pa.bool_())]
        return pa.schema([*_IDENTITY_FIELDS, *told, *fields_of(self.record_fields)])

    @staticmethod
    def outputs_schema(stage: Stage) -> pa.Schema:
        """What `read_outputs` gives."""
        flaw = pa.field("flaw", pa.string())
        return pa.schema([*_IDENTITY_FIELDS, flaw, *fields_of(stage.fields, "got_")])

    @staticmethod
    def expected_schema(stage: Stage) -> pa.Schema:
        """What must come out."""
        copies = pa.field("copies", pa.int64())
        return pa.schema([*_IDENTITY_FIELDS, copies, *fields_of(stage.fields, "expected_")])

    def frame(self, inputs: pa.Table) -> pd.DataFrame:
        """Input records as `expect` is given them.

        Texts that recur are categories; whole numbers that may be lacking stay whole numbers.
        """
        frame: pd.DataFrame = inputs.to_pandas(categories=list(_RECURRING))
        for name, kind in self.record_fields:
            if kind == "long":
                frame[name] = inputs[name].to_pandas(types_mapper=_WHOLE.get)
        return frame

    def expected(self, inputs: pa.Table, stage: Stage) -> pa.Table:
        """What must come out for these inputs, which hold all that some locations said."""
        found = self.expect(self.frame(inputs), stage)
        schema = self.expected_schema(stage)
        return pa.table([_column(found[field.name], field.type) for field in schema], schema)


def _column(series: pd.Series[Any], kind: pa.DataType) -> pa.Array:
    """As Arrow has it; what is not a number is unknown."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return pa.Array.from_pandas(series).cast(kind)
    return pa.Array.from_pandas(series, type=kind)


def load_judge(workload: str) -> Judge:
    """The evaluator's part of the workload of that name."""
    module = importlib.import_module(f"evaluator.workloads.{workload}")
    judge = module.JUDGE
    if not isinstance(judge, Judge):
        raise TypeError(f"{module.__name__}.JUDGE is no Judge")
    return judge
