"""Have brokers, a client of theirs and the evaluator up, and take all of it down again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from conductor.brokers import in_words
from conductor.evaluating import Evaluator
from conductor.home import abandoned_scratch, make_scratch
from conductor.interrupts import held
from conductor.progress import Progress
from conductor.runtime import Runtime
from conductor.topics import Cluster


@dataclass(frozen=True, slots=True)
class Services:
    """What runs need beside their own engine and publisher."""

    runtime: Runtime
    cluster: Cluster
    evaluator: Evaluator


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A scratch folder that is gone afterwards."""
    with held():
        scratch = make_scratch()
    try:
        yield scratch
    finally:
        with held():
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def services(
    make_runtime: Callable[[Path], Runtime], brokers: int, logs: Path, progress: Progress
) -> Iterator[Services]:
    """Start them together; whatever happens inside, nothing of it is left behind.

    Each is taken down though another's end failed; all of that cannot be interrupted.
    """
    if left := abandoned_scratch():
        names = ", ".join(str(folder) for folder in left)
        progress.say(f"left by campaigns that were killed: {names} (make clean takes it away)")
    ends = ExitStack()
    try:
        with held():
            scratch = make_scratch()
            ends.callback(shutil.rmtree, scratch, ignore_errors=True)
        with held():
            runtime = make_runtime(scratch)
            ends.callback(runtime.end)
        progress.phase(f"start: {in_words(brokers)}, evaluator")
        runtime.start_brokers(brokers, 1)
        with held():
            evaluator = runtime.start_evaluator(logs / "evaluator.log")
            ends.callback(evaluator.stop)
        cluster = runtime.wait_for_brokers(progress.tick)
        ends.callback(cluster.close)
        yield Services(runtime, cluster, evaluator)
    finally:
        with held():
            ends.callback(progress.clear)
            # told of what went wrong inside, so that it is not lost should an end fail too
            ends.__exit__(*sys.exc_info())
