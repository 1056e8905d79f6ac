"""Write what goes along with a published campaign: how to cite it, its machine, what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

AUTHORS = "The Tollgate contributors"
#: the method's paper, as the Citation File Format has it; the checkout's own CITATION.cff holds it
METHOD = """\
references:
  - type: conference-paper
    title: >-
      Latency measurement of fine-grained operations in benchmarking
      distributed stream processing frameworks
    authors:
      - name-particle: van
        family-names: Dongen
        given-names: G.
      - family-names: Steurtewagen
        given-names: B.
      - family-names: Van den Poel
        given-names: D.
    collection-title: "IEEE International Congress on Big Data 2018"
    conference:
      name: "IEEE International Congress on Big Data 2018"
    year: 2018
    start: "247"
    end: "250"
"""
GIB = 1024**3

_TOPICS_THERE = """\
`store/<run>/` holds the topics as they were collected, and the verdict on each output:
verification judges every output again and rebuilds the samples from them.\
"""
_TOPICS_LEFT_OUT = """\
The collected topics are left out (`SLIM=1`): verification computes every figure again from
the samples, but takes the verdicts on outputs as they were found.\
"""


def citation(campaign: dict[str, Any]) -> str:
    """CITATION.cff of the campaign as a data set."""
    pins = campaign.get("pins") or {}
    name = str(campaign["campaign_id"])
    told = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them, and the paper of their method.",
        "type": "dataset",
        "title": f"{campaign.get('question')} Tollgate campaign {name}",
        "version": str(pins.get("tollgate")),
        "date-released": str(campaign.get("ended_at"))[:10],
        "abstract": (
            f"Latencies of the stages of a streaming pipeline, measured by Tollgate "
            f"{pins.get('tollgate')} in campaign {name}: samples, evidence and report."
        ),
    }
    # a JSON string is a YAML one
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in told.items()]
    authors = f'authors:\n  - name: "{AUTHORS}"\n'
    return "\n".join(lines) + "\n" + authors + METHOD


def machine(campaign: dict[str, Any]) -> str:
    """MACHINE.md: where the campaign was run and what with."""
    return "\n".join(
        [
            "# Where and with what this was measured",
            "",
            f"Campaign {campaign['campaign_id']}, from {campaign.get('started_at')} to "
            f"{campaign.get('ended_at')}.",
            "",
            "## The machine",
            "",
            *_machine(campaign.get("machine") or {}),
            "",
            "## What was measured with",
            "",
            *_pins(campaign.get("pins") or {}),
            *_variants(campaign.get("variants") or []),
            "",
            "The services of each run, their settings and limits stand in its `run.json`.",
            "",
        ]
    )


def _machine(told: dict[str, Any]) -> Iterator[str]:
    memory = told.get("memory_bytes")
    gib = f"{memory / GIB:.1f} GiB" if isinstance(memory, int | float) else "unknown"
    yield f"- processor: {_known(told.get('cpu_model'))}, {_known(told.get('cores'))} cores"
    yield f"- memory: {gib}"
    yield f"- system: {_known(told.get('os'))}, kernel {_known(told.get('kernel'))}"
    yield f"- virtualization: {_known(told.get('virtualization'))}"
    yield f"- Python {_known(told.get('python'))}, Java {_known(told.get('java'))}"


def _pins(told: dict[str, Any]) -> Iterator[str]:
    shown = ("tollgate", "git_commit", "git_dirty")
    version, commit = (_known(told.get(name)) for name in shown[:2])
    changed = ", with changes that were not committed" if told.get("git_dirty") else ""
    yield f"- Tollgate {version}, commit {commit}{changed}"
    for name, value in told.items():
        if name not in shown and value is not None:
            yield f"- {name}: {_listed(value)}"


def _variants(told: list[dict[str, Any]]) -> Iterator[str]:
    for variant in told:
        names = ("engine", "engine_version", "mode", "dialect")
        yield f"- measured: {' '.join(_known(variant.get(name)) for name in names)}"


def _known(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_listed(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(_listed(v) for v in value) or "none"
    return _known(value)


def readme(campaign: dict[str, Any], file_name: str, *, slim: bool) -> str:
    """README.md: what this is, and how to see whether it holds."""
    name, pins = campaign["campaign_id"], campaign.get("pins") or {}
    version = f"{pins.get('tollgate')}, commit {pins.get('git_commit')}"
    runs = len(campaign.get("runs") or [])
    topics = _TOPICS_LEFT_OUT if slim else _TOPICS_THERE
    return f"""\
# {campaign.get("question")}

Campaign {name} of Tollgate, {runs} runs. `report.html` holds the answer and needs no network.

- `campaign.json`: question, settings, machine, pins, figures, hashes; `MACHINE.md`: the machine
- `runs/<n>-<stage>/`: what each run left: `run.json`, `latency.parquet` (a row a measured output),
  `slots.parquet`, `resources.parquet`, logs, and `evidence/`, by which it was judged
- `CITATION.cff`: how to cite it; `MANIFEST.sha256`: the hash of every file (`sha256sum -c`)

{topics}

## Verify

In a checkout of Tollgate {version}; neither Kafka nor Spark is needed:

```
./tollgate verify {file_name}
```
"""
