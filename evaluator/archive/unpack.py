"""Unpack somebody else's archive, so that nothing of it gets anywhere else or stays."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from contract.errors import EnvironmentLacking, TollgateError, UsageError

#: a campaign of a hundred runs holds some thousand files
MEMBERS_MAX = 100_000
#: what unpacking leaves free
FREE_BYTES_MIN = 256 * 1024**2
MB = 10**6


class UnsafeArchive(TollgateError):
    """It holds what no archive of a campaign holds; nothing of it was unpacked."""


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The campaign's folder, under a temporary one that is gone in the end."""
    scratch = Path(tempfile.mkdtemp(prefix="tollgate-archive-"))
    try:
        try:
            # no compression: what comes out is as large as what is there
            with tarfile.open(path, "r:") as tar:
                members = _members(tar, path)
                _need_room(path, sum(member.size for member in members), scratch)
                for member in members:
                    _write(tar, member, scratch)
        except (tarfile.TarError, EOFError) as error:
            raise UsageError(f"{path} is no archive of a campaign, or was cut: {error}") from None
        yield scratch / PurePosixPath(members[0].name).parts[0]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _members(tar: tarfile.TarFile, path: Path) -> list[tarfile.TarInfo]:
    """The files of the archive, all in one folder; anything else is refused as a whole."""
    found: dict[str, tarfile.TarInfo] = {}
    for member in tar:
        parts = PurePosixPath(member.name).parts
        if member.isdir() and ".." not in parts and not member.name.startswith("/"):
            continue
        if not member.isreg() or member.issparse():
            raise UnsafeArchive(f"{path} holds {member.name!r}, which is no plain file")
        if len(parts) < 2 or ".." in parts or member.name.startswith("/") or "\0" in member.name:
            raise UnsafeArchive(f"{path} holds {member.name!r}, which lies outside a campaign")
        if str(PurePosixPath(member.name)) in found:
            raise UnsafeArchive(f"{path} holds {member.name!r} twice")
        found[str(PurePosixPath(member.name))] = member
        if len(found) > MEMBERS_MAX:
            raise UnsafeArchive(f"{path} holds more than {MEMBERS_MAX:,} files")
    tops = {PurePosixPath(name).parts[0] for name in found}
    if len(tops) != 1:
        says = "no file" if not tops else f"{len(tops)} folders, not one campaign's"
        raise UsageError(f"{path} is no archive of a campaign: it holds {says}")
    return list(found.values())


def _need_room(path: Path, size_bytes: int, scratch: Path) -> None:
    free_bytes = shutil.disk_usage(scratch).free - FREE_BYTES_MIN
    if size_bytes > free_bytes:
        raise EnvironmentLacking(
            f"unpacking {path} takes {size_bytes / MB:,.0f} MB, and {scratch.parent} has "
            f"{max(0, free_bytes) / MB:,.0f} MB to spare; TMPDIR=folder names another place"
        )


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, scratch: Path) -> None:
    target = scratch.joinpath(*PurePosixPath(member.name).parts)
    content = tar.extractfile(member)
    if content is None:
        raise UnsafeArchive(f"{member.name!r} is no plain file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("xb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
    except (FileExistsError, NotADirectoryError):
        raise UnsafeArchive(f"{member.name!r} stands in the way of another file") from None
    except (OSError, ValueError) as error:
        raise TollgateError(f"{member.name!r} cannot be unpacked: {error}") from None
