"""One hash of all files that decide what a run does and how it is judged, whatever git knows."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from contract.results import sha256_of

FOLDERS = ("contract", "publisher", "pipeline", "evaluator", "conductor", "images", "compose")
#: this checkout
HOME = Path(__file__).resolve().parents[1]


def sources_sha256(checkout: Path) -> str:
    """Of their paths and contents; what Python compiled of them does not count."""
    digest = hashlib.sha256()
    for name in FOLDERS:
        for path in sorted((checkout / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                told = f"{path.relative_to(checkout).as_posix()} {sha256_of(path)}\n"
                digest.update(told.encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def own_sources_sha256() -> str:
    """Of the checkout that this program is of."""
    return sources_sha256(HOME)
