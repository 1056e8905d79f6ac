"""Evaluate one run, from its topics in the store and its evidence to its run.json."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from contract.errors import TollgateError
from contract.results import RunFolder, read_json, write_json
from contract.workload import load_workload
from evaluator.collector import collect
from evaluator.doubts import find_doubts, is_valid
from evaluator.evidence import Evidence
from evaluator.findings import Findings, look
from evaluator.gather import gather
from evaluator.hadoop import Hadoop
from evaluator.latency import write_latency
from evaluator.monitoring import bring_resources
from evaluator.resources import write_resources
from evaluator.run_json import run_json
from evaluator.slots import slot_rows, write_slots
from evaluator.store import Store
from evaluator.tally import tally


def evaluate_run(
    hadoop: Hadoop,
    run_dir: Path,
    store_address: str,
    campaign_id: str,
    *,
    collecting: bool,
    kept: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[bool, dict[str, float]]:
    """Collect the topics if asked, evaluate them, write the run's files, run.json last.

    A run that failed is evaluated as far as its data go. Gives whether the run is valid, and
    how long the phases took. `kept` is a store that the run's folder is copied to at the end.
    """
    run = RunFolder(run_dir)
    if collecting:
        bring_resources(run.evidence, read_json(run.conditions))
    evidence = Evidence.read(run)
    store = Store(hadoop, store_address, campaign_id, run_dir.name)
    phases_s: dict[str, float] = {}
    not_collected = None
    began = clock()
    try:
        if collecting:
            try:
                with store.receiving() as folder:
                    collect(evidence.conditions, folder)
            finally:
                phases_s["collect"] = round(clock() - began, 3)
                began = clock()
        findings = look(evidence, store, run)
    except TollgateError as error:
        not_collected = str(error)
        findings = Findings.none(write_latency([], run.latency, []))
    workload = load_workload(evidence.conditions["workload"])
    stage = workload.stage(evidence.conditions["stage"])
    counted = tally(findings.verdicts, stage, evidence.axis, findings.appended.malformed)
    rows = slot_rows(
        evidence.axis,
        evidence.sent,
        findings.appended.of_slot,
        findings.verdicts,
        findings.measured.of_slot,
    )
    write_slots(run.slots, rows)
    write_resources(run.resources, evidence)
    facts = gather(evidence, findings, counted, rows, not_collected)
    doubts = find_doubts(facts)
    phases_s["evaluate"] = round(clock() - began, 3)
    value = run_json(evidence, findings, counted, rows, doubts, phases_s, not_collected)
    write_json(run.run_json, value)
    if kept is not None and not_collected is None:
        store.copy_to(kept)
    return is_valid(doubts), phases_s
