"""What papers state, as data: one file a paper, each statement with the test it is put to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

from contract.errors import TollgateError, UsageError
from contract.workload import load_workload

FOLDER = Path(__file__).resolve().parent

Verdict = Literal["holds", "does-not-hold", "cannot-be-told", "not-testable"]
#: as a reader is told them
VERDICT_WORDS: Mapping[Verdict, str] = {
    "holds": "holds",
    "does-not-hold": "does not hold",
    "cannot-be-told": "cannot be told",
    "not-testable": "not testable here",
}
#: of so few runs that another day may say otherwise
_PRELIMINARY: Mapping[Verdict, str] = {
    "holds": "seems to hold",
    "does-not-hold": "seems not to hold",
}
Statistic = Literal["p50", "p99", "p95-p75", "p95-p5"]


def verdict_words(verdict: Verdict, *, preliminary: bool) -> str:
    """A verdict as a reader is told it."""
    return (_PRELIMINARY if preliminary else {}).get(verdict, VERDICT_WORDS[verdict])


class BadClaims(TollgateError):
    """A file of claims that cannot be read as such."""


@dataclass(frozen=True, slots=True)
class Ascending:
    """A statistic is larger for each stage than for the one before it."""

    statistic: Statistic

    def __post_init__(self) -> None:
        if self.statistic not in get_args(Statistic):
            raise ValueError(f"no such statistic: {self.statistic}")


@dataclass(frozen=True, slots=True)
class Dearest:
    """A stage's price is larger than that of each other stage that has one."""

    stage: str


@dataclass(frozen=True, slots=True)
class PriceRatio:
    """A stage's price is so many times another's; any of the figures will do."""

    stage: str
    to: str
    figures: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PriceOver:
    """A stage's price is over a bound."""

    stage: str
    over_ms: float


@dataclass(frozen=True, slots=True)
class Figure:
    """The median up to and including a stage has this value."""

    stage: str
    figure_ms: float


@dataclass(frozen=True, slots=True)
class Untestable:
    """No run here can tell."""

    because: str


Test = Ascending | Dearest | PriceRatio | PriceOver | Figure | Untestable
_KINDS: Mapping[str, type[Test]] = {
    "ascending": Ascending,
    "dearest": Dearest,
    "price-ratio": PriceRatio,
    "price-over": PriceOver,
    "figure": Figure,
    "untestable": Untestable,
}


@dataclass(frozen=True, slots=True)
class Because:
    """Why a statement does not hold, for variants with these properties."""

    says: str
    mode: str | None = None
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a paper, in our words, that a campaign can confirm or refute."""

    id: str
    says: str
    #: the paper's own figure, as a reader compares it
    figure: str
    test: Test
    #: properties that a variant must have for the test to mean anything
    needs: Mapping[str, str]
    #: what is said of a variant that has them not
    lacking: str
    because: tuple[Because, ...]

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """From a [[claim]] table."""
        test = dict(raw["test"])
        kind = _KINDS[test.pop("kind")]
        if "figures" in test:
            test["figures"] = tuple(map(float, test["figures"]))
        return cls(
            id=raw["id"],
            says=raw["says"],
            figure=raw["figure"],
            test=kind(**test),
            needs=dict(raw.get("needs", {})),
            lacking=raw.get("lacking", ""),
            because=tuple(Because(**told) for told in raw.get("because", ())),
        )


@dataclass(frozen=True, slots=True)
class Paper:
    """What a paper measured, and what it states."""

    id: str
    authors: str
    title: str
    venue: str
    year: int
    pages: str
    workload: str
    #: what was measured there
    system: str
    #: how its latencies are counted
    attribution: str
    #: stage → cumulative median
    p50_ms: Mapping[str, float]
    claims: tuple[Claim, ...]

    @property
    def cited(self) -> str:
        """As a reference in a text."""
        return f"{self.authors}, {self.title}, {self.venue} {self.year}, pp. {self.pages}"


def read_paper(path: Path) -> Paper:
    """Read one file; what is amiss in it is said in a sentence."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        paper = Paper(
            **{**raw["paper"], "p50_ms": {k: float(v) for k, v in raw["paper"]["p50_ms"].items()}},
            claims=tuple(Claim.read(told) for told in raw["claim"]),
        )
        _check(paper)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, UsageError) as error:
        raise BadClaims(f"{path} is no file of claims: {error}") from None
    return paper


def _check(paper: Paper) -> None:
    """Every stage that is named is one, and no two claims have one name."""
    workload = load_workload(paper.workload)
    named = [*paper.p50_ms]
    for claim in paper.claims:
        named += [getattr(claim.test, key) for key in ("stage", "to") if hasattr(claim.test, key)]
    for stage in named:
        workload.stage(stage)
    if len({claim.id for claim in paper.claims}) < len(paper.claims):
        raise ValueError("two claims have one id")


def papers_on(workload: str) -> list[Paper]:
    """The papers whose statements runs of this workload can be put to."""
    found = [read_paper(path) for path in sorted(FOLDER.glob("*.toml"))]
    return [paper for paper in found if paper.workload == workload]
