"""Pack a finished campaign into one file, whole or not at all; twice the same bytes."""

from __future__ import annotations

import errno
import hashlib
import io
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from contract.errors import EnvironmentLacking, ExitCode, TollgateError, UsageError
from contract.results import SCHEMA, CampaignFolder, read_json
from evaluator.archive.papers import citation, machine, readme
from evaluator.rebuild.stored import PARTS, find_topics, places
from evaluator.verify_files import MANIFEST, STORE, check_files, is_collected, there
from evaluator.verify_report import check_report, drawn_here

MB = 10**6
#: of the store: what was collected, and what the evaluator made of it
STORED_PARTS = (*PARTS, "verdicts")
#: a member's header and padding, at most
_MEMBER_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the archive: one there is, or text that is made for it."""

    name: str
    content: Path | bytes
    #: what campaign.json says its hash is; None where it says nothing
    sha256: str | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


def archive(
    campaign_dir: Path, target: Path | None = None, *, slim: bool = False, store: str | None = None
) -> int:
    """Write the archive and say what it holds; `store` names another place of the topics."""
    folder = CampaignFolder(campaign_dir)
    campaign = _finished(folder)
    name = str(campaign["campaign_id"])
    file_name = f"{name}{'-slim' if slim else ''}.tar"
    path = target or campaign_dir.parent / file_name
    _writable(path, campaign_dir)
    listed = _campaign_files(folder, campaign)
    stored = [] if slim else list(_store_files(folder, campaign, store))
    papers = {
        "README.md": readme(campaign, file_name, slim=slim),
        "CITATION.cff": citation(campaign),
        "MACHINE.md": machine(campaign),
    }
    entries = [*(Entry(n, text.encode()) for n, text in papers.items()), *listed, *stored]
    _need_room(path, entries)
    _write(path, name, entries, _ended_s(campaign))
    runs = len(campaign.get("runs") or [])
    topics = "without topics" if slim else f"their topics ({len(stored)} files)"
    print(f"{path}: {path.stat().st_size / MB:,.1f} MB, {runs} runs, {topics}, {MANIFEST}")
    print(f"verify it with: ./tollgate verify {path}")
    return ExitCode.VALID


def _finished(folder: CampaignFolder) -> dict[str, Any]:
    if not folder.campaign_json.is_file():
        raise UsageError(f"{folder.path} is no finished campaign: it holds no campaign.json")
    try:
        campaign = read_json(folder.campaign_json)
    except ValueError as error:
        raise TollgateError(f"{folder.campaign_json} is not JSON: {error}") from None
    if not isinstance(campaign, dict) or campaign.get("schema") != SCHEMA:
        told = campaign.get("schema") if isinstance(campaign, dict) else None
        raise TollgateError(f"this campaign is of schema {told}, this Tollgate reads {SCHEMA}")
    if campaign.get("complete") is not True:
        why = campaign.get("says") or "not all of its runs were made"
        raise TollgateError(f"{folder.path.name} is not complete, so it is not packed: {why}")
    return campaign


def _writable(path: Path, campaign_dir: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already; take it away, or name another by ARCHIVE=file")
    if not path.parent.is_dir():
        raise UsageError(f"ARCHIVE={path}: there is no folder {path.parent}")
    if path.parent.resolve().is_relative_to(campaign_dir.resolve()):
        raise UsageError(f"ARCHIVE={path} lies within the campaign that is packed")


def _campaign_files(folder: CampaignFolder, campaign: dict[str, Any]) -> list[Entry]:
    """What campaign.json lists, itself and the report; all as they were when it was written."""
    checks = [*check_files(folder, campaign)]
    if drawn_here(campaign):
        checks.append(check_report(folder))
    amiss = next((check for check in checks if not check.agrees), None)
    if amiss is not None:
        raise TollgateError(
            f"{folder.path.name} is not packed: {amiss.where} is not as campaign.json says, "
            f"{amiss.says()}"
        )
    listed: dict[str, str] = campaign["files"]
    own = [Entry(path.name, path) for path in (folder.campaign_json, folder.report)]
    return [*own, *(Entry(_plain(n), folder.path / n, listed[n]) for n in sorted(listed))]


def _store_files(
    folder: CampaignFolder, campaign: dict[str, Any], store: str | None
) -> Iterator[Entry]:
    where = places(folder.path, campaign, store)
    for run in folder.runs():
        if not run.run_json.is_file() or not is_collected(read_json(run.run_json)):
            continue
        topics = find_topics(where, run.path.name)
        if topics is None:
            raise TollgateError(
                f"the topics of runs/{run.path.name} cannot be read here; STORE=folder says where "
                f"they are, SLIM=1 packs the campaign without topics"
            )
        for part in STORED_PARTS:
            for path in there(topics.folder / part):
                name = path.relative_to(topics.folder).as_posix()
                yield Entry(_plain(f"{STORE}/{run.path.name}/{name}"), path)


def _plain(name: str) -> str:
    """A name that stands in a manifest as it is."""
    if "\n" in name or "\\" in name:
        raise TollgateError(f"{name!r} cannot be packed under such a name")
    return name


def _need_room(path: Path, entries: list[Entry]) -> None:
    needed = sum(entry.size_bytes + _MEMBER_BYTES for entry in entries)
    free_bytes = shutil.disk_usage(path.parent).free
    if needed > free_bytes:
        raise EnvironmentLacking(
            f"the archive takes {needed / MB:,.0f} MB, and {path.parent} has "
            f"{free_bytes / MB:,.0f} MB free; ARCHIVE=file names another place"
        )


def _ended_s(campaign: dict[str, Any]) -> int:
    """When the campaign ended: the age of every file in its archive."""
    try:
        ended = datetime.fromisoformat(str(campaign.get("ended_at")).replace("Z", "+00:00"))
    except ValueError:
        return 0
    return max(0, int(ended.replace(tzinfo=ended.tzinfo or UTC).timestamp()))


def _write(path: Path, top: str, entries: list[Entry], mtime_s: int) -> None:
    draft = path.with_name(f".{path.name}.draft")
    try:
        with tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as tar:
            lines = []
            for entry in entries:
                found = _add(tar, top, entry, mtime_s)
                if entry.sha256 is not None and found != entry.sha256:
                    raise TollgateError(f"{entry.name} was changed while it was packed")
                lines.append(f"{found}  {entry.name}\n")
            lines.sort(key=lambda line: line[66:])
            _add(tar, top, Entry(MANIFEST, "".join(lines).encode()), mtime_s)
        draft.replace(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise EnvironmentLacking(f"the disk of {path.parent} is full") from None
        raise TollgateError(f"{path} could not be written: {error}") from None
    finally:
        draft.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, top: str, entry: Entry, mtime_s: int) -> str:
    """Pack a file under a header that tells nothing of this machine; gives its hash."""
    member = tarfile.TarInfo(f"{top}/{entry.name}")
    member.size, member.mtime, member.mode = entry.size_bytes, mtime_s, 0o644
    if isinstance(entry.content, bytes):
        tar.addfile(member, io.BytesIO(entry.content))
        return hashlib.sha256(entry.content).hexdigest()
    with entry.content.open("rb") as file:
        hashing = _Hashing(file)
        tar.addfile(member, hashing)
    return hashing.digest.hexdigest()


class _Hashing(io.RawIOBase):
    """A file whose hash is taken while it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self.digest.update(block)
        return block
