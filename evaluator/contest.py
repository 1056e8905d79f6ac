"""Set the variants of one campaign side by side: each against the first, stage by stage."""

from __future__ import annotations

from typing import Any

from contract.variant import Variant, name_among
from evaluator.compare_answer import sentences
from evaluator.compare_stages import Names, compared
from evaluator.estimates import Samples


def is_contest(told: dict[str, Any]) -> bool:
    """Whether a campaign was run to compare."""
    return bool(told.get("verb") == "compare")


def contests(samples: Samples, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Each other variant beside the first: what is said of the two, and every figure of both."""
    first, *others = [Variant.of(variant) for variant in told["variants"]]
    return [_contest(samples, first, other, told) for other in others]


def _contest(
    samples: Samples, first: Variant, other: Variant, told: dict[str, Any]
) -> dict[str, Any]:
    planned = [Variant.of(variant) for variant in told["variants"]]
    names = Names(name_among(first, planned), name_among(other, planned))
    stages = compared(samples, first, samples, other, told["stages"])
    return {
        "a": first.to_json(),
        "b": other.to_json(),
        "says": sentences(first, other, stages, names),
        "stages": [stage.to_json(names) for stage in stages],
    }
