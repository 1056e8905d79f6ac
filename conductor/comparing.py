"""Find the two campaigns that are to be compared; the evaluator compares them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from conductor.asked import read_words, yes
from conductor.home import Home
from conductor.judging import run_to_its_end
from contract.chosen import find_campaign
from contract.errors import UsageError


def compare(words: Sequence[str], home: Home) -> int:
    """`A B` or `A=… B=…`: folders, or names of campaigns below RESULTS, each with its variant."""
    given = read_words([w for w in words if _is_setting(w)], ["A", "B", "JSON", "RESULTS"])
    placed = [w for w in words if not _is_setting(w)]
    named = [given[side] for side in ("A", "B") if side in given]
    if sorted((len(placed), len(named))) != [0, 2]:
        raise UsageError(
            "compare takes engines to run side by side, ENGINES=spark,flink, or two campaigns, "
            "A=… B=…, each a folder or a name in RESULTS, with :mode/dialect behind it where it "
            "holds several"
        )
    form = ["json"] * yes("JSON", given.get("JSON", "0"))
    command = [sys.executable, "-m", "evaluator", "compare"]
    command += [*(_whole(word, home) for word in placed + named), *form]
    return run_to_its_end(command, home)


def _is_setting(word: str) -> bool:
    """A folder's name may hold an equals sign; a setting's name holds no slash before it."""
    name, equals, _ = word.partition("=")
    return bool(equals) and "/" not in name


def _whole(word: str, home: Home) -> str:
    """As the evaluator finds it from wherever it runs."""
    folder, choice = find_campaign(word, [Path.cwd(), home.results])
    return f"{folder}:{choice}" if choice.parts else str(folder)
