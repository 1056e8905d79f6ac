"""What a workload is: its topics, its stages and the shape of each stage's outputs; no code."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from contract.errors import unknown_name

FieldType = Literal["string", "long", "double", "timestamp"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A prefix of the pipeline that an engine can be asked to run."""

    name: str
    predecessor: str | None
    #: what tells one output from another, besides its slot
    identity: tuple[str, ...]
    #: the fields of an output's value; empty where the value is the input's, byte for byte
    fields: tuple[tuple[str, FieldType], ...]
    #: how many slots before its own an output needs
    look_back_slots: int = 0
    #: whether an output waits, by its definition, until others have arrived
    stateful: bool = False
    #: whether its outputs, in the windowed dialect, wait until event time has passed their slot
    windowed: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of input with its stages."""

    name: str
    #: the kinds of input record; one topic each
    kinds: tuple[str, ...]
    stages: tuple[Stage, ...]
    #: other names a user may give a stage
    aliases: dict[str, str]
    #: the event-time second of an output's value, or None where it cannot be told
    event_second_of: Callable[[bytes], int | None]

    def stage(self, name: str) -> Stage:
        """The stage of that name or alias."""
        known = {s.name: s for s in self.stages}
        asked = name.strip().lower()
        found = known.get(self.aliases.get(asked, asked))
        if found is None:
            raise unknown_name("stage", name, [*known, "all"])
        return found


def workload_names() -> list[str]:
    """The workloads there are: one module each in `contract/workloads/`."""
    package = importlib.import_module("contract.workloads")
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__))


def load_workload(name: str) -> Workload:
    """The workload of that name."""
    if name not in workload_names():
        raise unknown_name("workload", name, workload_names())
    module = importlib.import_module(f"contract.workloads.{name}")
    workload = module.WORKLOAD
    assert isinstance(workload, Workload)
    return workload
