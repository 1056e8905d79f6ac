"""Find a run's topics where a campaign keeps them, and read them without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from contract.results import COLLECTED_COLUMNS

BATCH_ROWS = 1 << 16
PARTS = ("inputs", "outputs")


@dataclass(frozen=True, slots=True)
class Topics:
    """One run's topics: `inputs` and `outputs`, each a folder of Parquet files."""

    folder: Path

    @property
    def there(self) -> bool:
        """Whether both have been collected: even an empty topic leaves a file."""
        return all(self._files(part) for part in PARTS)

    @property
    def records(self) -> int:
        """How many records both hold."""
        return sum(pq.read_metadata(f).num_rows for part in PARTS for f in self._files(part))

    def batches(self, part: str) -> Iterator[pa.Table]:
        """The records of `inputs` or `outputs`, some at a time."""
        names = [*COLLECTED_COLUMNS, *(["kind"] if part == "inputs" else [])]
        for path in self._files(part):
            file = pq.ParquetFile(path)
            lacking = [name for name in names if name not in file.schema_arrow.names]
            if lacking:
                raise ValueError(f"{part}/{path.name} has no column {lacking[0]}")
            for batch in file.iter_batches(BATCH_ROWS, columns=names):
                yield pa.Table.from_batches([batch])

    def _files(self, part: str) -> list[Path]:
        found = (self.folder / part).glob("*.parquet")
        return sorted(p for p in found if not p.name.startswith((".", "_")))


def places(campaign_dir: Path, campaign: dict[str, Any], store: str | None) -> list[Path]:
    """The folders that may hold a campaign's topics, a folder a run, in the order of looking.

    STORE= alone where it is given; otherwise what came along in an archive, what lies beside
    the campaign, and last where the conductor had put them: the nearest is what was handed on.
    """
    name = str(campaign.get("campaign_id"))
    if not name or "/" in name or name.startswith("."):
        return []
    if store is not None:
        folder = _folder_of(store, Path())
        return [] if folder is None else [folder / name, folder]
    told = [_folder_of(campaign.get(key), campaign_dir) for key in ("store_kept", "store")]
    return [
        campaign_dir / "store",
        campaign_dir.parent / "store" / name,
        *(folder / name for folder in told if folder is not None),
    ]


def find_topics(where: list[Path], run_name: str) -> Topics | None:
    """The run's topics in the first of these places that has them."""
    for place in where:
        topics = Topics(place / run_name)
        try:
            if topics.there:
                return topics
        except OSError:
            continue  # a place that may not be looked into holds nothing for us
    return None


def _folder_of(address: Any, told_from: Path) -> Path | None:
    """The folder of a file: address or a path; None of what only Hadoop can read."""
    if not isinstance(address, str) or not address:
        return None
    scheme, colon, rest = address.partition(":")
    if colon and scheme != "file" and "/" not in scheme:
        return None
    path = rest if scheme == "file" and colon else address
    return told_from / ("/" + path.lstrip("/") if path.startswith("//") else path)
