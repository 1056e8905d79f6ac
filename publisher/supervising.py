"""Start the senders, give them their common start, watch over them, and gather their totals."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from contract.errors import ServiceFailed, UsageError
from contract.results import SCHEMA, write_json
from publisher.gate import Gate
from publisher.messages import GO_S_MAX, PREPARE_S_MAX, Done, Failed, Message, Ready, Totals
from publisher.order import Order
from publisher.source import Facts, Share, SourceReport

#: records a second that one sender is trusted with: see README.md of this room
SENDER_RATE_MAX = 40_000
#: from the moment all are ready to the first record
START_AHEAD_NS = 200_000_000
_STARTED = "publisher-started.json"
_OUTCOME = "publisher.json"
_LOOK_S = 0.1
_GO_LOOK_S = 0.02
_JOIN_S_MAX = 5.0
_STOPPED_EARLY = "stopped before the first record was due"
_PR_SET_PDEATHSIG = 1
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Wishes:
    """What signals have asked for so far."""

    stop: bool = False
    terminations: int = 0

    def note(self, number: int, _frame: object) -> None:
        """SIGTERM or SIGINT came; only a second SIGTERM means at once."""
        self.stop = True
        self.terminations += number == signal.SIGTERM

    @property
    def at_once(self) -> bool:
        """Whether nothing may be waited for."""
        return self.terminations > 1


def supervise(order: Order, senders: int, wishes: Wishes) -> None:
    """Run all senders to their end."""
    order.evidence_dir.mkdir(parents=True, exist_ok=True)
    for name in (_STARTED, _OUTCOME):
        # what an earlier attempt left must not be taken for ours
        (order.evidence_dir / name).unlink(missing_ok=True)
    context = multiprocessing.get_context("spawn")
    gate = Gate(context, order.slots_max)
    crew = Crew(wishes)
    try:
        for index in range(senders):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_sender_main,
                args=(order, Share(index, senders), gate, theirs, os.getpid()),
                name=f"publisher-{index}",
            )
            # a new process has no handlers yet: what comes now waits for the parent
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
            process.start()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            theirs.close()
            crew.add(process, ours)
        facts = crew.gather_ready()[0].facts
        _warn_of_bad_lines(facts.report)
        if order.go_file is not None:
            crew.wait_for_go(order.go_file)
        head = _start(order, crew, gate, facts)
        done = crew.gather_done(gate)
        _write_outcome(order, facts, head, done)
        crew.join()
    finally:
        crew.kill()


def senders_for(rate: int, asked: int, cores: int) -> int:
    """How many senders: as many as were asked for, or as few as the rate allows."""
    return asked or max(1, min(math.ceil(rate / SENDER_RATE_MAX), cores))


def _warn_of_bad_lines(report: SourceReport) -> None:
    if report.bad_lines:
        examples = "; ".join(report.bad_examples)
        print(
            f"publisher: {report.bad_lines} bad lines in {report.name} were left out: {examples}",
            file=sys.stderr,
            flush=True,
        )


def _start(order: Order, crew: Crew, gate: Gate, facts: Facts) -> dict[str, Any]:
    """Fix the common start and say it, before anything is due."""
    if facts.slots is not None:
        gate.limit(facts.slots)
    before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    start_ns = after_ns + START_AHEAD_NS
    head = {
        "first_due_ms": (wall_ns + start_ns - (before_ns + after_ns) // 2) / 1e6,
        "event_start_s": facts.event_start_s,
        "slot_ms": order.slot_ms,
        "records_per_slot": facts.records_per_slot,
        "locations": facts.locations,
        "processes": len(crew),
    }
    crew.tell(start_ns)
    write_json(order.evidence_dir / _STARTED, head)
    return head


def _write_outcome(
    order: Order, facts: Facts, head: Mapping[str, Any], done: Sequence[Done]
) -> None:
    last_slots = {message.last_slot for message in done}
    if len(last_slots) != 1:
        raise ServiceFailed(f"senders ended with different slots: {sorted(last_slots)}")
    totals = sum((message.totals for message in done), Totals())
    outcome = {
        "schema": SCHEMA,
        **head,
        **asdict(totals),
        "last_slot": last_slots.pop(),
        "source": facts.report.to_json(),
    }
    write_json(order.evidence_dir / _OUTCOME, outcome)


def _sender_main(order: Order, share: Share, gate: Gate, pipe: Connection, parent: int) -> None:
    # the parent tells when to stop, through the gate
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
    # here, so that the parent need not load pyarrow and the Kafka client
    from publisher.sender_process import run_sender

    run_sender(order, share, gate, pipe)


class Crew:
    """The senders and what they say."""

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []

    def add(self, process: BaseProcess, pipe: Connection) -> None:
        """One more sender."""
        self._processes.append(process)
        self._pipes.append(pipe)

    def __len__(self) -> int:
        return len(self._processes)

    def tell(self, start_ns: int) -> None:
        """Give all the common start."""
        for pipe in self._pipes:
            pipe.send(start_ns)

    def gather_ready(self) -> list[Ready]:
        """Wait until all are prepared."""
        deadline_s = time.monotonic() + PREPARE_S_MAX
        ready: dict[int, Ready] = {}
        while len(ready) < len(self._pipes):
            if self._wishes.stop:
                raise ServiceFailed(_STOPPED_EARLY)
            if time.monotonic() > deadline_s:
                raise ServiceFailed(
                    f"{len(ready)} of {len(self._pipes)} senders ready after {PREPARE_S_MAX:g} s"
                )
            for index, message in self._hear(ready):
                if isinstance(message, Ready):
                    ready[index] = message
        return [ready[index] for index in sorted(ready)]

    def wait_for_go(self, file: Path) -> None:
        """Wait until whoever runs this says that input may begin."""
        deadline_s = time.monotonic() + GO_S_MAX
        while not file.exists():
            self._hear({}, _GO_LOOK_S)
            if self._wishes.stop:
                raise ServiceFailed(_STOPPED_EARLY)
            if time.monotonic() > deadline_s:
                raise ServiceFailed(f"prepared, and not told to begin within {GO_S_MAX:g} s")

    def gather_done(self, gate: Gate) -> list[Done]:
        """Wait until all have sent their last slot; close the gate when a signal asks for it."""
        done: dict[int, Done] = {}
        closed = False
        while len(done) < len(self._pipes):
            if self._wishes.at_once:
                raise ServiceFailed("stopped at once, by a second SIGTERM: no evidence was written")
            if self._wishes.stop and not closed:
                gate.close()
                closed = True
            for index, message in self._hear(done):
                if isinstance(message, Done):
                    done[index] = message
        return [done[index] for index in sorted(done)]

    def _hear(self, heard: dict[int, Any], wait_s: float = _LOOK_S) -> list[tuple[int, Message]]:
        """What senders that were not heard yet say now; a failed or dead one ends all."""
        silent = {pipe: i for i, pipe in enumerate(self._pipes) if i not in heard}
        messages: list[tuple[int, Message]] = []
        for pipe in wait(list(silent), timeout=wait_s):
            index = silent[pipe]  # type: ignore[index]
            try:
                message: Message = self._pipes[index].recv()
            except (EOFError, ConnectionResetError):
                self._processes[index].join(_JOIN_S_MAX)
                code = self._processes[index].exitcode
                raise ServiceFailed(f"sender {index} died with exit code {code}") from None
            if isinstance(message, Failed):
                kind = UsageError if message.exit_code == UsageError.exit_code else ServiceFailed
                raise kind(message.says)
            messages.append((index, message))
        return messages

    def join(self) -> None:
        """Wait for the processes to be gone."""
        for process in self._processes:
            process.join(_JOIN_S_MAX)

    def kill(self) -> None:
        """End what still runs."""
        for process in self._processes:
            if process.is_alive():
                process.kill()
            process.join(_JOIN_S_MAX)
