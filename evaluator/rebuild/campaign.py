"""Rebuild every run of a campaign whose topics can be read, and say of which they cannot."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from contract.results import CampaignFolder, RunFolder
from evaluator.rebuild.crew import cores, each
from evaluator.rebuild.run import Rebuilt, rebuild_run
from evaluator.rebuild.stored import Topics, find_topics, places
from evaluator.verify_files import is_collected
from evaluator.verify_parts import Check


@dataclass(slots=True)
class Again:
    """What the topics of a campaign say of it."""

    #: run → what was checked by its topics
    checks: dict[str, list[Check]] = field(default_factory=dict)
    #: runs whose topics cannot be read
    lacking: list[str] = field(default_factory=list)
    #: runs whose topics had not been collected when the run was judged
    never_collected: list[str] = field(default_factory=list)
    verdicts: int = 0


@dataclass(frozen=True, slots=True)
class _Order:
    run: RunFolder
    topics: Topics
    scratch: Path


def rebuild_campaign(
    folder: CampaignFolder,
    campaign: dict[str, Any],
    runs: dict[str, dict[str, Any]],
    store: str | None = None,
    workers: int | None = None,
) -> Again:
    """Of the runs that left a run.json, which is given; `store` names where the topics are."""
    again = Again()
    where = places(folder.path, campaign, store)
    orders: list[tuple[RunFolder, Topics]] = []
    for run in folder.runs():
        name = run.path.name
        told = runs.get(name)
        if not told:
            continue
        if not is_collected(told):
            again.never_collected.append(name)
            says_valid = told.get("valid") is True
            check = Check(f"{name} valid, though nothing was collected", says_valid, False)
            again.checks[name] = [check]
        elif (topics := find_topics(where, name)) is not None:
            orders.append((run, topics))
        else:
            again.lacking.append(name)
    _rebuild(orders, again, workers or cores())
    return again


def _rebuild(found: Sequence[tuple[RunFolder, Topics]], again: Again, workers: int) -> None:
    if not found:
        return
    progress = Progress(len(found))
    scratch = Path(tempfile.mkdtemp(prefix="tollgate-verify-"))
    try:
        orders = [_Order(run, topics, scratch / run.path.name) for run, topics in found]
        with closing(each(_work, orders, workers)) as answers:
            for place, rebuilt in answers:
                name = orders[place].run.path.name
                again.checks[name] = rebuilt.checks
                again.verdicts += rebuilt.verdicts
                progress.done(name, rebuilt)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        progress.clear()


def _work(order: _Order) -> Rebuilt:
    """In a worker: the cores are shared by runs, not within one."""
    pa.set_cpu_count(1)
    order.scratch.mkdir()
    try:
        return rebuild_run(order.run, order.topics, order.scratch)
    finally:
        shutil.rmtree(order.scratch, ignore_errors=True)


class Progress:
    """How many runs have been rebuilt: a live line on a terminal, a line a run elsewhere."""

    def __init__(
        self, total: int, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total, self._done = total, 0
        self._out = out if out is not None else sys.stderr
        self._clock, self._began = clock, clock()
        self._live = self._out.isatty()
        if self._live:
            self._show(f"verify: {total} runs by their topics")

    def done(self, name: str, rebuilt: Rebuilt) -> None:
        """One more is done."""
        self._done += 1
        since_s = self._clock() - self._began
        says = (
            f"verify: {self._done}/{self._total} runs by their topics, {since_s:.0f} s: "
            f"{name}, {rebuilt.records:,} records"
        )
        if self._live:
            self._show(says)
        else:
            print(says, file=self._out, flush=True)

    def _show(self, says: str) -> None:
        width = max(20, shutil.get_terminal_size().columns - 1)
        self._out.write("\r\033[K" + says[:width])
        self._out.flush()

    def clear(self) -> None:
        """Take the live line away."""
        if self._live:
            self._out.write("\r\033[K")
            self._out.flush()
