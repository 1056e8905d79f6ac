"""The command lines of a standalone cluster's master and workers; starts nothing."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

from contract.engine import EngineOrder, Place
from contract.errors import EnvironmentLacking, unknown_name
from pipeline.settings import Tuning, slots_of

#: the daemons themselves hold little: executors are processes of their own
DAEMON_MEMORY_MB = 256
_CLASSES = {
    "master": "org.apache.spark.deploy.master.Master",
    "worker": "org.apache.spark.deploy.worker.Worker",
}


def cluster_command(part: str, order: EngineOrder, tuning: Tuning, place: Place) -> list[str]:
    """Java with Spark's own class; it ends by SIGTERM as any JVM does."""
    if part not in _CLASSES:
        raise unknown_name("part of a Spark cluster", part, _CLASSES)
    host, port = place.address
    jars = _spark_home() / "jars"
    log = Path(__file__).with_name("log4j2.properties")
    command = [
        str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java",
        f"-Xmx{DAEMON_MEMORY_MB}m",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        f"-Dlog4j2.configurationFile={log}",
        f"-Djava.io.tmpdir={tempfile.gettempdir()}",
        "-Dspark.ui.enabled=false",
        "-Dspark.master.rest.enabled=false",
        # nobody looks at them, and both want a port
        "-Dspark.master.ui.port=0",
        "-Dspark.worker.ui.port=0",
        "-cp",
        f"{jars}/*",
        _CLASSES[part],
        "--host",
        host,
        "--port",
        str(port),
        "--webui-port",
        "0",
    ]
    if part == "worker":
        work = Path(order.state_dir, f"worker-{place.instance}")
        command += ["--cores", str(slots_of(order)), "--memory", f"{tuning.memory_mb}m"]
        command += ["--work-dir", str(work), f"spark://{place.peers['master'][0]}"]
    return command


def cluster_environment() -> dict[str, str]:
    """What a worker needs to start executors: where Spark is, and that it is no source tree."""
    return {"SPARK_HOME": str(_spark_home()), "SPARK_SCALA_VERSION": "2.13"}


def _spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EnvironmentLacking("PySpark is not installed")
    return Path(spec.origin).parent
