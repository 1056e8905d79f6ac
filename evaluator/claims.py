"""Put what papers state to the runs of a campaign: a verdict for each statement and variant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, assert_never

import numpy as np

from contract.claims import (
    Ascending,
    Claim,
    Dearest,
    Figure,
    Paper,
    PriceOver,
    PriceRatio,
    Test,
    Untestable,
    Verdict,
    papers_on,
)
from contract.doubts import CONFIDENCE, RUNS_MIN
from contract.variant import Variant
from contract.workload import load_workload
from evaluator.estimates import Samples
from evaluator.intervals import Estimate, Sampled, combined, ratio
from evaluator.listing import listed

_SEED = 20180703
#: an interval that is wider than this, from end to end, confirms no figure
_WIDTH_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a test."""

    verdict: Verdict
    says: str
    #: the figure that is set beside the paper's, where there is a single one
    told: Estimate | None = None
    unit: str | None = None
    #: the same stage by stage, where it is told of each
    by_stage: tuple[tuple[str, Estimate], ...] = ()
    runs: int = 0


def claims(samples: Samples, workload: str) -> list[dict[str, Any]]:
    """The verdict on each statement of each paper, for each variant."""
    return [
        _to_json(paper, claim, variant, put_to(paper, claim, samples, variant))
        for paper in papers_on(workload)
        for claim in paper.claims
        for variant in samples.variants
    ]


def _to_json(paper: Paper, claim: Claim, variant: Variant, found: Found) -> dict[str, Any]:
    told = found.told
    return {
        "paper": paper.id,
        "claim": claim.id,
        **variant.to_json(),
        "verdict": found.verdict,
        "preliminary": found.verdict != "not-testable" and found.runs < RUNS_MIN,
        **_value(told),
        "unit": found.unit,
        "by_stage": [{"stage": stage, **_value(each)} for stage, each in found.by_stage],
        "says": _with_reason(claim, variant, found),
    }


def _value(told: Estimate | None) -> dict[str, float | None]:
    if told is None:
        return {"value": None, "low": None, "high": None}
    ends = (v if math.isfinite(v) else None for v in (told.value, told.low, told.high))
    return dict(zip(("value", "low", "high"), ends, strict=True))


def _with_reason(claim: Claim, variant: Variant, found: Found) -> str:
    """A refutation is a result: why it does not hold is said beside it."""
    if found.verdict != "does-not-hold":
        return found.says
    for reason in claim.because:
        if reason.mode in (None, variant.mode) and reason.dialect in (None, variant.dialect):
            return f"{found.says} {reason.says}"
    return found.says


def put_to(paper: Paper, claim: Claim, samples: Samples, variant: Variant) -> Found:
    """Put one statement to one variant."""
    if isinstance(claim.test, Untestable):
        return Found("not-testable", claim.test.because)
    if any(getattr(variant, name) != value for name, value in claim.needs.items()):
        return Found("not-testable", claim.lacking)
    stages = [stage.name for stage in load_workload(paper.workload).stages]
    needed = _needed(claim.test, stages)
    lacking = [stage for stage in needed if not samples.valid(variant, stage)]
    if lacking:
        return Found("cannot-be-told", f"There is no valid run of {', '.join(lacking)}.")
    looked = _Looked(samples, variant, paper.attribution, stages, needed)
    match claim.test:
        case Ascending():
            return _ascending(claim.test, looked)
        case Dearest():
            return _dearest(claim.test, looked)
        case PriceRatio():
            return _price_ratio(claim.test, looked)
        case PriceOver():
            return _price_over(claim.test, looked)
        case Figure():
            return _figure(claim.test, looked)
        case _:
            assert_never(claim.test)


