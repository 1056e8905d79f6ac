"""Open the store: Spark writes topics to it; they are read from a folder of this machine."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from contract.errors import ServiceFailed, TollgateError
from evaluator.topics import Topic, Topics


class NotCollected(TollgateError):
    """The store does not hold the topics of this run."""


@dataclass(frozen=True, slots=True)
class Store:
    """One run's folder in the store."""

    spark: SparkSession
    address: str
    campaign_id: str
    run_name: str

    def _path(self, part: str) -> str:
        return f"{self.address.rstrip('/')}/{self.campaign_id}/{self.run_name}/{part}"

    def _here(self) -> Path | None:
        """The run's folder where it is on this machine, and none of Hadoop's."""
        scheme, _, path = self._path("").partition(":")
        if scheme != "file":
            return None
        return Path(f"/{path.lstrip('/')}" if path.startswith("//") else path)

    def topics(self, scratch: Path) -> Topics:
        """The topics as they were appended; brought to `scratch` where they are elsewhere."""
        folder = self._here()
        if folder is None:
            folder = scratch / "topics"
            for part in ("inputs", "outputs"):
                self._copy(self._path(part), f"file:{(folder / part).absolute()}")
        topics = Topics(*(Topic.in_folder(folder / part) for part in ("inputs", "outputs")))
        if not topics.inputs.files or not topics.outputs.files:
            raise NotCollected(f"the topics of {self.run_name} are not in {self._path('')}")
        return topics

    def write_inputs(self, collected: DataFrame) -> None:
        """Keep the input topics, nothing computed."""
        collected.write.mode("overwrite").parquet(self._path("inputs"))

    def write_outputs(self, collected: DataFrame) -> None:
        """Keep the output topic, nothing computed."""
        collected.write.mode("overwrite").parquet(self._path("outputs"))

    def keep_verdicts(self, folder: Path) -> None:
        """Keep the verdict on each output, in place of those that were there."""
        mine = self._here()
        if mine is not None:
            there = mine / "verdicts"
            if there.exists():
                shutil.rmtree(there)
            shutil.move(folder, there)
            return
        self._copy(f"file:{folder.absolute()}", self._path("verdicts"))

    def copy_to(self, address: str) -> None:
        """Have this run's folder in another store too, as it is."""
        other = Store(self.spark, address, self.campaign_id, self.run_name)
        self._copy(self._path(""), other._path(""))

    def _copy(self, source: str, target: str) -> None:
        """A folder, by Hadoop's file systems, in place of what is there."""
        jvm: Any = self.spark._jvm
        conf = self.spark._jsc.hadoopConfiguration()
        here, there = (jvm.org.apache.hadoop.fs.Path(path) for path in (source, target))
        try:
            files, kept = here.getFileSystem(conf), there.getFileSystem(conf)
            kept.delete(there, True)
            whole = jvm.org.apache.hadoop.fs.FileUtil.copy(files, here, kept, there, False, conf)
            if not whole:
                raise ServiceFailed(f"{source} could not be copied to {target}")
        except Py4JJavaError as error:
            says = str(error.java_exception.getMessage())[:300]
            raise ServiceFailed(f"copying {source} to {target} failed: {says}") from error
