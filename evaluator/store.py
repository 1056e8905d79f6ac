"""Open the store: topics are kept in it, and read from a folder of this machine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from contract.errors import TollgateError
from evaluator.hadoop import Hadoop
from evaluator.topics import Topic, Topics

_TOPICS = ("inputs", "outputs")


class NotCollected(TollgateError):
    """The store does not hold the topics of this run."""


@dataclass(frozen=True, slots=True)
class Store:
    """One run's folder in the store."""

    hadoop: Hadoop
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
            for part in _TOPICS:
                self.hadoop.copy(self._path(part), _address(folder / part))
        topics = Topics(*(Topic.in_folder(folder / part) for part in _TOPICS))
        if not topics.inputs.files or not topics.outputs.files:
            raise NotCollected(f"the topics of {self.run_name} are not in {self._path('')}")
        return topics

    @contextmanager
    def receiving(self) -> Iterator[Path]:
        """A folder to collect topics into; once all have come they take their place."""
        mine = self._here()
        if mine is not None:
            mine.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".collecting-", dir=mine) as draft:
            yield Path(draft)
            for part in _TOPICS:
                self._keep(Path(draft) / part, part)

    def keep_verdicts(self, folder: Path) -> None:
        """Keep the verdict on each output, in place of those that were there."""
        self._keep(folder, "verdicts")

    def copy_to(self, address: str) -> None:
        """Have this run's folder in another store too, as it is."""
        other = Store(self.hadoop, address, self.campaign_id, self.run_name)
        self.hadoop.copy(self._path(""), other._path(""))

    def _keep(self, folder: Path, part: str) -> None:
        mine = self._here()
        if mine is None:
            self.hadoop.copy(_address(folder), self._path(part))
            return
        there = mine / part
        if there.exists():
            shutil.rmtree(there)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder, there)


def _address(folder: Path) -> str:
    return f"file:{folder.absolute()}"