def _needed(test: Test, stages: Sequence[str]) -> list[str]:
    """The stages without which a test cannot be made, in their order."""
    match test:
        case Figure():
            named = {test.stage}
        case PriceOver():
            named = _with_before({test.stage}, stages)
        case PriceRatio():
            named = _with_before({test.stage, test.to}, stages)
        case Ascending() | Dearest():
            named = set(stages)
        case Untestable():
            named = set()
        case _:
            assert_never(test)
    return [stage for stage in stages if stage in named]


def _with_before(named: set[str], stages: Sequence[str]) -> set[str]:
    return named | {stages[max(0, stages.index(stage) - 1)] for stage in named}


class _Looked:
    """One variant's samples of the stages that a test needs, the paper's way counted."""

    def __init__(
        self,
        samples: Samples,
        variant: Variant,
        attribution: str,
        stages: Sequence[str],
        needed: Sequence[str],
    ) -> None:
        self._samples, self._variant, self._attribution = samples, variant, attribution
        self.stages, self._needed = list(stages), needed
        self.rng = np.random.default_rng(_SEED)

    @property
    def runs(self) -> int:
        """The fewest of any stage."""
        return min(len(self._samples.valid(self._variant, stage)) for stage in self._needed)

    def of(self, statistic: Any) -> dict[str, Sampled]:
        """Stage → what its runs sample of a statistic."""
        found = {}
        for stage in self._needed:
            sampled = self._samples.sampled(
                self._variant, stage, self._attribution, statistic, trusted=True
            )
            assert sampled is not None
            found[stage] = sampled
        return found

    def price(self, stage: str) -> dict[str, float]:
        """The weights of a stage's price; the first stage has none."""
        place = self.stages.index(stage)
        return {stage: 1.0, self.stages[place - 1]: -1.0} if place else {}

    def told(
        self, weights: Mapping[str, float], statistic: Any = "p50", looks: int = 1
    ) -> Estimate:
        """`looks`: of how many one is enough, which takes a stricter interval for each."""
        confidence = 1 - (1 - CONFIDENCE) / looks
        return combined(self.of(statistic), weights, self.rng, confidence)


