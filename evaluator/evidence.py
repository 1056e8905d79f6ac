"""Read what the witnesses of a run wrote; judge nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from contract.results import RunFolder, read_json, read_jsonl
from evaluator.sent import Sent

#: the Docker engine, where it stands in, is asked for one container after the other
UNSEEN_MS = 30_000


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """How event time and wall time go together, and which slots are measured."""

    first_due_ms: float
    event_start_s: int
    slot_ms: float
    #: the last slot that was published whole
    last_slot: int | None
    first_measured: int | None
    last_measured: int | None

    @property
    def span_ms(self) -> tuple[float, float] | None:
        """Begin and end of the measured window on the wall."""
        if self.first_measured is None or self.last_measured is None:
            return None
        return self.due_ms(self.first_measured), self.due_ms(self.last_measured + 1)

    def due_ms(self, slot: int) -> float:
        """When a slot begins on the wall."""
        return self.first_due_ms + slot * self.slot_ms

    def measures(self, slot: int) -> bool:
        """Whether a slot is measured."""
        if self.first_measured is None or self.last_measured is None:
            return False
        return self.first_measured <= slot <= self.last_measured


@dataclass(frozen=True)
class Evidence:
    """A run as its witnesses saw it."""

    conditions: dict[str, Any]
    publisher: dict[str, Any] | None
    resources: list[dict[str, Any]]
    machine: list[dict[str, Any]]
    folder: Path

    @classmethod
    def read(cls, run: RunFolder) -> Evidence:
        """From the run's evidence folder; only the conductor's must be there."""
        told = run.evidence / "publisher.json"
        return cls(
            read_json(run.conditions),
            read_json(told) if told.exists() else None,
            read_jsonl(run.evidence / "resources.jsonl"),
            read_jsonl(run.evidence / "machine.jsonl"),
            run.evidence,
        )

    @cached_property
    def sent(self) -> Sent:
        """What the publisher says that it sent."""
        first, last = self.axis.first_measured, self.axis.last_measured
        measured = None if first is None or last is None else (first, last)
        return Sent.read(self.folder, measured)

    @cached_property
    def axis(self) -> TimeAxis:
        """The run's time axis; a run that never began has one of zeros."""
        told = self.conditions
        window = told.get("window") or {}
        return TimeAxis(
            float(told.get("first_due_ms") or 0.0),
            int(told.get("event_start_s") or 0),
            float(told.get("slot_ms") or 1000.0),
            told.get("last_slot"),
            window.get("first_slot"),
            window.get("last_slot"),
        )

    def of_service(self) -> dict[str, list[dict[str, Any]]]:
        """The resource lines of each service within the measured window."""
        span = self.axis.span_ms
        found: dict[str, list[dict[str, Any]]] = {}
        for line in self.resources:
            if span is not None and span[0] <= line["at_ms"] < span[1]:
                found.setdefault(line["service"], []).append(line)
        return found

    def stood_in(self) -> list[str]:
        """Services of which the Docker engine had to tell in the window, for cAdvisor did not."""
        return sorted(
            service
            for service, lines in self.of_service().items()
            if any(line.get("source") == "docker" for line in lines)
        )

    def unseen(self) -> list[str]:
        """Services in containers that nobody looked at for long within the window, or at all."""
        span, source = self.axis.span_ms, self.conditions.get("monitoring_source")
        if span is None or source is None:
            return []
        looks = self.of_service()
        found = []
        for service in source["services"]:
            at_ms = sorted(line["at_ms"] for line in looks.get(service, []))
            edges = [span[0], *at_ms, span[1]]
            longest = max(after - before for before, after in pairwise(edges))
            if not at_ms or longest > UNSEEN_MS:
                found.append(service)
        return found

    def machine_measured(self) -> list[dict[str, Any]]:
        """The machine's lines within the measured window."""
        span = self.axis.span_ms
        if span is None:
            return []
        return [line for line in self.machine if span[0] <= line["at_ms"] < span[1]]
