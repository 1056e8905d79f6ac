"""Facts about this machine and what was pinned; asks, changes nothing."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil

from conductor.class_archives import archived, archives_folder
from conductor.home import Home
from conductor.java import Java
from contract.results import sha256_of
from contract.sources import sources_sha256

VERSION = "0.1.0"
PINNED = ("pyspark", "confluent-kafka", "kafka-python", "pandas", "pyarrow", "numpy", "psutil")


def machine_facts(java: Java | None) -> dict[str, Any]:
    """What a reader needs to know of the machine."""
    return {
        "cpu_model": _cpu_model(),
        "cores": psutil.cpu_count() or 1,
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "os": _os_name(),
        "python": platform.python_version(),
        "java": java.version if java else None,
        "virtualization": _virtualization(),
    }


def pins(home: Home, java: Java | None) -> dict[str, Any]:
    """What the run was made with, by version or hash."""
    return {
        "tollgate": VERSION,
        "sources_sha256": sources_sha256(home.path),
        "git_commit": _git(home.path, "rev-parse", "HEAD"),
        "git_dirty": bool(_git(home.path, "status", "--porcelain")),
        "requirements_lock_sha256": sha256_of(home.path / "requirements.lock"),
        "artifacts_lock_sha256": sha256_of(home.artifacts_lock),
        "class_archives": archived(archives_folder(home, java)) if java else [],
        "packages": {name: importlib.metadata.version(name) for name in PINNED},
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform()


def _virtualization() -> str | None:
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return None
    return "virtual" if " hypervisor" in flags else "none seen"


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
