"""Tell figures of stages, their prices, and what mode and dialect change: values with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np

from contract.doubts import RUNS_MIN
from contract.results import ATTRIBUTIONS, MEASURES
from contract.variant import Variant
from contract.workload import load_workload
from evaluator.estimates import Samples
from evaluator.intervals import Estimate, Sampled, combined

Rows = list[dict[str, Any]]
#: prices are told of what latency is counted from, and of the engine's own part
PRICED = (*ATTRIBUTIONS, "engine")
_SEED = 20180702


def verdict_on(told: Estimate, above: str, below: str) -> str:
    """Which side of zero the interval is on; none is told from fewer runs than it takes."""
    if told.runs < RUNS_MIN:
        return "too-few-runs"
    if told.low > 0:
        return above
    return below if told.high < 0 else "cannot-be-told"


def figures(samples: Samples) -> Rows:
    """Of each stage of each variant the median, by each measure."""
    rng = np.random.default_rng(_SEED)
    rows: Rows = []
    for variant in samples.variants:
        for stage in samples.stages(variant):
            for measure in MEASURES:
                sampled = samples.sampled(variant, stage, measure)
                if sampled is None:
                    continue
                told = combined({stage: sampled}, {stage: 1}, rng)
                rows.append(
                    {
                        **variant.to_json(),
                        "stage": stage,
                        "runs": len(samples.of(variant, stage)),
                        "valid_runs": len(samples.valid(variant, stage)),
                        "attribution": measure,
                        "p50_ms": told.value,
                        "low_ms": told.low,
                        "high_ms": told.high,
                        "method": told.method,
                        "p50_ms_min": min(sampled.values),
                        "p50_ms_max": max(sampled.values),
                    }
                )
    return rows


def prices(samples: Samples) -> Rows:
    """Of each stage whose predecessor was run too, both with valid runs."""
    rng = np.random.default_rng(_SEED)
    rows: Rows = []
    for variant in samples.variants:
        for stage in samples.stages(variant):
            predecessor = predecessor_of(samples, variant, stage)
            if predecessor is None:
                continue
            for measure in PRICED:
                of = known(
                    {
                        name: samples.sampled(variant, name, measure, trusted=True)
                        for name in (stage, predecessor)
                    }
                )
                if of is None:
                    continue
                told = combined(of, {stage: 1, predecessor: -1}, rng)
                rows.append(
                    {
                        **variant.to_json(),
                        "stage": stage,
                        "predecessor": predecessor,
                        "attribution": measure,
                        "price_ms": told.value,
                        "low_ms": told.low,
                        "high_ms": told.high,
                        "method": told.method,
                        "verdict": verdict_on(told, "costs", "saves"),
                    }
                )
    return rows


def predecessor_of(samples: Samples, variant: Variant, stage: str) -> str | None:
    """The stage before it, by its workload."""
    return load_workload(samples.of(variant, stage)[0].workload).stage(stage).predecessor


def known(found: Mapping[str, Sampled | None]) -> dict[str, Sampled] | None:
    """All of them; None where one is lacking."""
    told = {name: sampled for name, sampled in found.items() if sampled is not None}
    return told if len(told) == len(found) else None


Effect = Literal["execution", "dialect"]


def effects(samples: Samples) -> Rows:
    """What another mode changes at one dialect, and another dialect at one mode, stage by stage."""
    rng = np.random.default_rng(_SEED)
    rows: Rows = []
    for effect, before, after in _pairs(samples.variants):
        for stage in samples.stages(before):
            for measure in PRICED:
                of = known(
                    {
                        name: samples.sampled(variant, stage, measure, trusted=True)
                        for name, variant in (("before", before), ("after", after))
                    }
                )
                if of is None:
                    continue
                told = combined(of, {"after": 1, "before": -1}, rng)
                rows.append(
                    {
                        "of": effect,
                        "stage": stage,
                        "attribution": measure,
                        "from": before.to_json(),
                        "to": after.to_json(),
                        "difference_ms": told.value,
                        "low_ms": told.low,
                        "high_ms": told.high,
                        "method": told.method,
                        "verdict": verdict_on(told, "slower", "faster"),
                    }
                )
    return rows


def _pairs(variants: list[Variant]) -> Iterator[tuple[Effect, Variant, Variant]]:
    """Variants of one engine that differ in one property; eager is what waiting is told against."""
    for one, other in combinations(sorted(variants, key=lambda v: v.dialect != "eager"), 2):
        if one.engine != other.engine:
            continue
        if one.dialect == other.dialect and one.mode != other.mode:
            first, second = sorted((one, other), key=variants.index)
            yield "execution", first, second
        elif one.mode == other.mode:
            yield "dialect", one, other
