"""Set two campaigns side by side: the same work, variant by variant, stage by stage."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from contract.errors import ExitCode, UsageError
from contract.results import SCHEMA
from contract.variant import Variant
from evaluator.compare_answer import sentences
from evaluator.compare_doubts import DoubtCount, doubts_of
from evaluator.compare_same_work import (
    Difference,
    between_campaigns,
    between_variants,
    check_same_work,
)
from evaluator.compare_sides import Pair, Side, pairs_of
from evaluator.compare_stages import StageCompared, compared
from evaluator.estimates import EndedRun, Samples


@dataclass(frozen=True, slots=True)
class PairCompared:
    """A variant of A beside one of B."""

    a: Variant
    b: Variant
    stages: tuple[StageCompared, ...]
    differences: tuple[Difference, ...]
    #: of how many runs of each the doubts are
    runs_a: int
    runs_b: int
    doubts: tuple[DoubtCount, ...]

    @property
    def says(self) -> list[str]:
        return sentences(self.a, self.b, self.stages)

    def to_json(self) -> dict[str, Any]:
        return {
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "says": self.says,
            "stages": [stage.to_json() for stage in self.stages],
            "differences": [each.to_json() for each in self.differences],
            "runs": {"a": self.runs_a, "b": self.runs_b},
            "doubts": [doubt.to_json() for doubt in self.doubts],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that is told of two campaigns."""

    a: str
    b: str
    pairs: tuple[PairCompared, ...]
    #: variants that were meant, and that the other has not
    alone: tuple[str, ...]
    #: of the campaigns as wholes; none where both are one
    differences: tuple[Difference, ...]

    @property
    def compared_any(self) -> bool:
        return any(stage.both for pair in self.pairs for stage in pair.stages)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "a": self.a,
            "b": self.b,
            "pairs": [pair.to_json() for pair in self.pairs],
            "alone": list(self.alone),
            "differences": [each.to_json() for each in self.differences],
        }


def compare(word_a: str, word_b: str, *, as_json: bool = False) -> int:
    """Print the comparison of two campaigns' folders; the exit code says what came of it."""
    from evaluator.compare_text import lines

    found = comparison(Side.read("A", word_a), Side.read("B", word_b))
    if as_json:
        print(json.dumps(found.to_json(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        print("\n".join(lines(found)))
    return ExitCode.VALID if found.compared_any else ExitCode.INVALID


def comparison(a: Side, b: Side) -> Comparison:
    """Refused before any run is read, where it would compare nothing."""
    check_same_work(a.told["settings"], b.told["settings"])
    pairs = pairs_of(a, b)
    if not any(_stages(a, b, pair) for pair in pairs):
        ran = [
            f"{side.name} ran {', '.join(side.stages(pairs[0][i])) or 'none'}"
            for i, side in enumerate((a, b))
        ]
        raise UsageError(f"A and B have no stage in common: {'; '.join(ran)}")
    same = a.folder.path == b.folder.path
    samples_a = a.samples()
    samples_b = samples_a if same else b.samples()
    return Comparison(
        a.campaign_id,
        b.campaign_id,
        tuple(_pair((a, samples_a), (b, samples_b), pair) for pair in pairs),
        tuple(_alone(a, b, pairs)),
        () if same else tuple(between_campaigns(a.told, b.told)),
    )


def _stages(a: Side, b: Side, pair: Pair) -> list[str]:
    """Those that were planned on both sides: of a run that left nothing it is said."""
    of_b = b.stages(pair[1])
    return [stage for stage in a.stages(pair[0]) if stage in of_b]


def _pair(a: tuple[Side, Samples], b: tuple[Side, Samples], pair: Pair) -> PairCompared:
    (side_a, samples_a), (side_b, samples_b) = a, b
    of_a, of_b = pair
    stages = _stages(side_a, side_b, pair)
    runs_a, runs_b = _runs(samples_a, of_a, stages), _runs(samples_b, of_b, stages)
    return PairCompared(
        of_a,
        of_b,
        compared(samples_a, of_a, samples_b, of_b, stages),
        tuple(
            between_variants(
                side_a.entry(of_a), side_b.entry(of_b), *(_told(runs) for runs in (runs_a, runs_b))
            )
        ),
        len(runs_a),
        len(runs_b),
        doubts_of(runs_a, runs_b),
    )


def _runs(samples: Samples, variant: Variant, stages: list[str]) -> list[EndedRun]:
    return [run for stage in stages for run in samples.of(variant, stage)]


def _told(runs: list[EndedRun]) -> dict[str, Any]:
    """A campaign's containers have one size: one run tells for all."""
    return runs[0].told if runs else {}


def _alone(a: Side, b: Side, pairs: list[Pair]) -> list[str]:
    beside = ({one for one, _ in pairs}, {other for _, other in pairs})
    return [
        f"only in {side.name}: {variant}"
        for side, known in zip((a, b), beside, strict=True)
        for variant in side.variants
        if variant not in known
    ]
