"""A service in a container, seen as the conductor sees a process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from conductor.appliance.docker_containers import EndWatch, how_it_ended, log_of, remove, signal
from conductor.appliance.sizing import MIB
from conductor.processes import LOG_TAIL_LINES, told_last
from contract.errors import ServiceFailed

KEPT_LOG_LINES = 20_000
#: among so many are the last that say something
_LOOKED_AT_LINES = 500
LOOK_S = 0.05


class Container:
    """A container that was started, with its log and a bounded end."""

    def __init__(self, name: str, container: Any, ends: EndWatch, log: Path) -> None:
        self.name, self.log = name, log
        self._container, self._ends = container, ends
        self._memory_bytes = int(container.attrs["HostConfig"].get("Memory") or 0)
        self._pid = int(container.attrs["State"].get("Pid") or 0)
        ends.look(container)

    @property
    def id(self) -> str:
        return str(self._container.id)

    @property
    def container(self) -> Any:
        """As the Docker package knows it."""
        return self._container

    @property
    def pid(self) -> int:
        return self._pid

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""
        if self._ends.lost is not None:
            raise ServiceFailed(f"the Docker engine tells nothing any more: {self._ends.lost}")
        return self._ends.exit_code(self.id)

    def how_it_ended(self) -> str:
        """Its exit code, and whether it was killed for its memory."""
        ended = how_it_ended(self._container)
        if ended.out_of_memory:
            return (
                f"was killed because it ran out of memory (its limit is "
                f"{self._memory_bytes // MIB} MiB), exit code {ended.exit_code}"
            )
        return f"ended with exit code {ended.exit_code}"

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> list[str]:
        """The last lines of its log that say something."""
        return told_last(log_of(self._container, _LOOKED_AT_LINES), lines)

    def keep_log(self, folder: Path) -> None:
        """Write what it said so far to a file of its name there."""
        folder.mkdir(parents=True, exist_ok=True)
        if lines := log_of(self._container, KEPT_LOG_LINES):
            (folder / self.log.name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def ask_to_stop(self) -> None:
        """SIGTERM, as any container runtime does."""
        if self.exit_code() is None:
            signal(self._container, "SIGTERM")

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None if it did not come in time."""
        deadline = time.monotonic() + timeout_s
        while (code := self.exit_code()) is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return code

    def stop(self, grace_s: float) -> int | None:
        """Ask, wait, then end it; None: it did not end by itself."""
        self.ask_to_stop()
        code = self.wait(grace_s)
        self.kill()
        return code

    def kill(self) -> None:
        """Keep its log, end it and take it away; harmless when it is gone."""
        self.keep_log(self.log.parent)
        self.take_away()

    def take_away(self) -> None:
        """End it, and leave its log to who has it."""
        remove(self._container)
