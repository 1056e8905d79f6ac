"""Run one sender: prepare, say so, wait for the common start, send slot after slot, tell."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from multiprocessing.connection import Connection

import publisher.workloads
from contract.errors import ExitCode, ServiceFailed, TollgateError, unknown_name
from publisher.audit import Ledger, write_parquet
from publisher.gate import Gate
from publisher.messages import GO_S_MAX, PREPARE_S_MAX, Done, Failed, Ready
from publisher.order import Order
from publisher.raw import open_source as open_raw
from publisher.sending import Sender, connect, make_client
from publisher.source import Share, Source

#: the parent has all other senders to wait for, each of which may read long files, and its word
START_S_MAX = PREPARE_S_MAX + GO_S_MAX


def open_source(order: Order, share: Share) -> Source:
    """Prepare a sender's share of the source that the order names."""
    if order.raw_path is not None:
        return open_raw(order, share)
    known = [module.name for module in pkgutil.iter_modules(publisher.workloads.__path__)]
    if order.workload not in known:
        raise unknown_name("workload", order.workload, known)
    module = importlib.import_module(f"publisher.workloads.{order.workload}")
    source: Source = module.open_source(order, share)
    return source


def run_sender(order: Order, share: Share, gate: Gate, pipe: Connection) -> None:
    """Do one sender's whole work; what goes wrong is told to the parent."""
    try:
        pipe.send(_run(order, share, gate, pipe))
    except TollgateError as error:
        pipe.send(Failed(error.exit_code, str(error)))
    except OSError as error:
        pipe.send(Failed(ExitCode.FAILURE, f"sender {share.index}: {error}"))


def _run(order: Order, share: Share, gate: Gate, pipe: Connection) -> Done:
    spool_path = order.evidence_dir / f".publisher-{share.index}.spool"
    with spool_path.open("wb") as spool:
        source = open_source(order, share)
        ledger = Ledger(spool)
        client = make_client(order, share.index)
        connect(client, order)
        sender = Sender(client, ledger)
        # nothing below makes cycles: a collection would only hold the schedule up
        gc.collect()
        gc.freeze()
        gc.disable()
        pipe.send(Ready(source.facts))
        if not pipe.poll(START_S_MAX):
            raise ServiceFailed(f"sender {share.index}: no start within {START_S_MAX:g} s")
        sender.start(pipe.recv())
        last_slot = send_slots(sender, source, gate, order.slot_ns)
        sender.finish()
        client.close()
        totals = ledger.close()
    write_parquet(spool_path, order.evidence_dir / f"publisher-{share.index}.parquet")
    return Done(totals, last_slot)


def send_slots(sender: Sender, source: Source, gate: Gate, slot_ns: int) -> int:
    """Send slot after slot until the gate is closed; gives the last one, -1 for none."""
    slot = 0
    while not gate.is_past(slot):
        # a slot begins no earlier than it is due: the gate closes after the furthest one begun
        due = source.due(slot)
        sender.wait_for(slot * slot_ns)
        if not gate.begin(slot):
            break
        sender.send(slot, due)
        slot += 1
    return slot - 1
