"""Start Spark as the evaluator uses it; know nothing of runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from contract.class_archive import class_archive_options, note_class_path, quoted

#: a DataNode that is lost costs seconds, not minutes
_HDFS = {
    "dfs.replication": "2",
    "dfs.client.socket-timeout": "5000",
    "dfs.datanode.socket.write.timeout": "10000",
    "dfs.client.use.datanode.hostname": "false",
    "ipc.client.connect.timeout": "2000",
    "ipc.client.connect.max.retries.on.timeouts": "5",
    "ipc.ping.interval": "5000",
    "ipc.client.rpc-timeout.ms": "30000",
}


def connector_jars() -> list[Path]:
    """The jars of Spark's Kafka source, from the artifacts; none where there are none."""
    artifacts = os.environ.get("TOLLGATE_ARTIFACTS")
    return sorted(Path(artifacts, "spark-kafka").glob("*.jar")) if artifacts else []


def start_spark(cores: int | None = None) -> SparkSession:
    """A local session on the loopback, with a small heap and little noise."""
    cores = cores or len(os.sched_getaffinity(0))
    temporary = tempfile.gettempdir()
    settings = {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "tollgate-evaluator",
        "spark.driver.memory": os.environ.get("EVALUATOR_MEMORY", "1g"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in connector_jars()),
        "spark.driver.extraJavaOptions": quoted(
            [
                f"-Djava.io.tmpdir={temporary}",
                "-XX:-UsePerfData",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                *class_archive_options("evaluator", os.getpid(), os.environ),
            ]
        ),
        "spark.local.dir": temporary,
        "spark.sql.warehouse.dir": str(Path(temporary, "tollgate-warehouse")),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.sources.default": "parquet",
        "spark.sql.parquet.compression.codec": "zstd",
        **{f"spark.hadoop.{name}": value for name, value in _HDFS.items()},
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    jvm: Any = spark._jvm
    system = jvm.java.lang.System
    note_class_path("evaluator", os.environ, lambda: str(system.getProperty("java.class.path")))
    return spark
