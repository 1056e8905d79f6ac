"""Say in a sentence what came of setting one variant beside another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contract.variant import Variant
from evaluator.compare_stages import Measure, StageCompared

#: of one stage, of several
_UNDECIDED = {
    "cannot-be-told": ("cannot be told", "cannot be told"),
    "too-few-runs": ("has too few runs", "have too few runs"),
    "no-valid-run": ("has no valid run", "have no valid run"),
}


def sentences(a: Variant, b: Variant, stages: Sequence[StageCompared]) -> list[str]:
    """The answer; where one waits by definition, what to read instead."""
    said = [f"{answer(stages)}."]
    if a.dialect != b.dialect and any(stage.contrasts for stage in stages):
        said.append(
            f"A is {a.dialect}, B {b.dialect}: what is windowed waits for its window's end by "
            f"definition, so compare `engine`."
        )
        said.append(f"By `engine`: {answer(stages, 'engine')}.")
    return said


def answer(stages: Sequence[StageCompared], of: Measure = "last") -> str:
    """Of how many stages B is faster or slower, and of how many that is not told."""
    if not stages:
        return "A and B have no stage in common"
    if len(stages) == 1:
        return _of_one(stages[0], of)
    count = Counter(stage.verdict(of) for stage in stages)
    rest = ", ".join(
        f"{count[verdict]} {words[count[verdict] > 1]}"
        for verdict, words in _UNDECIDED.items()
        if count[verdict]
    )
    more, less = sorted(("faster", "slower"), key=lambda verdict: -count[verdict])
    if not count[more]:
        return f"B is told to be faster or slower than A at none of {len(stages)} stages: {rest}"
    lead = f"B is {more} than A at {count[more]} of {len(stages)} stages"
    return f"{lead}, {less} at {count[less] or 'none'}{f'; {rest}' * bool(rest)}"


def _of_one(stage: StageCompared, of: Measure) -> str:
    verdict, name = stage.verdict(of), stage.stage
    if stage.lacks:
        return f"B and A cannot be compared: {stage.lacks}"
    if verdict in _UNDECIDED:
        words = {"cannot-be-told": "cannot be told", "too-few-runs": "is not told: too few runs"}
        return f"Whether B is faster or slower than A at {name} {words.get(verdict, 'is not told')}"
    return f"B is {verdict} than A at {name}"
