"""Read the topics that were collected, from a folder of this machine; compute nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

#: records that are read at once
_BATCH_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Topic:
    """The Parquet files that the input topics, or the output topic, were collected into."""

    files: tuple[Path, ...]

    @classmethod
    def in_folder(cls, folder: Path) -> Topic:
        """What was collected there; a topic without records has files too."""
        return cls(tuple(sorted(folder.glob("part-*.parquet"))))

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(pq.read_metadata(file).num_rows for file in self.files)

    def batches(self) -> Iterator[pa.Table]:
        """They, in the order of the files; consecutive offsets stand together."""
        for file in self.files:
            with pq.ParquetFile(file) as topic:
                for batch in topic.iter_batches(_BATCH_ROWS):
                    yield pa.Table.from_batches([batch])


@dataclass(frozen=True, slots=True)
class Topics:
    """A run's topics, where they can be read."""

    inputs: Topic
    outputs: Topic

    @property
    def records(self) -> int:
        """How many both hold."""
        return self.inputs.records + self.outputs.records
