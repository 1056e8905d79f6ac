"""Who containers run as, and what of this machine's files is theirs meanwhile.

The caller's own user, so that results are the caller's; where that is root, a user without rights,
who is given group rights in the folders of a campaign until it ends.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

#: the user that images run as, and that root's folders are given to
RUN_UID = 10001


def run_user() -> str:
    """As compose names a user and group."""
    if os.geteuid() == 0:
        return f"{RUN_UID}:{RUN_UID}"
    return f"{os.geteuid()}:{os.getegid()}"


def share(folder: Path) -> None:
    """Let the containers' user write there, in what is made there later, and in the folders that
    an earlier repetition left, which were given back with it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        os.umask(0o002)
        for each in (folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())):
            os.chown(each, -1, RUN_UID)
            each.chmod(0o2775)


def give_back(folder: Path) -> None:
    """Where root had it shared, root owns it again."""
    if os.geteuid() == 0 and folder.exists():
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 0, 0, follow_symlinks=False)


def passwd_text() -> str:
    """A user must have a name: Spark asks for it."""
    lines = ["root:x:0:0:root:/root:/usr/sbin/nologin"]
    lines.append(f"tollgate:x:{RUN_UID}:{RUN_UID}::/home/tollgate:/usr/sbin/nologin")
    if os.geteuid() not in (0, RUN_UID):
        lines.append(f"{_own_name()}:x:{os.geteuid()}:{os.getegid()}::/tmp:/usr/sbin/nologin")
    return "\n".join(lines) + "\n"


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "runner"
