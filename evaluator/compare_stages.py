"""Tell of each stage how one variant's runs differ from another's: values, intervals, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from contract.claims import Statistic
from contract.variant import Variant
from evaluator.comparisons import verdict_on
from evaluator.estimates import EndedRun, Samples
from evaluator.intervals import Estimate, Sampled, combined, of_runs

Measure = Literal["last", "mean", "engine", "cpu", "brokers", "memory"]
#: what is told of latency; the first is the headline
LATENCIES: tuple[tuple[Measure, Statistic], ...] = (
    ("last", "p50"),
    ("mean", "p50"),
    ("engine", "p50"),
    ("last", "p99"),
)
#: what is told of resources, and in which unit
RESOURCES: dict[Measure, str] = {
    "cpu": "core-ms per 1000 observations",
    "brokers": "core-ms per 1000 observations",
    "memory": "MiB",
}
_SEED = 20180704


@dataclass(frozen=True, slots=True)
class Names:
    """What the two are called."""

    a: str
    b: str


A_AND_B = Names("A", "B")


@dataclass(frozen=True, slots=True)
class Contrast:
    """One figure of a stage on both sides; None where it is not known."""

    of: Measure
    #: `mean` is that over the window, `max` the largest in it
    statistic: Statistic | Literal["mean", "max"]
    a: float | None
    b: float | None
    #: B less A
    difference: Estimate | None
    #: slower, faster, cannot-be-told, too-few-runs; None where none is given
    verdict: str | None

    @property
    def share(self) -> float | None:
        """How much more B is than A, as a share of A."""
        return self.b / self.a - 1 if self.a and self.b is not None else None

    def to_json(self) -> dict[str, Any]:
        told = self.difference
        return {
            "of": self.of,
            "statistic": self.statistic,
            "unit": RESOURCES.get(self.of, "ms"),
            "a": self.a,
            "b": self.b,
            "difference": told.value if told else None,
            "low": told.low if told else None,
            "high": told.high if told else None,
            "method": told.method if told else None,
            "share": self.share,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class StageCompared:
    """A stage that both were asked for."""

    stage: str
    valid_runs_a: int
    valid_runs_b: int
    #: where a side has no valid run, of the other alone
    contrasts: tuple[Contrast, ...]

    @property
    def both(self) -> bool:
        """Whether there is something to compare."""
        return bool(self.valid_runs_a and self.valid_runs_b)

    def lacks(self, names: Names = A_AND_B) -> str | None:
        """A sentence, where there is nothing to compare."""
        sides = ((names.a, self.valid_runs_a), (names.b, self.valid_runs_b))
        without = [name for name, valid_runs in sides if not valid_runs]
        return f"no valid run of {self.stage} in {' and '.join(without)}" if without else None

    def contrast(self, of: Measure, statistic: str = "p50") -> Contrast | None:
        return next((c for c in self.contrasts if (c.of, c.statistic) == (of, statistic)), None)

    def verdict(self, of: Measure = "last") -> str:
        """On the median."""
        found = self.contrast(of)
        return found.verdict if found and found.verdict else "no-valid-run"

    def to_json(self, names: Names = A_AND_B) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "valid_runs": {"a": self.valid_runs_a, "b": self.valid_runs_b},
            "verdict": self.verdict(),
            "says": self.lacks(names),
            "figures": [contrast.to_json() for contrast in self.contrasts],
        }


def compared(
    a: Samples, of_a: Variant, b: Samples, of_b: Variant, stages: Sequence[str] | None = None
) -> tuple[StageCompared, ...]:
    """B against A, at the stages that are named, or else at those of which both have runs."""
    if stages is None:
        stages = [stage for stage in a.stages(of_a) if stage in b.stages(of_b)]
    rng = np.random.default_rng(_SEED)
    return tuple(_stage(stage, (a, of_a), (b, of_b), rng) for stage in stages)


_Side = tuple[Samples, Variant]


def _stage(stage: str, a: _Side, b: _Side, rng: np.random.Generator) -> StageCompared:
    valid_a, valid_b = (len(samples.valid(variant, stage)) for samples, variant in (a, b))
    found = [_latency(stage, a, b, of, statistic, rng) for of, statistic in LATENCIES]
    found += [_used(stage, a, b, of, rng) for of in RESOURCES]
    return StageCompared(stage, valid_a, valid_b, tuple(found))


def _latency(
    stage: str, a: _Side, b: _Side, of: Measure, statistic: Statistic, rng: np.random.Generator
) -> Contrast:
    known = _known(
        {
            name: samples.sampled(variant, stage, of, statistic, trusted=True)
            for name, (samples, variant) in (("a", a), ("b", b))
        }
    )
    told = _less(known, rng) if len(known) == 2 else None
    verdict = verdict_on(told, "slower", "faster") if told else None
    return Contrast(of, statistic, _mean(known, "a"), _mean(known, "b"), told, verdict)


def _used(stage: str, a: _Side, b: _Side, of: Measure, rng: np.random.Generator) -> Contrast:
    """Without a verdict; of a single run nothing tells how it would scatter."""
    known = _known(
        {
            # no clock of whole milliseconds is in it
            name: of_runs([_resource(run, of) for run in samples.valid(variant, stage)], readings=0)
            for name, (samples, variant) in (("a", a), ("b", b))
        }
    )
    several = len(known) == 2 and all(sampled.runs > 1 for sampled in known.values())
    told = _less(known, rng) if several else None
    statistic: Literal["mean", "max"] = "max" if of == "memory" else "mean"
    return Contrast(of, statistic, _mean(known, "a"), _mean(known, "b"), told, None)


def _resource(run: EndedRun, of: Measure) -> float | None:
    if of == "memory":
        return run.memory_mib
    return run.brokers_core_ms if of == "brokers" else run.cpu_core_ms


def _known(found: Mapping[str, Sampled | None]) -> dict[str, Sampled]:
    return {name: sampled for name, sampled in found.items() if sampled is not None}


def _less(of: Mapping[str, Sampled], rng: np.random.Generator) -> Estimate:
    return combined(of, {"b": 1, "a": -1}, rng)


def _mean(of: Mapping[str, Sampled], name: str) -> float | None:
    return of[name].mean if name in of else None
