"""Answer the campaign's question in a sentence, and say first what is not to be trusted."""

from __future__ import annotations

from typing import Any

from evaluator.listing import listed
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign, RunView, StageView
from evaluator.report.words import (
    NBSP,
    dig,
    interval,
    ms,
    number,
    plural,
    rows_of,
    struck,
    whole,
)

#: more invalid runs than this are told where all doubts are
LISTED_MAX = 5


def answer(campaign: Campaign) -> Html:
    """The answer: of the one price, of each of several, or the latency of a first stage."""
    priced = [s for s in campaign.stages if price_of(s) is not None]
    if len(priced) == 1:
        stage = priced[0]
        says = el("p", _price_answer(campaign, stage, _conditions(campaign)), class_="answer")
        trusted = price_trusted(campaign, stage)
        return says if trusted else join([says, _cumulative_sentence(campaign, stage)])
    if priced:
        items = [el("li", _price_answer(campaign, s, "")) for s in priced]
        return join([_whole_pipeline(campaign), el("ul", *items, class_="answers")])
    known = [s for s in campaign.stages if cumulative_of(s) is not None]
    if known:
        return _cumulative_answer(campaign, known[-1])
    return el("p", _no_answer(campaign), class_="answer")


def price_of(stage: StageView) -> float | None:
    """The stage's price by the last input's append time."""
    return number(dig(stage.price, "price_ms"))


def cumulative_of(stage: StageView | None) -> float | None:
    """The median latency up to and including the stage."""
    return number(dig(stage.figures, "last", "p50_ms")) if stage is not None else None


def price_trusted(campaign: Campaign, stage: StageView) -> bool:
    """Whether both stages have a valid run: a difference needs two trusted figures."""
    before = campaign.stage(dig(stage.price, "predecessor"))
    return stage.trusted and before is not None and before.trusted


def _price_answer(campaign: Campaign, stage: StageView, conditions: str) -> Html:
    if price_trusted(campaign, stage):
        return price_sentence(campaign, stage, conditions)
    return text(_unpriced(campaign, stage))


def price_sentence(campaign: Campaign, stage: StageView, conditions: str) -> Html:
    """`The join costs 12.3 ms (…) at the median …: 20.5 ms with it, 8.2 ms without.`"""
    value = price_of(stage) or 0.0
    price = stage.price or {}
    verdict = price.get("verdict")
    verb = "saves" if verdict == "saves" else "costs"
    shown = abs(value) if verb == "saves" else value
    low, high = number(price.get("low_ms")), number(price.get("high_ms"))
    if verb == "saves" and low is not None and high is not None:
        low, high = -high, -low
    span = interval(low, high)
    before = campaign.stage(price.get("predecessor"))
    parts = [
        text(f"The {stage.name} {verb} "),
        el("strong", ms(shown)),
        text(f" (95{NBSP}% interval {span})" if span else " (no interval)"),
        text(f" at the median{conditions}: {ms(cumulative_of(stage))} with it, "),
        text(f"{ms(cumulative_of(before))} without."),
    ]
    return join([*parts, text(_verdict(campaign, stage))])


def _unpriced(campaign: Campaign, stage: StageView) -> str:
    """A difference with a figure that is struck out is not told as an answer."""
    before = campaign.stage(dig(stage.price, "predecessor"))
    lacking = [s.name for s in (before, stage) if s is not None and not s.trusted]
    return (
        f"What the {stage.name} costs cannot be said: there is no valid run of {listed(lacking)}."
    )


def _verdict(campaign: Campaign, stage: StageView) -> str:
    verdict = dig(stage.price, "verdict")
    before = campaign.stage(dig(stage.price, "predecessor"))
    runs = min(len(s.trusted_runs) if s else 0 for s in (stage, before))
    if verdict == "too-few-runs":
        return (
            " Too few runs for a verdict: a price needs three valid runs of each stage, "
            f"this one has {whole(runs)}."
        )
    if verdict == "cannot-be-told":
        return " The interval holds nought: whether it costs anything cannot be told."
    return ""


