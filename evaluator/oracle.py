"""Run a workload's oracle over the topics: read them strictly, say what must come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from contract.workload import FieldType, Stage
from evaluator.workload import Judge, Read

_IDENTITY = "location string, lane string, kind string, second long, token string"
KEYS = ("bucket", "location", "lane", "kind", "second", "token")
_SQL_TYPES: dict[FieldType, str] = {
    "string": "string",
    "long": "long",
    "double": "double",
    "timestamp": "long",
}
#: records a partition: what one task holds in memory at once is a fraction of it
_RECORDS_PER_PARTITION = 400_000
#: below this a task's start costs more than its work
_FEW_RECORDS = 50_000
#: groups a partition: so that a partition's groups even out
_BUCKETS_PER_PARTITION = 4


@dataclass(frozen=True, slots=True)
class Spread:
    """How many partitions and groups the work is spread over."""

    partitions: int
    buckets: int

    @classmethod
    def over(cls, records: int, cores: int) -> Spread:
        """By the number of records, so that a group stays bounded whatever the rate."""
        least = cores if records < _FEW_RECORDS else 2 * cores
        partitions = max(least, records // _RECORDS_PER_PARTITION + 1)
        return cls(partitions, partitions * _BUCKETS_PER_PARTITION)


@dataclass(frozen=True, slots=True)
class Oracle:
    """The oracle of one stage of one workload."""

    judge: Judge
    stage: Stage
    spread: Spread

    def records(self, inputs: DataFrame) -> DataFrame:
        """The input topics, read: identity, event time, fields, append time."""
        fields = "".join(f", {n} {_SQL_TYPES[t]}" for n, t in self.judge.record_fields)
        schema = (
            f"{_IDENTITY}, event_us long, well_formed boolean{fields}, "
            "partition int, offset long, timestamp_ms long"
        )
        return self._by_bucket(_read_with(inputs, self.judge.read_inputs, self.stage, schema))

    def outputs(self, outputs: DataFrame) -> DataFrame:
        """The output topic, read: identity, flaw, the stage's fields, append time."""
        schema = (
            f"{_IDENTITY}, flaw string{self._fields('got')}, "
            "partition int, offset long, timestamp_ms long"
        )
        return self._by_bucket(_read_with(outputs, self.judge.read_outputs, self.stage, schema))

    def expected(self, records: DataFrame) -> DataFrame:
        """The identities and fields that must come out, and how many copies of each."""
        schema = f"bucket long, {_IDENTITY}, copies long{self._fields('expected')}"
        names = [part.split()[0] for part in schema.split(", ")]
        expect, stage = self.judge.expect, self.stage

        def expect_of(group: pd.DataFrame) -> pd.DataFrame:
            return expect(group, stage).assign(bucket=group["bucket"].iloc[0])[names]

        return records.groupBy("bucket").applyInPandas(expect_of, schema)

    def _fields(self, whose: str) -> str:
        return "".join(f", {whose}_{n} {_SQL_TYPES[t]}" for n, t in self.stage.fields)

    def _by_bucket(self, read: DataFrame) -> DataFrame:
        bucket = F.pmod(F.xxhash64("location"), F.lit(self.spread.buckets))
        return read.withColumn("bucket", bucket).repartition(self.spread.partitions, "bucket")


def _read_with(topic: DataFrame, read: Read, stage: Stage, schema: str) -> DataFrame:
    kept = ["partition", "offset", "timestamp_ms"]
    names = [part.split()[0] for part in schema.split(", ")]
    known = [n for n in ("kind", "key", "value") if n in topic.columns]
    return topic.select(*known, *kept).mapInPandas(_reader(read, stage, kept, names), schema)


def _reader(
    read: Read, stage: Stage, kept: list[str], names: list[str]
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    def read_all(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            found = read(batch, stage)
            for name in kept:
                found[name] = batch[name].to_numpy()
            yield found[names]

    return read_all
