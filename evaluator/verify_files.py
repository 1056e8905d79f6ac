"""Check that a campaign's files are those that were listed, and an archive's those it packed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.results import CampaignFolder, sha256_of
from evaluator.verify_parts import Check

#: what an archive holds besides the campaign: `make archive` writes it, campaign.json lists none
MANIFEST = "MANIFEST.sha256"
ADDED = (MANIFEST, "README.md", "MACHINE.md", "CITATION.cff")
#: the folder of an archive with the collected topics
STORE = "store"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def check_files(folder: CampaignFolder, campaign: dict[str, Any]) -> Iterator[Check]:
    """Every listed file is there and unchanged, and there is no other."""
    listed = campaign.get("files")
    if not isinstance(listed, dict):
        yield Check("campaign.json files", None, "no list of hashes")
        return
    yield from _unchanged(folder.path, listed)
    own = (folder.campaign_json, folder.report)
    archived = (folder.path / MANIFEST).is_file()
    for path in there(folder.path):
        name = path.relative_to(folder.path).as_posix()
        packed = archived and (name in ADDED or name.startswith(f"{STORE}/"))
        if path not in own and name not in listed and not packed:
            yield Check(name, "not listed", "there")


def check_manifest(folder: Path, *, needed: bool) -> Iterator[Check]:
    """What was packed into an archive is there and unchanged, and nothing else; if it is one."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        if needed:
            yield Check(MANIFEST, "there", "missing")
        return
    listed: dict[str, str] = {}
    for line in manifest.read_text(encoding="utf-8", errors="replace").splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            yield Check(MANIFEST, line[:80], "no hash and name")
        else:
            listed[found[2]] = found[1]
    for check in _unchanged(folder, listed):
        yield Check(f"{MANIFEST} {check.where}", check.told, check.found)
    # what is hidden is packed by nobody
    for path in sorted(p for p in folder.rglob("*") if p.is_file() or p.is_symlink()):
        name = path.relative_to(folder).as_posix()
        if name not in listed and path != manifest:
            yield Check(f"{MANIFEST} {name}", "not listed", "there")


def _unchanged(folder: Path, listed: dict[str, Any]) -> Iterator[Check]:
    for name, told in sorted(listed.items()):
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            yield Check(name, told, "lies outside the campaign")
        else:
            yield Check(name, told, sha256_of(path) if path.is_file() else "missing")


def there(folder: Path) -> Iterator[Path]:
    """Files and links, but for what is hidden."""
    for path in sorted(folder.rglob("*")):
        if (path.is_file() or path.is_symlink()) and not path.name.startswith("."):
            yield path


def is_collected(run: dict[str, Any]) -> bool:
    """Whether a run's topics had been collected when it was judged."""
    counts = run.get("outputs")
    return isinstance(counts, dict) and any(count is not None for count in counts.values())