def _whole_pipeline(campaign: Campaign) -> Html:
    last = [s for s in campaign.stages if cumulative_of(s) is not None][-1]
    return el(
        "p",
        text(f"Up to and including {last.name} the pipeline takes "),
        el("strong", struck(ms(cumulative_of(last)), last.trusted)),
        text(f" at the median{_conditions(campaign)}."),
        class_="answer",
    )


def _cumulative_answer(campaign: Campaign, stage: StageView) -> Html:
    """The latency of the last stage there is, after saying what cannot be said."""
    asked = [s.name for s in campaign.stages if s.name != stage.name and not cumulative_of(s)]
    if not asked:
        return _cumulative_sentence(campaign, stage)
    stages = listed([f"the {name}" for name in asked])
    verb = "costs" if len(asked) == 1 else "cost"
    says = f"What {stages} {verb} cannot be said: no run of it was measured to its end."
    return join([el("p", says, class_="answer"), _cumulative_sentence(campaign, stage)])


def _cumulative_sentence(campaign: Campaign, stage: StageView) -> Html:
    figure = stage.figures["last"]
    span = interval(number(figure.get("low_ms")), number(figure.get("high_ms")))
    alone = len(campaign.stages) == 1
    reason = "" if stage.trusted else " Not to be trusted: no run of it is valid."
    return el(
        "p",
        text(f"Up to and including {stage.name} the pipeline takes "),
        el("strong", struck(ms(cumulative_of(stage)), stage.trusted)),
        text(" ("),
        struck(f"95{NBSP}% interval {span}", stage.trusted) if span else text("no interval"),
        text(f") at the median{_conditions(campaign)}."),
        text((" No price: the stage before it was not run." if alone else "") + reason),
        class_="answer",
    )


def _conditions(campaign: Campaign) -> str:
    run = campaign.one
    rate = number(dig(run, "settings", "rate"))
    if not run:
        return ""
    at = f" at {whole(rate)} observations/s" if rate is not None else ""
    return f" on {run.get('engine')} {run.get('mode')}/{run.get('dialect')}{at}"


def _no_answer(campaign: Campaign) -> str:
    asked = [str(s) for s in campaign.json.get("stages") or []]
    stages = listed(asked) or "the pipeline"
    return f"There is no answer: no run of {stages} came as far as to be measured."


def banner(campaign: Campaign) -> Html:
    """What is invalid, what is missing and why; empty where all is well."""
    invalid = [r for r in campaign.runs if not r.valid]
    parts: list[Html] = []
    if invalid:
        count = f"{whole(len(invalid))} of {plural(len(campaign.runs), 'run')}"
        verb = "is" if len(invalid) == 1 else "are"
        heading = f"{count} {verb} invalid: what rests on {verb_object(invalid)} is struck out"
        parts.append(el("h2", heading))
        if len(invalid) <= LISTED_MAX:
            parts.append(el("ul", *[_invalid_item(campaign, r) for r in invalid]))
        else:
            parts.append(el("p", el("a", "Each with its reason", href="#doubts"), text(".")))
    if not campaign.complete:
        says = campaign.json.get("says") or "it ended before all its runs did"
        planned = len(rows_of(campaign.json.get("runs")))
        there = f"{whole(len(campaign.runs))} of {plural(planned, 'planned run')} left a folder"
        parts.append(el("h2", "This campaign is incomplete"))
        parts.append(el("p", f"Why: {says}. {there}."))
    if not parts and campaign.json.get("valid") is not True:
        parts.append(el("h2", "This campaign is not valid"))
        parts.append(el("ul", *[el("li", s) for s in _campaign_reasons(campaign)]))
    return el("section", *parts, class_="banner", aria_label="Not valid") if parts else Html("")


def verb_object(runs: list[RunView]) -> str:
    return "it" if len(runs) == 1 else "them alone"


def _invalid_item(campaign: Campaign, view: RunView) -> Html:
    says = " ".join(view.reasons)
    failure: Any = dig(view.run, "failure", "says")
    if failure and failure not in says:
        says += f" {failure}"
    return el("li", el("strong", campaign.called(view)), text(f": {says}"))


def _campaign_reasons(campaign: Campaign) -> list[str]:
    said = [
        str(d.get("says"))
        for d in rows_of(campaign.json.get("doubts"))
        if d.get("severity") == "invalid"
    ]
    return said or ["campaign.json says so without a reason."]
