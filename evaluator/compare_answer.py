"""Say in a sentence what came of setting one variant beside another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contract.variant import Variant
from evaluator.compare_stages import A_AND_B, Measure, Names, StageCompared
from evaluator.listing import listed

#: of one stage, of several
_UNDECIDED = {
    "cannot-be-told": ("cannot be told", "cannot be told"),
    "too-few-runs": ("has too few runs", "have too few runs"),
    "no-valid-run": ("has no valid run", "have no valid run"),
}


def sentences(
    a: Variant, b: Variant, stages: Sequence[StageCompared], names: Names = A_AND_B
) -> list[str]:
    """The answer; what only one of them stood; where one waits by definition, what to read."""
    said = [f"{answer(stages, names=names)}.", *_alone(stages, names)]
    if a.dialect != b.dialect and any(stage.both for stage in stages):
        said.append(
            f"{names.a} is {a.dialect}, {names.b} {b.dialect}: what is windowed waits for its "
            f"window's end by definition, so compare `engine`."
        )
        said.append(f"By `engine`: {answer(stages, 'engine', names)}.")
    return said


def answer(stages: Sequence[StageCompared], of: Measure = "last", names: Names = A_AND_B) -> str:
    """Of how many stages B is faster or slower, and of how many that is not told."""
    if not stages:
        return f"{names.a} and {names.b} have no stage in common"
    if len(stages) == 1:
        return _of_one(stages[0], of, names)
    count = Counter(stage.verdict(of) for stage in stages)
    rest = ", ".join(
        f"{count[verdict]} {words[count[verdict] > 1]}"
        for verdict, words in _UNDECIDED.items()
        if count[verdict]
    )
    more, less = sorted(("faster", "slower"), key=lambda verdict: -count[verdict])
    if not count[more]:
        return (
            f"{names.b} is told to be faster or slower than {names.a} at none of {len(stages)} "
            f"stages: {rest}"
        )
    lead = f"{names.b} is {more} than {names.a} at {count[more]} of {len(stages)} stages"
    return f"{lead}, {less} at {count[less] or 'none'}{f'; {rest}' * bool(rest)}"


def _alone(stages: Sequence[StageCompared], names: Names) -> list[str]:
    """Where one of them has valid runs and the other has none."""
    if len(stages) < 2:
        return []
    of_a = [stage.stage for stage in stages if stage.valid_runs_a and not stage.valid_runs_b]
    of_b = [stage.stage for stage in stages if stage.valid_runs_b and not stage.valid_runs_a]
    return [
        f"At {listed(found)} only {name} has a valid run."
        for name, found in ((names.a, of_a), (names.b, of_b))
        if found
    ]


def _of_one(stage: StageCompared, of: Measure, names: Names) -> str:
    verdict, name = stage.verdict(of), stage.stage
    if (lacks := stage.lacks(names)) is not None:
        return f"{names.b} and {names.a} cannot be compared: {lacks}"
    if verdict in _UNDECIDED:
        words = {"cannot-be-told": "cannot be told", "too-few-runs": "is not told: too few runs"}
        return (
            f"Whether {names.b} is faster or slower than {names.a} at {name} "
            f"{words.get(verdict, 'is not told')}"
        )
    return f"{names.b} is {verdict} than {names.a} at {name}"
