"""Read recorded files into minutes of data; count bad lines, and let none stop the rest."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from contract.errors import UsageError
from contract.workloads.traffic import KINDS
from publisher.source import SourceReport
from publisher.workloads.traffic.line import BadLine, Observation, parse_line

BAD_EXAMPLES_MAX = 20
LINE_BYTES_MAX = 1 << 16
#: all of a recording is held in memory, about 600 bytes a record, in each sender
RECORDS_MAX = 2_000_000

#: location, lane, kind
Identity = tuple[str, str, str]


@dataclass(slots=True)
class _Location:
    num_lanes: int
    lanes: set[str] = field(default_factory=set)


class Recording:
    """What was recorded: minute → who → the value's two parts; `first_only`: is there anything?"""

    def __init__(self, path: Path, first_only: bool = False) -> None:
        self.minutes: dict[str, dict[Identity, tuple[bytes, bytes]]] = {}
        self._path = path
        self._locations: dict[str, _Location] = {}
        self._records = 0
        self._bad_lines = 0
        self._bad_examples: list[str] = []
        self._first_only = first_only
        self._files = _files_of(path)
        for file in self._files:
            if not self._enough():
                self._read(file)
        if not self._records:
            raise UsageError(
                f"SOURCE={path} holds no usable line"
                + (f" (the first: {self._bad_examples[0]})" if self._bad_examples else "")
            )

    @property
    def report(self) -> SourceReport:
        """What was found, as publisher.json tells it."""
        return SourceReport(
            str(self._path),
            tuple(str(file) for file in self._files),
            self._records,
            self._bad_lines,
            tuple(self._bad_examples),
        )

    def _read(self, file: Path) -> None:
        number = 0
        try:
            with _open(file) as lines:
                for number, line in enumerate(_lines(lines), 1):
                    self._take(line, f"{file.name}:{number}")
                    if self._enough():
                        return
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._note_bad(f"{file.name}:{number + 1}: broken gzip: {error}")
        except OSError as error:
            raise UsageError(f"SOURCE file {file} cannot be read: {error.strerror}") from None

    def _enough(self) -> bool:
        return self._first_only and self._records > 0

    def _take(self, line: bytes, where: str) -> None:
        try:
            if len(line) >= LINE_BYTES_MAX:
                raise BadLine(f"longer than {LINE_BYTES_MAX} bytes")
            text = line.decode("utf-8").strip()
            if text:
                self._keep(parse_line(text))
        except UnicodeDecodeError:
            self._note_bad(f"{where}: not UTF-8")
        except BadLine as error:
            self._note_bad(f"{where}: {error}")

    def _keep(self, seen: Observation) -> None:
        location = self._locations.get(seen.location) or _Location(seen.num_lanes)
        if location.num_lanes != seen.num_lanes:
            raise BadLine(f"num_lanes is {seen.num_lanes}, and was {location.num_lanes} before")
        if seen.lane not in location.lanes and len(location.lanes) == location.num_lanes:
            raise BadLine(f"{seen.lane} is one lane more than num_lanes says")
        minute = self.minutes.setdefault(seen.minute, {})
        identity = (seen.location, seen.lane, seen.kind)
        if identity in minute:
            raise BadLine(f"a second {seen.kind} of this lane in {seen.minute}")
        if self._records == RECORDS_MAX:
            raise UsageError(f"SOURCE={self._path} holds over {RECORDS_MAX} records; give less")
        minute[identity] = (seen.head, seen.tail)
        location.lanes.add(seen.lane)
        self._locations[seen.location] = location
        self._records += 1

    def _note_bad(self, example: str) -> None:
        self._bad_lines += 1
        if len(self._bad_examples) < BAD_EXAMPLES_MAX:
            self._bad_examples.append(example)


def sort_key(identity: Identity) -> tuple[str, int, str, int]:
    """By location, then lane (lane2 before lane10), then kind."""
    location, lane, kind = identity
    return location, len(lane), lane, KINDS.index(kind)


def _files_of(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(
            f"SOURCE={path} is neither `network` nor raw:<file> nor a recorded file or folder"
        )
    found = (file for file in path.rglob("*") if not file.name.startswith("."))
    return sorted(file for file in found if file.is_file())


def _open(file: Path) -> IO[bytes]:
    if file.suffix == ".gz":
        return gzip.open(file, "rb")  # type: ignore[return-value]
    return file.open("rb")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, the over-long ones cut: a file need not hold any line's end."""
    cut = False
    while line := file.readline(LINE_BYTES_MAX):
        if not cut:
            yield line
        cut = not line.endswith(b"\n")
