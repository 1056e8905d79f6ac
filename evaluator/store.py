"""Open the store through Spark; only `rebuild/stored.py` reads it too, by other means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.errors import ServiceFailed, TollgateError

_COLLECTED = (
    "topic string, partition int, offset long, timestamp_ms long, timestamp_type int, "
    "key binary, value binary"
)
INPUTS_SCHEMA = f"{_COLLECTED}, kind string"


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

    def _read(self, part: str, schema: str) -> DataFrame:
        try:
            return self.spark.read.schema(schema).parquet(self._path(part))
        except AnalysisException as error:
            raise NotCollected(f"{self._path(part)} is not there: {error.getCondition()}") from None

    def inputs(self) -> DataFrame:
        """The input topics as they were appended."""
        return self._read("inputs", INPUTS_SCHEMA)

    def outputs(self) -> DataFrame:
        """The output topic as it was appended."""
        return self._read("outputs", _COLLECTED)

    def verdicts(self, schema: str) -> DataFrame:
        """What `write_verdicts` wrote."""
        return self._read("verdicts", schema)

    def write_inputs(self, collected: DataFrame) -> None:
        """Keep the input topics, nothing computed."""
        collected.write.mode("overwrite").parquet(self._path("inputs"))

    def write_outputs(self, collected: DataFrame) -> None:
        """Keep the output topic, nothing computed."""
        collected.write.mode("overwrite").parquet(self._path("outputs"))

    def write_verdicts(self, verdicts: DataFrame) -> None:
        """Keep the verdict on each output."""
        verdicts.write.mode("overwrite").parquet(self._path("verdicts"))

    def copy_to(self, address: str) -> None:
        """Have this run's folder in another store too, as it is."""
        other = Store(self.spark, address, self.campaign_id, self.run_name)
        jvm: Any = self.spark._jvm
        conf = self.spark._jsc.hadoopConfiguration()
        source, target = (jvm.org.apache.hadoop.fs.Path(s._path("")) for s in (self, other))
        try:
            whole = jvm.org.apache.hadoop.fs.FileUtil.copy(
                source.getFileSystem(conf), source, target.getFileSystem(conf), target, False, conf
            )
            if not whole:
                raise ServiceFailed(f"{source} could not be copied to {target}")
        except Py4JJavaError as error:
            says = str(error.java_exception.getMessage())[:300]
            raise ServiceFailed(f"copying {source} to {target} failed: {says}") from error

    def partitions(self) -> DataFrame:
        """Topic, partition, offset, timestamp of all records: to see how they were appended."""
        names = ("topic", "partition", "offset", "timestamp_ms", "timestamp_type")
        columns = [F.col(name) for name in names]
        return self.inputs().select(*columns).unionByName(self.outputs().select(*columns))
