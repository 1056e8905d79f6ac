"""Have the publisher look at a recorded source before anything is started for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from contract.errors import EnvironmentLacking, ExitCode, UsageError
from contract.settings import RunSettings

LOOK_S_MAX = 60.0


def look_at_source(settings: RunSettings, home: Path) -> None:
    """Refuse a source without one usable line, in the publisher's own words."""
    if settings.source == "network":
        return
    env = {**os.environ, "WORKLOAD": settings.workload, "SOURCE": settings.source}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "publisher", "look"],
            env=env,
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LOOK_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return  # so much rubbish takes longer to read: the run will tell
    if done.returncode == ExitCode.USAGE:
        raise UsageError(done.stderr.strip())
    if done.returncode != 0:
        last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise EnvironmentLacking(f"the publisher could not look at SOURCE: {last}")
