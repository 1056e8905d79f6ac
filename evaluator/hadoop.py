"""Copy folders between Hadoop's file systems, through the client that PySpark brings along.

Only a store that is no folder of this machine needs it: the JVM starts with the first copy.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from contract.errors import ServiceFailed

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


class Hadoop:
    """Hadoop's file systems, as the settings of Spark on this machine name them."""

    def __init__(self) -> None:
        self._gateway: Any = None

    def copy(self, source: str, target: str) -> None:
        """A folder, in place of what is there, once all of it has arrived.

        Where renaming a folder is no single step (s3a) a copy that is broken off may leave a part.
        """
        try:
            if self._gateway is None:
                self._gateway = self._start()
            self._copy(source, target)
        except Py4JJavaError as error:
            says = str(error.java_exception.getMessage())[:300]
            raise ServiceFailed(f"copying {source} to {target} failed: {says}") from error
        except (PySparkException, Py4JError) as error:
            # it cannot be asked again; the next copy starts another
            self.close()
            says = next(iter(str(error).splitlines()), "")[:300]
            raise ServiceFailed(f"copying {source} to {target} failed: {says}") from error

    def _copy(self, source: str, target: str) -> None:
        jvm = self._gateway.jvm
        conf = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(
            jvm.org.apache.spark.SparkConf()
        )
        draft = f"{target.rstrip('/')}.draft"
        here, part, there = map(jvm.org.apache.hadoop.fs.Path, (source, draft, target))
        files, kept = here.getFileSystem(conf), there.getFileSystem(conf)
        kept.delete(part, True)
        whole = jvm.org.apache.hadoop.fs.FileUtil.copy(files, here, kept, part, False, conf)
        if whole:
            kept.delete(there, True)
        if not (whole and kept.rename(part, there)):
            raise ServiceFailed(f"{source} could not be copied to {target}")

    def close(self) -> None:
        """End the JVM, if there is one."""
        if self._gateway is not None:
            gateway, self._gateway = self._gateway, None
            with suppress(Py4JError, OSError):
                gateway.shutdown()
            # it ends with its input
            gateway.proc.stdin.close()
            gateway.proc.wait()

    @staticmethod
    def _start() -> Any:
        options = [
            f"-Djava.io.tmpdir={tempfile.gettempdir()}",
            "-XX:-UsePerfData",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
        ]
        conf = SparkConf(loadDefaults=False)
        conf.set("spark.driver.memory", os.environ.get("EVALUATOR_MEMORY", "512m"))
        # a path may hold blanks
        conf.set("spark.driver.extraJavaOptions", " ".join(f'"{option}"' for option in options))
        conf.setAll([(f"spark.hadoop.{name}", value) for name, value in _HDFS.items()])
        return launch_gateway(conf)  # type: ignore[no-untyped-call]
