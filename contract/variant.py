"""What runs of a campaign may differ in besides their stage: an engine, its mode, its dialect."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """One of those whose figures are told side by side."""

    engine: str
    mode: str
    dialect: str

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """From run.json, or from a figure, a price or a run's entry of campaign.json."""
        return cls(str(told["engine"]), str(told["mode"]), str(told["dialect"]))

    def to_json(self) -> dict[str, str]:
        """The keys by which everything that belongs to it is marked."""
        return {"engine": self.engine, "mode": self.mode, "dialect": self.dialect}

    @property
    def execution(self) -> str:
        """Its mode and dialect, by which it is known among those of one engine."""
        return f"{self.mode} {self.dialect}"

    def __str__(self) -> str:
        return f"{self.engine} {self.mode} {self.dialect}"


#: how one compares with another, as a reader is told it
COMPARED: Mapping[str, str] = {
    "faster": "faster",
    "slower": "slower",
    "cannot-be-told": "cannot be told",
    "too-few-runs": "too few runs",
    "no-valid-run": "no valid run",
}


def name_among(variant: Variant, variants: Collection[Variant]) -> str:
    """As short as tells it from these: its execution, its engine, or both; none for one alone."""
    engines = [each.engine for each in variants]
    if len(engines) < 2:
        return ""
    if len(set(engines)) == 1:
        return variant.execution
    return variant.engine if len(set(engines)) == len(engines) else str(variant)
