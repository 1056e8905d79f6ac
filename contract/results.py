"""Where a campaign keeps what, and the columns of its tables. The shapes are in docs/results.md.

results/<campaign>/
  conditions.json                what the conductor knows: question, settings, machine, pins, runs
  campaign.json                  written last, by the evaluator: conditions, prices, hashes
  report.html
  runs/<n>-<stage>/
    run.json latency.parquet slots.parquet resources.parquet logs/
    evidence/                    what the run was judged by, as its witnesses wrote it
      conditions.json            the conductor's: window, leaders, clock, deaths, phases
      publisher.json             the publisher's: what it sent
      publisher-<i>.parquet      one row a record: slot, due_us, late_us, ack_us
      resources.jsonl            one line a service a second
      processes.jsonl            in containers: the same as seen from outside, by this machine
      engine-statistics.jsonl    in containers: what the Docker engine itself counted
      machine.jsonl              one line a second
      progress.jsonl             ends of the topics over time
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = 2
#: as a store: the one beside the campaign, told from its folder, for what is published names no
#: folder of the machine where it was made
BESIDE = "file:../store"

#: what run.json repeats from the conductor's conditions, word for word
TOLD = (
    "run_id",
    "workload",
    "stage",
    "engine",
    "engine_version",
    "mode",
    "dialect",
    "runtime",
    "settings",
    "engine_services",
    "limits",
    "images",
)
ATTRIBUTIONS = ("mean", "last", "due")
#: what `mean` is made of, in the order of time: until the last input is there, until the window
#: may close, and what the engine added
PARTS = ("gathering", "residence", "engine")
MEASURES = (*ATTRIBUTIONS, *PARTS)
QUANTILES: tuple[tuple[str, float], ...] = (
    ("p5", 0.05),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
)

#: name → Parquet type, in order
LATENCY_COLUMNS: tuple[tuple[str, str], ...] = (
    ("location", "string"),
    ("lane", "string"),
    ("kind", "string"),
    ("slot", "int32"),
    ("input_mean_ms", "double"),
    ("input_last_ms", "int64"),
    ("due_ms", "double"),
    # when the first record of a later slot was appended: before it no window of this slot may
    # close; null where nothing waits for a window's end
    ("window_end_ms", "int64"),
    ("output_ms", "int64"),
    ("in_stall", "bool"),
)
SLOTS_COLUMNS: tuple[tuple[str, str], ...] = (
    ("slot", "int32"),
    ("due_ms", "double"),
    ("measured", "bool"),
    ("scheduled", "int64"),
    ("sent", "int64"),
    ("acknowledged", "int64"),
    ("appended", "int64"),
    ("expected", "int64"),
    ("outputs", "int64"),
    ("late_p50_ms", "double"),
    ("late_p99_ms", "double"),
    ("late_max_ms", "double"),
    ("last_p5_ms", "double"),
    ("last_p50_ms", "double"),
    ("last_p95_ms", "double"),
    ("last_max_ms", "double"),
)
RESOURCES_COLUMNS: tuple[tuple[str, str], ...] = (
    ("service", "string"),
    ("at_ms", "int64"),
    ("cpu_cores", "double"),
    ("memory_bytes", "int64"),
    ("net_in_bytes", "int64"),
    ("net_out_bytes", "int64"),
    ("source", "string"),
)
#: what `inputs` and `outputs` in the store hold: the topics as collected
COLLECTED_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "timestamp_ms",
    "timestamp_type",
    "key",
    "value",
)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def run_json(self) -> Path:
        return self.path / "run.json"

    @property
    def latency(self) -> Path:
        return self.path / "latency.parquet"

    @property
    def slots(self) -> Path:
        return self.path / "slots.parquet"

    @property
    def resources(self) -> Path:
        return self.path / "resources.parquet"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def evidence(self) -> Path:
        return self.path / "evidence"

    @property
    def conditions(self) -> Path:
        return self.evidence / "conditions.json"


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """The files of one campaign."""

    path: Path

    @property
    def conditions(self) -> Path:
        return self.path / "conditions.json"

    @property
    def campaign_json(self) -> Path:
        return self.path / "campaign.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def run(self, number: int, stage: str) -> RunFolder:
        """The folder of the campaign's run of that number."""
        return RunFolder(self.path / "runs" / f"{number}-{stage}")

    def runs(self) -> list[RunFolder]:
        """The runs there are, in their order."""
        found = [p for p in (self.path / "runs").glob("*-*") if p.is_dir()]
        return [RunFolder(p) for p in sorted(found, key=lambda p: int(p.name.split("-", 1)[0]))]


def why_no_campaign(path: Path) -> str:
    """The sentence that tells whoever named it what it is instead."""
    if not path.exists():
        return f"{path} is no campaign: there is no such file or folder"
    if path.is_file():
        return f"{path} is no campaign but a file; verify takes an archive, others its folder"
    if CampaignFolder(path).conditions.exists():
        return f"{path} is no campaign yet: it was not finished, and has no campaign.json"
    return f"{path} is no campaign: it has no campaign.json"


def write_json(path: Path, value: Any) -> None:
    """Write whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    draft.replace(path)


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The lines of a JSON-lines file; none where there is no file; a cut last line is left out."""
    if not path.exists():
        return []
    rows: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
