"""What the evaluator must know of a workload: how to read its topics, what must come out."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from contract.workload import FieldType, Stage

#: what tells one output from another; '' where a stage does not tell by it
IDENTITY = ("location", "lane", "kind", "second", "token")
#: the `second` of a record that has none
NO_SECOND = -(2**62)

Read = Callable[[pd.DataFrame, Stage], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Judge:
    """A workload's own part of the evaluation; its functions are pure.

    `read_inputs` gives a row for each input record: its identity, `event_us`, `well_formed`
    and `record_fields`. `read_outputs` gives a row for each output: its identity, the stage's
    fields and `flaw`, what keeps it from being compared. `expect` gives, for the records of
    some locations, whole, the identities and fields that must come out, with `copies`.
    """

    record_fields: tuple[tuple[str, FieldType], ...]
    read_inputs: Read
    read_outputs: Read
    expect: Read


def load_judge(workload: str) -> Judge:
    """The evaluator's part of the workload of that name."""
    module = importlib.import_module(f"evaluator.workloads.{workload}")
    judge = module.JUDGE
    if not isinstance(judge, Judge):
        raise TypeError(f"{module.__name__}.JUDGE is no Judge")
    return judge
