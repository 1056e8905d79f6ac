"""Put the report together: one file that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contract.errors import TollgateError
from contract.results import CampaignFolder, read_json
from evaluator.contest import is_contest
from evaluator.report import audit, back, contest, figures, reproduction
from evaluator.report.answer import answer, banner
from evaluator.report.claims import claims_table
from evaluator.report.courses import course_of
from evaluator.report.markup import Html, el, join, text
from evaluator.report.material import Campaign, RunView, read_campaign
from evaluator.report.style import SCRIPT, stylesheet
from evaluator.report.table import stage_table


def redraw_report(campaign_dir: Path) -> Path:
    """Write it anew, from all samples: with some of them gone it would say less than it did."""
    listed = read_json(CampaignFolder(campaign_dir).campaign_json).get("files") or {}
    samples = [name for name in listed if name.endswith(".parquet")]
    lacking = [name for name in samples if not (campaign_dir / name).is_file()]
    if lacking:
        raise TollgateError(
            f"{campaign_dir.name} is not drawn anew: {len(lacking)} of the {len(samples)} files of "
            f"samples that campaign.json names are not here, such as {lacking[0]}"
        )
    return write_report(campaign_dir)


def write_report(campaign_dir: Path) -> Path:
    """Write the campaign's report.html, whole or not at all."""
    target = CampaignFolder(campaign_dir).report
    draft = target.with_name(f".{target.name}.draft")
    draft.write_text(render(read_campaign(campaign_dir)), encoding="utf-8")
    draft.replace(target)
    return target


def render(campaign: Campaign) -> str:
    """The report as HTML."""
    title = str(campaign.json.get("question") or "What does each stage cost?")
    sections = _sections(campaign)
    parts = [
        Html("<!doctype html>\n"),
        Html('<html lang="en">'),
        el(
            "head",
            el("meta", charset="utf-8"),
            el("meta", name="viewport", content="width=device-width,initial-scale=1"),
            el("title", f"{title} Tollgate"),
            el("style", Html(stylesheet())),
        ),
        Html("<body>"),
        _top(campaign, title, [(key, name) for key, name, _ in sections]),
        el("main", *[_section(*s) for s in sections]),
        _footer(campaign),
        el("script", Html(SCRIPT)),
        Html("</body></html>\n"),
    ]
    return str(join(parts))


def _sections(campaign: Campaign) -> list[tuple[str, str, list[Html]]]:
    doubts = ("doubts", "Doubts", audit.doubts_section(campaign))
    if is_reproduction(campaign):
        sections = [*reproduction.sections(campaign), doubts]
    elif is_contest(campaign.json):
        answer_first, *others = contest.sections(campaign)
        sections = [answer_first, doubts, *others]
    else:
        # of one question: what speaks against its answer stands next to it
        answer_first, *others = _bench_sections(campaign)
        sections = [answer_first, doubts, *others]
    return [
        *sections,
        ("settings", "Settings", back.settings_section(campaign)),
        ("machine", "Machine and versions", back.machine_section(campaign)),
        ("check", "Check it yourself", back.check_section(campaign)),
        ("words", "Words", back.words_section()),
    ]


def is_reproduction(campaign: Campaign) -> bool:
    """Whether it opens with claims."""
    return campaign.json.get("verb") == "reproduce"


def _bench_sections(campaign: Campaign) -> list[tuple[str, str, list[Html]]]:
    rank = {v.name: s.rank for s in campaign.stages for v in s.runs}
    found = [course_of(v, rank[v.name]) for v in _by_stage(campaign)]
    courses = [c for c in found if c is not None]
    return [
        ("figures", "Stages", [stage_table(campaign)]),
        ("spread", "Distribution", figures.spread_section(campaign)),
        ("time", "Over time", figures.time_section(courses)),
        ("prices", "Prices", figures.price_section(campaign)),
        ("load", "Throughput and backlog", figures.load_section(courses)),
        ("resources", "Resources", audit.resource_section(campaign)),
        ("publisher", "What the publisher sent", audit.publisher_section(campaign, courses)),
    ]


def _by_stage(campaign: Campaign) -> list[RunView]:
    return [v for s in campaign.stages for v in s.runs]


def _section(key: str, name: str, parts: Sequence[Html]) -> Html:
    return el("section", el("h2", name), *parts, id=key)


def _top(campaign: Campaign, title: str, links: Sequence[tuple[str, str]]) -> Html:
    said = [str(campaign.json[k]) for k in ("campaign_id", "started_at") if campaign.json.get(k)]
    return el(
        "header",
        el("p", " · ".join(["Tollgate", *said]), class_="eyebrow"),
        el("h1", title),
        banner(campaign),
        _answer(campaign),
        el("nav", *[el("a", name, href=f"#{key}") for key, name in links], aria_label="Contents"),
        class_="top",
    )


def _answer(campaign: Campaign) -> Html:
    if is_reproduction(campaign):
        return claims_table(campaign)
    return contest.answer(campaign) if is_contest(campaign.json) else answer(campaign)


def _footer(campaign: Campaign) -> Html:
    ended = campaign.json.get("ended_at")
    words = "One file, no network: all charts are drawn from the samples beside it."
    return el("footer", text(words), text(f" Campaign ended {ended}." if ended else ""))
