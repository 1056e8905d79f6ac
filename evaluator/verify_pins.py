"""Check that a campaign says with what it was made; and whether this checkout is the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.results import sha256_of
from evaluator.verify_parts import Check

_HOME = Path(__file__).resolve().parents[1]
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: pin → the file of a checkout that it pins
LOCKS = {
    "requirements_lock_sha256": "requirements.lock",
    "artifacts_lock_sha256": "images/artifacts.lock",
}


def check_pins(campaign: dict[str, Any]) -> Iterator[Check]:
    """Each pin is what a pin looks like; that it is true, nobody can see from here."""
    pins = campaign.get("pins")
    if not isinstance(pins, dict):
        yield Check("campaign.json pins", pins, "no pins")
        return
    yield _well_formed(pins, "tollgate", isinstance(pins.get("tollgate"), str))
    for name in LOCKS:
        yield _well_formed(pins, name, _matches(_SHA256, pins.get(name)))
    if "sources_sha256" in pins:
        sources = pins["sources_sha256"]
        yield _well_formed(pins, "sources_sha256", sources is None or _matches(_SHA256, sources))
    commit = pins.get("git_commit")
    yield _well_formed(pins, "git_commit", commit is None or _matches(_COMMIT, commit))
    packages = pins.get("packages")
    named = isinstance(packages, dict) and all(isinstance(v, str) for v in packages.values())
    yield _well_formed(pins, "packages", named)


def _well_formed(pins: dict[str, Any], name: str, fine: bool) -> Check:
    return Check(f"campaign.json pins {name}", pins.get(name), "no such pin", agrees=fine)


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def other_locks(campaign: dict[str, Any], home: Path = _HOME) -> list[str]:
    """The locks of this checkout that are not those the campaign was made with; no difference."""
    pins = campaign.get("pins")
    if not isinstance(pins, dict):
        return []
    there = [(name, home / file) for name, file in LOCKS.items() if (home / file).is_file()]
    return [
        path.relative_to(home).as_posix()
        for name, path in there
        if name in pins and pins[name] != sha256_of(path)
    ]
