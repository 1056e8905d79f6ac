"""The table that a reproduction opens with: what the paper states, what was found here."""

from __future__ import annotations

from collections import Counter
from typing import Any

from contract.claims import Claim, Paper, Verdict, papers_on, verdict_words
from evaluator.listing import listed
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign
from evaluator.report.words import NBSP, dig, interval, ms_number, number, rows_of

#: verdict → mark, class
MARKS: dict[Verdict, tuple[str, str]] = {
    "holds": ("✓", "good"),
    "does-not-hold": ("✗", "bad"),
    "cannot-be-told": ("?", "open"),
    "not-testable": ("–", "open"),
}
UNITS = {"ms": f"{NBSP}ms", "times": f"{NBSP}times"}


def papers_of(campaign: Campaign) -> list[Paper]:
    """The papers whose claims the campaign tests."""
    return papers_on(str(dig(campaign.json, "settings", "workload") or "traffic"))


#: a verdict, and how one and several of them are told
_WORDS = (
    ("holds", "holds", "hold"),
    ("does-not-hold", "does not hold", "do not hold"),
    ("cannot-be-told", "cannot be told", "cannot be told"),
)
_FEW_RUNS_WORDS = (
    ("holds", "seems to hold", "seem to hold"),
    ("does-not-hold", "seems not to hold", "seem not to hold"),
    _WORDS[-1],
)


def claims_table(campaign: Campaign) -> Html:
    """A table a paper: a row a statement, a column a variant."""
    return join([_tally(campaign), *[_table(campaign, paper) for paper in papers_of(campaign)]])


def _tally(campaign: Campaign) -> Html:
    """How many of what can be tested hold: a sentence a variant."""
    few = bool(campaign.json.get("preliminary"))
    words = _FEW_RUNS_WORDS if few else _WORDS
    items = []
    for part in campaign.parts:
        count = Counter(str(c.get("verdict")) for c in rows_of(part.json.get("claims")))
        said = [
            f"{count[verdict]} {one if count[verdict] == 1 else several}"
            for verdict, one, several in words
            if count[verdict]
        ]
        items.append(el("li", el("strong", part.name), text(f": {listed(said) or 'none'}")))
    testable = max(
        (sum(c.get("verdict") != "not-testable" for c in rows_of(p.json.get("claims")))
         for p in campaign.parts),
        default=0,
    )  # fmt: skip
    lead = f"Of what the paper states, {testable} statements can be put to a test here."
    if few:
        lead += " Preliminary: one short run each shows a direction, and proves none."
    return join([el("p", lead, class_="answer"), el("ul", *items, class_="answers")])


def _table(campaign: Campaign, paper: Paper) -> Html:
    head = el(
        "tr",
        el("th", "the paper states", scope="col", class_="left"),
        el("th", "its figure", scope="col", class_="left"),
        *[el("th", part.name, scope="col", class_="left") for part in campaign.parts],
    )
    rows = [_row(campaign, claim) for claim in paper.claims]
    cited = (
        f"{paper.cited}. Its figures are {paper.system}'s; ours are "
        f"{_engines(campaign)}'s on one machine. Latency is counted as the paper counts it, from "
        f"the mean append time of an output's inputs. Intervals: 95{NBSP}%, over independent runs"
        + (" (of single runs over their slots)." if campaign.json.get("preliminary") else ".")
    )
    return join(
        [
            el(
                "table",
                el("caption", f"What {paper.authors} state", class_="unseen"),
                el("thead", head),
                el("tbody", *rows),
                class_="claims",
            ),
            el("p", cited, class_="note"),
        ]
    )


def _engines(campaign: Campaign) -> str:
    told = rows_of(campaign.json.get("variants"))
    names = [f"{v.get('engine')} {v.get('engine_version') or ''}".strip() for v in told]
    return listed(list(dict.fromkeys(names))) or "the engine"


def _row(campaign: Campaign, claim: Claim) -> Html:
    cells = []
    for part in campaign.parts:
        told = next((c for c in rows_of(part.json.get("claims")) if c.get("claim") == claim.id), {})
        cells.append(el("td", *_cell(told), data_label=part.name))
    return el(
        "tr",
        el("th", claim.says, scope="row"),
        el("td", claim.figure, data_label="its figure"),
        *cells,
    )


def _cell(told: dict[str, Any]) -> list[Html]:
    verdict: Any = told.get("verdict")
    mark, look = MARKS.get(verdict, ("–", "open"))
    few = bool(told.get("preliminary"))
    words = verdict_words(verdict, preliminary=few) if verdict in MARKS else "no verdict"
    note = " (preliminary)" if few else ""
    parts = [el("span", f"{mark} {words}", class_=f"mark {look}"), text(note)]
    figure = ours(told)
    if figure:
        parts.append(el("span", figure, class_="ours"))
    if told.get("says"):
        parts.append(el("span", str(told["says"]), class_="says"))
    return parts


def ours(told: dict[str, Any]) -> str:
    """Our own figure with its interval; where a claim is of all stages, each one's."""
    unit = UNITS.get(str(told.get("unit")), "")
    value = number(told.get("value"))
    if value is not None:
        span = interval(number(told.get("low")), number(told.get("high")))
        return f"{ms_number(value)}{f' ({span})' if span else ''}{unit}"
    if told.get("unit") == "times":
        return ""
    found = [number(each.get("value")) for each in rows_of(told.get("by_stage"))]
    return f"{', '.join(ms_number(v) for v in found)}{unit}" if found else ""
