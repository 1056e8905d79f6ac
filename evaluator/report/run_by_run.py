"""Show the runs behind a reproduction's figures, variant by variant, folded away."""

from __future__ import annotations

from evaluator.quantities import median_of
from evaluator.report import audit, figures
from evaluator.report.courses import course_of
from evaluator.report.markup import Html, el
from evaluator.report.material import Campaign, RunView, StageView
from evaluator.report.table import stage_table
from evaluator.report.words import plural


def details_section(campaign: Campaign) -> list[Html]:
    """The same as a report of a single mode shows, folded away."""
    return [_details(part) for part in campaign.parts if part.runs]


def _details(part: Campaign) -> Html:
    middle = [view for stage in part.stages if (view := _middle(stage)) is not None]
    rank = {view.name: stage.rank for stage in part.stages for view in stage.runs}
    courses = [c for c in (course_of(view, rank[view.name]) for view in middle) if c is not None]
    shown = plural(len(middle), "run")
    return el(
        "details",
        el("summary", f"{part.name}: every run, distributions, the course of {shown}"),
        stage_table(part),
        el("h3", "Distribution"),
        *figures.spread_section(part),
        el("h3", "Over time"),
        el("p", "Of each stage the run with the middle median.", class_="note"),
        *figures.time_section(courses, part.key),
        el("h3", "Resources"),
        audit.cpu_table(part),
        el("h3", "What the publisher sent"),
        audit.publisher_table(part),
    )


def _middle(stage: StageView) -> RunView | None:
    """The run whose median is nearest to the middle one."""
    known = [(view.figure("last", "p50"), view) for view in stage.shown_runs]
    medians = [(value, view) for value, view in known if value is not None]
    middle = median_of(value for value, _ in medians)
    if middle is None:
        return None
    return min(medians, key=lambda pair: abs(pair[0] - middle))[1]
