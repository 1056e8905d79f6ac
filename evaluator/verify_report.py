"""Check that the report says what the samples give: it is drawn again and must be the same."""

from __future__ import annotations

import hashlib
from typing import Any

from contract.results import CampaignFolder, sha256_of
from contract.sources import own_sources_sha256
from evaluator.report import render
from evaluator.report.material import read_campaign
from evaluator.verify_parts import Check


def drawn_here(campaign: dict[str, Any]) -> bool:
    """Whether it was drawn by the sources of this checkout: others may draw it otherwise."""
    pins = campaign.get("pins")
    return isinstance(pins, dict) and pins.get("sources_sha256") == own_sources_sha256()


def check_report(folder: CampaignFolder) -> Check:
    """Of samples that were changed no report can be expected to be drawn: check them first."""
    drawn = hashlib.sha256(render(read_campaign(folder.path)).encode()).hexdigest()
    there = sha256_of(folder.report) if folder.report.is_file() else "missing"
    return Check("report.html (make report draws it anew)", there, drawn)
