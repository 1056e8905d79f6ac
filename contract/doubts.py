"""The doubts there are, how grave each is, and the thresholds at which they arise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["invalid", "warning"]

SEVERITIES: dict[str, Severity] = {
    "leader-moved": "invalid",
    "not-log-append-time": "invalid",
    "clock-stepped": "invalid",
    "output-before-input": "invalid",
    "publisher-late": "invalid",
    "publisher-disordered": "invalid",
    "outputs-wrong": "invalid",
    "window-not-kept": "invalid",
    "not-sustained": "invalid",
    "engine-died": "invalid",
    "broker-died": "invalid",
    "interrupted": "invalid",
    "host-saturated": "warning",
    "noisy-host": "warning",
    "late-publisher": "warning",
    "few-checkpoints": "warning",
    "few-samples": "warning",
    "mostly-stalled": "warning",
    "few-runs": "warning",
    "warming": "warning",
    "no-monitoring": "warning",
    "monitoring-stood-in": "warning",
    "swapping": "warning",
    "low-disk": "warning",
}

APPENDED_SHARE_MIN = 0.999
LATE_MS_P99_MAX = 50.0
#: lateness that a publisher undisturbed stays far below (its tick is 1.6 ms), and from what share
#: of `due`, of which it is a part, it is worth a word (docs/decisions/0016)
LATE_MS_P99_NOTED = 5.0
LATE_SHARE_OF_DUE = 0.10
CLOCK_STEP_MS_MAX = 50.0
DRIFT_SHARE_OF_MEDIAN = 0.25
DRIFT_MS_MIN = 25.0
#: a fall from the window's first to its last third by more than this is no warming: work from
#: before the window was still being worked off (docs/decisions/0007)
FALL_SHARE_OF_MEDIAN = 1.0
FALL_MS_MIN = 250.0
#: with less of the outputs of measured slots put out before the window's end (of whatever slot)
#: the engine did not answer while it was measured (docs/decisions/0007)
PUT_OUT_SHARE_MIN = 0.5
HOST_BUSY_SHARE = 0.90
HOST_NOISE_SHARE = 0.05
CHECKPOINTS_MIN = 3
RUNS_MIN = 3
#: brokers stamp whole milliseconds
CLOCK_GRAIN_MS = 1.0
#: of every interval that is told
CONFIDENCE = 0.95
SAMPLES_BEYOND_QUANTILE = 10
STALL_GAP_MS_MIN = 100.0
STALL_GAP_MEDIANS = 10.0
#: with more of the outputs in stalls, what is told of those outside is not the engine's figure
STALLED_SHARE_MAX = 0.25
WARMING_SHARE = 0.25
#: milliseconds that a broker's clock cannot tell are no warming
WARMING_MS_MIN = 2.0
DISK_FREE_BYTES_MIN = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason not to trust a run, said in a sentence."""

    id: str
    says: str

    def __post_init__(self) -> None:
        if self.id not in SEVERITIES:
            raise ValueError(f"no such doubt: {self.id}")

    @property
    def severity(self) -> Severity:
        return SEVERITIES[self.id]

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "severity": self.severity, "says": self.says}
