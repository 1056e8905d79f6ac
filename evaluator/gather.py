"""Gather the facts in which doubts are found; doubt nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluator.evidence import Evidence
from evaluator.facts import Facts
from evaluator.findings import Findings
from evaluator.tally import Tally


def gather(
    evidence: Evidence,
    findings: Findings,
    counted: Tally,
    slots: Sequence[dict[str, Any]],
    not_collected: str | None,
) -> Facts:
    """From the witnesses' evidence and what the topics say."""
    told, axis = evidence.conditions, evidence.axis
    last = findings.measured.of["last"]
    measured = [row for row in slots if row["measured"]] or list(slots)
    medians = [row["last_p50_ms"] for row in slots if row["measured"]]
    types = told.get("timestamp_types") or {}
    leaders = told.get("leaders") or {}
    span = axis.span_ms
    return Facts(
        leaders_before=leaders.get("before") or [],
        leaders_after=leaders.get("after"),
        clock_broker=told.get("clock_broker"),
        declared_types={**(types.get("before") or {}), **(types.get("after") or {})},
        collected_types=findings.clock.timestamp_types,
        clock_step_ms=told.get("clock_step_ms") or 0.0,
        append_back_ms=findings.clock.back_ms_max,
        last_ms_min=findings.last_ms_min,
        scheduled=sum(row["scheduled"] for row in measured) if evidence.publisher else None,
        # malformed records were appended too, though nobody can say to which slot they belong
        appended=sum(row["appended"] for row in measured) + findings.appended.malformed,
        late_ms_p99=evidence.sent.late_ms.quantile_if_any(0.99),
        disorder_ms=findings.appended.disorder_ms_max,
        disorder_ms_max=told.get("disorder_ms_max"),
        missing=counted.missing or 0,
        duplicate=counted.duplicate,
        wrong=counted.wrong,
        unexpected=counted.unexpected,
        delivery=told.get("delivery") or "exactly-once",
        fault_injected=bool(told.get("fault_injected")),
        deaths=told.get("deaths") or [],
        not_collected=not_collected,
        interrupted=bool(told.get("interrupted")),
        never_ready=told.get("never_ready"),
        measured=span is not None,
        drained=told.get("drained") is not False,
        drain_says=told.get("drain_says") or "",
        came=sum(row["outputs"] for row in slots if row["measured"]),
        put_out=0 if span is None else findings.put_out_within(span),
        slot_medians_ms=[median for median in medians if median is not None],
        last_ms_p50=last.quantile_if_any(0.5),
        due_ms_p50=findings.measured.of["due"].quantile_if_any(0.5),
        samples=last.count,
        hasty=findings.measured.hasty,
        hasty_ms_max=findings.measured.hasty_ms_max,
        stalled=findings.measured.stalled,
        window_s=None if span is None else (span[1] - span[0]) / 1000,
        checkpoint_s=told.get("checkpoint_s"),
        **_host(evidence),
    )


def _host(evidence: Evidence) -> dict[str, Any]:
    looks = evidence.machine_measured()
    cores = evidence.conditions.get("cores") or 1
    shares: dict[str, Any] = dict.fromkeys(("busy_share", "steal_share", "foreign_share"))
    if looks:
        of = {
            name: sum(look.get(f"{name}_cores") or 0.0 for look in looks) / len(looks) / cores
            for name in ("busy", "steal", "ours")
        }
        foreign = max(0.0, of["busy"] - of["ours"])
        shares = {"busy_share": of["busy"], "steal_share": of["steal"], "foreign_share": foreign}
    swapped = [look.get("swap_out_bytes") or 0 for look in evidence.machine]
    free = [look["disk_free_bytes"] for look in evidence.machine if look.get("disk_free_bytes")]
    return {
        **shares,
        "stood_in": evidence.stood_in(),
        "unseen": evidence.unseen(),
        "monitoring": bool(evidence.conditions.get("monitoring")) and bool(evidence.resources),
        "swapped_bytes": swapped[-1] - swapped[0] if swapped else 0,
        "disk_free_bytes": min(free, default=None),
    }
