"""Put together run.json from evidence and findings; find nothing out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contract.doubts import Doubt
from contract.results import SCHEMA, TOLD
from evaluator.doubts import is_valid
from evaluator.evidence import Evidence
from evaluator.findings import Findings
from evaluator.resources import summarise
from evaluator.sent import LATE_QUANTILES
from evaluator.stalls import stalls_to_json
from evaluator.tally import Tally


def run_json(
    evidence: Evidence,
    findings: Findings,
    counted: Tally,
    slots: Sequence[dict[str, Any]],
    doubts: Sequence[Doubt],
    phases_s: dict[str, float],
    not_collected: str | None,
) -> dict[str, Any]:
    """All keys are always there; null where unknown."""
    told = evidence.conditions
    outputs = counted.to_json()
    if not_collected is not None:
        outputs = dict.fromkeys(outputs)
    return {
        "schema": SCHEMA,
        **{name: told.get(name) for name in TOLD},
        "delivery": told.get("delivery"),
        "checkpoint_s": told.get("checkpoint_s"),
        "valid": is_valid(list(doubts)),
        "doubts": [doubt.to_json() for doubt in doubts],
        "failure": _failure(told, not_collected),
        "window": _window(evidence),
        "outputs": outputs,
        "at_fault": findings.at_fault,
        "latency_ms": findings.measured.to_json(),
        "stalls": stalls_to_json(findings.stalls),
        "stall_list": [stall.to_json() for stall in findings.stalls],
        "throughput": _throughput(evidence, findings, slots),
        "publisher": _publisher(evidence),
        "resources": summarise(evidence),
        "phases_s": {
            **dict.fromkeys(("set_up", "start", "warm_up", "measure", "drain", "collect")),
            **(told.get("phases_s") or {}),
            **phases_s,
        },
    }


def _failure(told: dict[str, Any], not_collected: str | None) -> dict[str, Any] | None:
    for death in told.get("deaths") or []:
        how = death.get("says") or f"ended with exit code {death.get('exit_code')}"
        says = f"{death['service']} died: it {how}"
        log_tail = death.get("log_tail") or []
        return {"service": death["service"], "says": says, "log_tail": log_tail}
    if not_collected is not None:
        return {"service": "kafka", "says": not_collected, "log_tail": []}
    return None


def _window(evidence: Evidence) -> dict[str, Any] | None:
    axis = evidence.axis
    if axis.span_ms is None:
        return None
    return {
        "first_slot": axis.first_measured,
        "last_slot": axis.last_measured,
        "start_ms": axis.span_ms[0],
        "end_ms": axis.span_ms[1],
    }


def _throughput(
    evidence: Evidence, findings: Findings, slots: Sequence[dict[str, Any]]
) -> dict[str, float | None]:
    """Inputs by slot; outputs by when they were appended: what the engine really put out."""
    span = evidence.axis.span_ms
    if span is None or not findings.appended.of_slot:
        return {"input_per_s": None, "output_per_s": None}
    seconds = (span[1] - span[0]) / 1000
    inputs = sum(row["appended"] for row in slots if row["measured"])
    return {
        "input_per_s": inputs / seconds,
        "output_per_s": findings.put_out_within(span) / seconds,
    }


def _publisher(evidence: Evidence) -> dict[str, Any]:
    told = evidence.publisher or {}
    names = ("scheduled", "sent", "acknowledged")
    late = evidence.sent.late_ms
    late_ms = {name: late.quantile_if_any(q) for name, q in LATE_QUANTILES}
    return {**{name: told.get(name) for name in names}, "late_ms": late_ms}
