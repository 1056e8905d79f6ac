"""The publisher as a program: its input is the environment, its output is Kafka and evidence."""

from __future__ import annotations

import importlib
import os
import signal
import sys

from contract.errors import ExitCode, TollgateError
from contract.workload import load_workload
from publisher.order import Order
from publisher.supervising import Wishes, senders_for, supervise


def look() -> int:
    """Only see whether SOURCE of WORKLOAD holds anything that could be published."""
    try:
        workload = load_workload(os.environ.get("WORKLOAD", ""))
        module = importlib.import_module(f"publisher.workloads.{workload.name}")
        module.look_at(os.environ.get("SOURCE", ""))
    except TollgateError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return ExitCode.VALID


def main() -> int:
    """Publish until SLOTS_MAX slots are sent or a signal asks to stop."""
    wishes = Wishes()
    signal.signal(signal.SIGTERM, wishes.note)
    signal.signal(signal.SIGINT, wishes.note)
    try:
        order = Order.from_environment(os.environ)
        cores = len(os.sched_getaffinity(0))
        supervise(order, senders_for(order.rate, order.publishers, cores), wishes)
    except TollgateError as error:
        print(f"publisher: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    except OSError as error:
        print(f"publisher: {error}", file=sys.stderr, flush=True)
        return ExitCode.FAILURE
    return ExitCode.VALID


if __name__ == "__main__":
    sys.exit(look() if sys.argv[1:] == ["look"] else main())