def _minus(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    names = dict.fromkeys([*one, *other])
    return {name: one.get(name, 0.0) - other.get(name, 0.0) for name in names}


def _number(value: float) -> str:
    said = f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    return said.replace(",", "\u202f").replace("-", "\u2212")


def _ms(value: float) -> str:
    return f"{_number(value)}\u00a0ms"


def _span(told: Estimate) -> str:
    return f"{_number(told.value)}, {_number(told.low)} to {_number(told.high)}\u00a0ms"


def _ascending(asked: Ascending, looked: _Looked) -> Found:
    pairs = list(pairwise(looked.stages))
    steps = [
        (before, after, looked.told({after: 1.0, before: -1.0}, asked.statistic))
        for before, after in pairs
    ]
    # all must rise for it to hold; one fall refutes it, and chance has as many tries at that
    falls = [
        looked.told({after: 1.0, before: -1.0}, asked.statistic, len(pairs))
        for before, after in pairs
    ]
    by_stage = tuple((s, looked.told({s: 1.0}, asked.statistic)) for s in looked.stages)
    down = [
        f"{after} is below {before} by {_ms(-fall.value)}"
        for (before, after), fall in zip(pairs, falls, strict=True)
        if fall.high < 0
    ]
    level = [f"{after} over {before} ({_span(d)})" for before, after, d in steps
             if d.low <= 0]  # fmt: skip
    if down:
        says = f"{listed(down)}."
        return Found("does-not-hold", says, by_stage=by_stage, unit="ms", runs=looked.runs)
    if level:
        says = f"Cannot be told from level: {'; '.join(level)}."
        return Found("cannot-be-told", says, by_stage=by_stage, unit="ms", runs=looked.runs)
    least = min(d.low for *_, d in steps)
    says = f"Each step up is at least {_ms(least)}, with 95 % confidence for each by itself."
    return Found("holds", says, by_stage=by_stage, unit="ms", runs=looked.runs)


def _dearest(asked: Dearest, looked: _Looked) -> Found:
    own = looked.price(asked.stage)
    priced = [s for s in looked.stages if looked.price(s)]
    by_stage = tuple((s, looked.told(looked.price(s))) for s in priced)
    others = [s for s in priced if s != asked.stage]
    leads = [(s, looked.told(_minus(own, looked.price(s)))) for s in others]
    told = looked.told(own)
    # one that is dearer refutes it, and chance has as many tries at that as there are others
    strict = [(s, looked.told(_minus(own, looked.price(s)), looks=len(others))) for s in others]
    dearer = [f"{s} costs {_ms(-lead.value)} more" for s, lead in strict if lead.high < 0]
    level = [f"{s} ({_span(lead)})" for s, lead in leads if lead.low <= 0]
    if dearer:
        verdict: Verdict = "does-not-hold"
        says = f"{listed(dearer)} than {asked.stage}."
    elif level:
        verdict = "cannot-be-told"
        says = f"Its lead cannot be told from zero: over {'; over '.join(level)}."
    else:
        lead_ms = min(lead.low for _, lead in leads)
        verdict, says = "holds", f"It leads each other one by at least {_ms(lead_ms)}."
    return Found(verdict, says, told, "ms", by_stage, looked.runs)


def _price_ratio(asked: PriceRatio, looked: _Looked) -> Found:
    over, under = looked.price(asked.stage), looked.price(asked.to)
    told = ratio(looked.of("p50"), over, under, looked.rng)
    by_stage = tuple((s, looked.told(looked.price(s))) for s in (asked.to, asked.stage))
    if told is None or not math.isfinite(told.high - told.low):
        says = (
            f"What {asked.to} costs is not told to be above zero ({_span(by_stage[0][1])}): there "
            f"is nothing to divide by."
        )
        return Found("cannot-be-told", says, None, "times", by_stage, looked.runs)
    verdict = _on_figures(told, asked.figures)
    named = " and ".join(f"{figure:g}" for figure in asked.figures)
    says = {
        "holds": f"{named} lie within the interval, or between its ends and each other.",
        "does-not-hold": f"The interval of {told.low:.1f} to {told.high:.1f} leaves out {named}.",
        "cannot-be-told": f"The interval of {told.low:.1f} to {told.high:.1f} is too wide.",
    }[verdict]
    return Found(verdict, says, told, "times", by_stage, looked.runs)


def _on_figures(told: Estimate, figures: Sequence[float]) -> Verdict:
    """Whether a figure, or what lies between several, is met by an interval that says something."""
    if told.high < min(figures) or told.low > max(figures):
        return "does-not-hold"
    narrow = told.low > 0 and told.high / told.low <= _WIDTH_MAX
    return "holds" if narrow else "cannot-be-told"


def _price_over(asked: PriceOver, looked: _Looked) -> Found:
    told = looked.told(looked.price(asked.stage))
    verdict: Verdict = "cannot-be-told"
    says = f"The interval holds {_ms(asked.over_ms)}."
    if told.low > asked.over_ms:
        verdict, says = "holds", f"All of the interval lies above {_ms(asked.over_ms)}."
    elif told.high < asked.over_ms:
        verdict, says = "does-not-hold", f"All of the interval lies below {_ms(asked.over_ms)}."
    return Found(verdict, says, told, "ms", (), looked.runs)


def _figure(asked: Figure, looked: _Looked) -> Found:
    told = looked.told({asked.stage: 1.0})
    verdict = _on_figures(told, (asked.figure_ms,))
    share = told.value / asked.figure_ms
    says = {
        "holds": f"The interval holds {_ms(asked.figure_ms)}.",
        "does-not-hold": f"It takes {share:.3g} times as long here.",
        "cannot-be-told": "The interval is too wide to say.",
    }[verdict]
    return Found(verdict, says, told, "ms", (), looked.runs)
