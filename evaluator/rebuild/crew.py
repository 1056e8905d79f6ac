"""Do many pieces of work with all cores, and leave no process behind whatever happens.

A pool of the library's own waits for ever for a worker that was killed for its memory; and on an
interruption its workers each print a trace.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from contract.errors import ServiceDied

Order = TypeVar("Order")
Answer = TypeVar("Answer")
#: a worker that was told to end does so at once; this is for a machine that swaps
_END_S = 10.0


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def each(
    work: Callable[[Order], Answer], orders: Sequence[Order], workers: int
) -> Generator[tuple[int, Answer], None, None]:
    """The place of each order and its answer, as they come; a single one is done right here."""
    if min(len(orders), workers) < 2:
        for place, order in enumerate(orders):
            yield place, work(order)
        return
    with _crew(work, min(len(orders), workers)) as crew:
        waiting = iter(enumerate(orders))
        busy: dict[Connection, int] = {}
        for _, connection in crew:
            _give(connection, waiting, busy)
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                place = busy.pop(ready)
                yield place, _answer_of(ready)
                _give(ready, waiting, busy)


def _give(
    connection: Connection, waiting: Iterator[tuple[int, Any]], busy: dict[Connection, int]
) -> None:
    for place, order in waiting:
        connection.send(order)
        busy[connection] = place
        return


def _answer_of(connection: Connection) -> Any:
    try:
        return connection.recv()
    except (EOFError, ConnectionResetError):
        says = "a process that verified a run was killed; was there too little memory?"
        raise ServiceDied(says) from None


@contextmanager
def _crew(
    work: Callable[[Any], Any], number: int
) -> Iterator[list[tuple[SpawnProcess, Connection]]]:
    """Workers, started afresh: nothing of this process's threads or signals is in them."""
    context = multiprocessing.get_context("spawn")
    # what the library starts for itself would end the holding of interruptions, were it later
    resource_tracker.ensure_running()
    crew: list[tuple[SpawnProcess, Connection]] = []
    try:
        for _ in range(number):
            mine, theirs = context.Pipe()
            worker = context.Process(target=_serve, args=(work, theirs), daemon=True)
            with _interruptions_held():
                worker.start()
                crew.append((worker, mine))
            theirs.close()
        yield crew
    finally:
        for worker, _ in crew:
            worker.terminate()
        for worker, connection in crew:
            worker.join(_END_S)
            if worker.is_alive():
                worker.kill()
            connection.close()


@contextmanager
def _interruptions_held() -> Iterator[None]:
    """Ctrl-C is this process's to hear: what is started in here never does, this one after it."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _serve(work: Callable[[Any], Any], orders: Connection) -> None:
    """A worker: does what it is given until nobody gives any more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            order = orders.recv()
        except EOFError:
            return
        orders.send(work(order))


def _end_with_parent() -> None:
    """Whoever started this may be killed without a chance to say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
