"""Write a report's charts as pictures of their own: SVG files that need no style sheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from contract.errors import UsageError
from evaluator.contest import is_contest
from evaluator.report import contest
from evaluator.report.markup import Html, el, join
from evaluator.report.material import read_campaign
from evaluator.report.plot import HALF
from evaluator.report.reproduction import pictures
from evaluator.report.style import DRAWING, variables

GAP_PX = 26
TITLE_PX = 26
_VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def write_figures(campaign_dir: Path, folder: Path) -> list[Path]:
    """Write each picture of a reproduction below `folder`."""
    campaign = read_campaign(campaign_dir)
    if campaign.json.get("verb") not in ("reproduce", "compare"):
        raise UsageError(
            "only reproductions and comparisons have pictures of their own; a bench has its report"
        )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    drawn = contest.pictures(campaign) if is_contest(campaign.json) else pictures(campaign)
    for name, key, panels in drawn:
        path = folder / f"{name}.svg"
        draft = path.with_name(f".{path.name}.draft")
        draft.write_text(picture(panels, key), encoding="utf-8")
        draft.replace(path)
        written.append(path)
    return written


def picture(panels: Sequence[tuple[str, Html]], key: str) -> str:
    """Panels with their titles, two beside each other, and below them what their marks mean."""
    columns = min(2, len(panels)) or 1
    across = max([HALF, *(_size(chart)[0] for _, chart in panels)])
    placed, bottom = [], 0.0
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        tall = max(_size(chart)[1] for _, chart in row)
        for column, (title, chart) in enumerate(row):
            x = column * (across + GAP_PX)
            placed.append(el("text", title, x=x + 2, y=bottom + 15, class_="title"))
            placed.append(_nested(chart, x, bottom + TITLE_PX))
        bottom += TITLE_PX + tall + GAP_PX
    placed.append(el("text", key, x=2, y=bottom, class_="key"))
    bottom += GAP_PX / 2
    width = columns * across + (columns - 1) * GAP_PX
    return str(
        el(
            "svg",
            el("style", Html(_style())),
            el("rect", x=-12, y=-12, width=width + 24, height=bottom + 12, class_="paper"),
            join(placed),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"-12 -12 {width + 24:g} {bottom + 12:g}",
            font_family="system-ui, sans-serif",
        )
    )


def _size(chart: Html) -> tuple[float, float]:
    found = _VIEW_BOX.search(chart)
    if found is None:
        raise ValueError("a chart without a view box")
    return float(found[1]), float(found[2])


def _nested(chart: Html, x: float, y: float) -> Html:
    width, height = _size(chart)
    place = f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
    return Html(chart.replace("<svg ", place, 1))


def _style() -> str:
    """The report's drawing, light, and dark where the reader's page is."""
    return (
        f"svg{{{variables(0)}}}"
        f"@media (prefers-color-scheme:dark){{svg{{{variables(1)}}}}}"
        "svg{font-variant-numeric:tabular-nums}"
        ".title{font-size:15px;font-weight:600;fill:var(--ink)}"
        ".key{font-size:12px;fill:var(--soft)}.paper{fill:var(--paper)}" + DRAWING
    )
