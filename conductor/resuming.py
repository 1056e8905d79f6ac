"""Find the campaign that was interrupted and may go on; settings, machine and make must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conductor.campaign import Campaign
from contract.order import ENDED
from contract.results import CampaignFolder, read_json

#: what was asked for
ASKED = ("schema", "verb", "settings", "variants", "stages", "repeat", "preliminary", "store")
#: what it is made on and with
MADE_WITH = ("machine", "pins")
#: commits of documentation change no run: `sources_sha256` tells those that might
_NOT_COMPARED = ("git_commit", "git_dirty")
#: what is known once the runtime is there, and compared then
_KNOWN_LATER = ("docker", "engines")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A campaign that asks the same and has runs left to make."""

    folder: CampaignFolder
    conditions: dict[str, Any]
    #: in what the machine or the make differ; such a campaign stays as it is
    differences: tuple[str, ...]

    @property
    def ended(self) -> int:
        return sum(run["ended"] in ENDED for run in self.conditions["runs"])


def find_unfinished(results: Path, conditions: Mapping[str, Any]) -> Unfinished | None:
    """The newest one below `results` that asks what these conditions ask; None where none does."""
    for path in sorted(results.glob("*/conditions.json"), reverse=True):
        folder = CampaignFolder(path.parent)
        if path.parent.is_symlink() or folder.campaign_json.exists():
            continue
        try:
            told = read_json(path)
        except (ValueError, OSError):
            continue
        if not isinstance(told, dict) or any(told.get(k) != conditions[k] for k in ASKED):
            continue
        return Unfinished(folder, told, tuple(differences(told, conditions)))
    return None


def differences(told: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of what is not as it was, with both values."""
    found = []
    for part in MADE_WITH:
        before, after = told.get(part) or {}, now[part]
        for name in sorted(before.keys() | after.keys()):
            if name not in (*_NOT_COMPARED, *_KNOWN_LATER) and before.get(name) != after.get(name):
                found.append(f"{name} was {_short(before.get(name))}, is {_short(after.get(name))}")
    return found


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def go_on(campaign: Campaign, say: Callable[[str], None]) -> None:
    """Have the campaign take up what was interrupted; say so, or why it cannot be."""
    found = find_unfinished(campaign.home.results, campaign.conditions)
    if found is None:
        return
    name, there = found.folder.path.name, f"{found.ended} of {len(found.conditions['runs'])} runs"
    if found.differences:
        say(
            f"tollgate: {name} has {there} and stays as it is, for {'; '.join(found.differences)}: "
            f"a new campaign begins"
        )
        return
    say(f"tollgate: going on with {name}, which has {there} (FRESH=1 would begin anew)")
    campaign.go_on_with(found.folder, found.conditions)
