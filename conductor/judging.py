"""Have the evaluator verify, pack or report a campaign; on an interruption it ends first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from conductor.asked import read_words
from conductor.home import Home, make_scratch, path_of
from conductor.interrupts import held
from contract.errors import UsageError
from contract.results import why_no_campaign

#: the settings of each verb, besides the campaign
SETTINGS: dict[str, tuple[str, ...]] = {
    "report": ("FIGURES",),
    "verify": ("STORE",),
    "archive": ("SLIM", "ARCHIVE", "STORE"),
}
#: it takes away what it had unpacked, and its processes
_END_S = 10.0


def have_judged(verb: str, words: Iterable[str], home: Home) -> int:
    """Ask for it in the evaluator's own process; gives its exit code."""
    words = list(words)
    paths = [w for w in words if "=" not in w]
    known = ["CAMPAIGN", "RESULTS", *SETTINGS[verb]]
    given = read_words([w for w in words if "=" in w], known)
    if len(paths) > 1:
        raise UsageError(f"{verb} takes one campaign")
    text = paths[0] if paths else given.get("CAMPAIGN", str(home.results / "latest"))
    campaign = Path(text)
    archived = verb == "verify" and campaign.is_file()
    if not archived and not (campaign / "campaign.json").exists():
        raise UsageError(why_no_campaign(campaign))
    settings = [f"{name}={_value(name, given[name])}" for name in SETTINGS[verb] if name in given]
    command = [sys.executable, "-m", "evaluator", verb, str(campaign.resolve()), *settings]
    return run_to_its_end(command, home)


def _value(name: str, text: str) -> str:
    """As the evaluator takes it, which works in another folder."""
    if name == "SLIM":
        if text not in ("0", "1"):
            raise UsageError(f"SLIM={text} cannot be; give 0 or 1")
        return text
    if name == "STORE" and "://" in text and not text.startswith("file:"):
        raise UsageError(f"STORE={text}: a folder is needed, no service is asked for topics")
    path = text.removeprefix("file:")
    return str(path_of(f"/{path.lstrip('/')}" if path.startswith("//") else path))


def run_to_its_end(command: list[str], home: Home) -> int:
    """What it unpacks goes to a folder that `clean` knows as abandoned, were all of us killed."""
    scratch = make_scratch()
    try:
        with held():
            env = {**os.environ, "TMPDIR": str(scratch)}
            process = subprocess.Popen(command, cwd=home.path, env=env)
        try:
            return process.wait()
        except KeyboardInterrupt:
            with held():
                _end(process)
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Where the terminal has told it, too, it does not hear it twice."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
