"""What documents point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md"), HOME / "publisher/README.md"]
)
#: [words](target) and ![words](target)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(HOME)))
def test_each_link_within_the_project_leads_somewhere(document: Path) -> None:
    targets = [found.split("#")[0] for found in _LINK.findall(document.read_text("utf-8"))]
    inside = [target for target in targets if target and "://" not in target]
    assert [target for target in inside if not (document.parent / target).exists()] == []
