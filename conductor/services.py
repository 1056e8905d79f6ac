"""Have brokers, a client of theirs and the evaluator up, and take all of it down again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conductor.embedded import EmbeddedRuntime
from conductor.evaluating import Evaluator
from conductor.home import Home, abandoned_scratch, make_scratch
from conductor.interrupts import held
from conductor.java import Java
from conductor.progress import Progress
from conductor.topics import Cluster


@dataclass(frozen=True, slots=True)
class Services:
    """What runs need beside their own engine and publisher."""

    runtime: EmbeddedRuntime
    cluster: Cluster
    evaluator: Evaluator


@contextmanager
def services(
    home: Home, java: Java, brokers: int, logs: Path, progress: Progress
) -> Iterator[Services]:
    """Start them together; whatever happens inside, nothing of it is left behind."""
    if left := abandoned_scratch():
        names = ", ".join(str(folder) for folder in left)
        progress.say(f"left by campaigns that were killed: {names} (make clean takes it away)")
    scratch = make_scratch()
    runtime: EmbeddedRuntime | None = None
    evaluator: Evaluator | None = None
    cluster: Cluster | None = None
    try:
        runtime = EmbeddedRuntime(home, java, scratch)
        progress.phase(f"start: {brokers} brokers, evaluator")
        runtime.start_brokers(brokers, 1)
        with held():
            evaluator = Evaluator(sys.executable, runtime.env, logs / "evaluator.log", scratch)
        cluster = runtime.wait_for_brokers(progress.tick)
        yield Services(runtime, cluster, evaluator)
    finally:
        with held():
            if cluster is not None:
                cluster.close()
            if runtime is not None:
                runtime.end()
            if evaluator is not None:
                evaluator.stop()
            shutil.rmtree(scratch, ignore_errors=True)
            progress.clear()
