"""What a user reads of doubts at the end of a campaign: each of a few runs, or counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from contract.results import CampaignFolder, read_json
from contract.variant import Variant, name_among

#: no line grows beyond this
_NAMED_MAX = 6


def doubts_each(campaign: dict[str, Any], folder: CampaignFolder) -> Iterator[str]:
    """Every doubt of every run."""
    for entry in campaign["runs"]:
        path = folder.path / entry["path"] / "run.json"
        if path.exists():
            for doubt in read_json(path)["doubts"]:
                yield f"{doubt['severity']:<8} {entry['path']}: {doubt['says']}"
    yield from _of_campaign(campaign)


def doubts_counted(campaign: dict[str, Any], folder: CampaignFolder) -> Iterator[str]:
    """Each invalid run by itself; warnings, of which a series has many, by how often."""
    warned: Counter[str] = Counter()
    variants = [Variant.of(told) for told in campaign["variants"]]
    for entry in campaign["runs"]:
        path = folder.path / entry["path"] / "run.json"
        if not path.exists():
            yield f"{entry['ended'] or 'not run'}  {entry['path']}"
            continue
        doubts = read_json(path)["doubts"]
        name = f"{entry['path']} {name_among(Variant.of(entry), variants)}".rstrip()
        for doubt in doubts:
            if doubt["severity"] == "invalid":
                yield f"invalid  {name}: {doubt['says']}"
        warned.update({doubt["id"] for doubt in doubts if doubt["severity"] == "warning"})
    total = len(campaign["runs"])
    if warned:
        told = [f"{name} in {count}" for name, count in warned.most_common(_NAMED_MAX)]
        yield f"warning  of {total} runs: {', '.join(told)} (the report says each)"
    yield from _of_campaign(campaign)


def _of_campaign(campaign: dict[str, Any]) -> Iterator[str]:
    for doubt in campaign["doubts"]:
        yield f"{doubt['severity']:<8} {doubt['says']}"
