"""The Spark engine's program: environment in, SIGTERM out; knows signals and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from contract.class_archive import class_archive_options, note_class_path, quoted
from contract.engine import EngineOrder, Place
from contract.errors import ExitCode, TollgateError, TookTooLong
from pipeline.cluster import cluster_command, cluster_environment
from pipeline.settings import Tuning, check, master_of, plan_of, spark_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.5
#: a worker that is slow to start is waited for; less than an engine is given to get ready
EXECUTORS_S_MAX = 90.0
EXECUTORS_SETTLE_S = 3.0


def main(words: list[str]) -> int:
    """Run until SIGTERM (0), a refusal (64) or the query's death (1)."""
    try:
        order = EngineOrder.from_environment(os.environ)
        check(order)
        tuning = Tuning.of(order.engine_settings)
        place = Place.from_environment(os.environ)
        if words:
            command = cluster_command(words[0], order, tuning, place)
            os.execvpe(command[0], command, {**os.environ, **cluster_environment()})
    except TollgateError as refusal:
        print(f"spark engine: {refusal}", file=sys.stderr)
        return ExitCode.ENGINE_REFUSES
    stopping = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _run(order, tuning, place, stopping)


def _run(order: EngineOrder, tuning: Tuning, place: Place, stopping: threading.Event) -> int:
    # Imported late: a refusal must not wait for Spark.
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from pipeline import job

    jars = Path(os.environ["TOLLGATE_ARTIFACTS"]) / "spark-kafka"
    log = Path(__file__).with_name("log4j2.properties")
    options = [
        f"-Dlog4j2.configurationFile={log}",
        f"-Djava.io.tmpdir={tempfile.gettempdir()}",
        "-XX:-UsePerfData",
        *class_archive_options("spark", os.getpid(), os.environ),
        *filter(None, tuning.jvm_options.replace("+-", " -").split()),
    ]
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-java-options '{quoted(options)}' pyspark-shell"
    builder = SparkSession.builder.master(master_of(order, tuning, place))
    for name, value in spark_conf(order, tuning, place, jars).items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Py4JJavaError as error:
        print(f"spark engine: {error.java_exception.getMessage()}", file=sys.stderr)
        return ExitCode.FAILURE
    jvm: Any = spark._jvm
    system = jvm.java.lang.System
    note_class_path("spark", os.environ, lambda: str(system.getProperty("java.class.path")))
    try:
        if tuning.master != "local":
            known = order.instances if tuning.master == "cluster" else None
            _wait_for_executors(spark, known, tuning, stopping)
        if stopping.is_set():
            return ExitCode.VALID
        plan = plan_of(order, tuning)
        job.rehearse(spark, order, tuning.rehearsals, plan)
        if stopping.is_set():
            return ExitCode.VALID
        query = job.start(spark, order, tuning, plan)
        while not stopping.wait(POLL_S):
            if not query.isActive:
                print(f"spark engine: the query ended: {query.exception()}", file=sys.stderr)
                return ExitCode.FAILURE
        query.stop()
    except (PySparkException, TookTooLong) as error:
        if not stopping.is_set():
            print(f"spark engine: {error}", file=sys.stderr)
            return ExitCode.FAILURE
    finally:
        spark.stop()
    return ExitCode.VALID


def _wait_for_executors(
    spark: SparkSession, known: int | None, tuning: Tuning, stopping: threading.Event
) -> None:
    """A real-time query wants all its slots at once, and fails where they are not there yet.

    Of somebody else's cluster nobody knows how many there will be: until no more come.
    """
    start = came = time.monotonic()
    tracker: Any = spark._jsc.sc().statusTracker()
    there = 0
    while not stopping.is_set():
        now = time.monotonic()
        # the driver is one of those that it counts
        before, there = there, len(tracker.getExecutorInfos()) - 1
        came = now if there != before else came
        if there >= (known or 1) and (known or now - came > EXECUTORS_SETTLE_S):
            return
        if now - start > EXECUTORS_S_MAX:
            raise TookTooLong(
                f"{there} of {known or 1} executors after {EXECUTORS_S_MAX:.0f} s; "
                f"a worker needs {tuning.memory_mb} MB (memory_mb) to spare for each"
            )
        stopping.wait(POLL_S / 2)


sys.exit(main(sys.argv[1:]))
