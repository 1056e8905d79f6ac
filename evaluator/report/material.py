"""Read a campaign's folder into what the report shows; compute no verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.errors import UsageError
from contract.results import CampaignFolder, RunFolder, read_json
from contract.variant import Variant, name_among
from contract.workload import load_workload, workload_names
from evaluator.quantities import Floats, flags, floats
from evaluator.report.words import dig, mapping, number, rows_of

#: the columns of latency.parquet that the report draws
DRAWN = ["input_last_ms", "output_ms", "in_stall"]


@dataclass(frozen=True, slots=True)
class Samples:
    """The measured outputs of a run, in the order of their append."""

    output_ms: Floats
    input_last_ms: Floats
    last_ms: Floats
    outside_stalls_ms: Floats


@dataclass(frozen=True, slots=True)
class RunView:
    """One run: what its files say, as far as they exist."""

    name: str
    stage: str
    #: None where it left nothing that tells
    variant: Variant | None
    repetition: int
    run: dict[str, Any]
    samples: Samples | None
    slots: pa.Table | None
    resources: pa.Table | None
    sent: dict[str, Any]
    late_ms: Floats

    @property
    def valid(self) -> bool:
        return self.run.get("valid") is True

    @property
    def title(self) -> str:
        return f"{self.stage}, run {self.name.split('-', 1)[0]}"

    @property
    def origin_ms(self) -> float | None:
        """When slot 0 was due: where the time axes begin."""
        if self.slots is None or not self.slots.num_rows:
            return number(dig(self.run, "window", "start_ms"))
        return float(np.nanmin(floats(self.slots, "due_ms")))

    @property
    def reasons(self) -> list[str]:
        """Why its figures must not be trusted, in sentences."""
        said = [
            str(d.get("says"))
            for d in rows_of(self.run.get("doubts"))
            if d.get("severity") == "invalid"
        ]
        if not self.run:
            return ["It left no run.json."]
        return said or ([] if self.valid else ["No reason was written down."])

    def figure(self, attribution: str, quantile: str) -> float | None:
        """One figure of `latency_ms`."""
        return number(dig(self.run, "latency_ms", attribution, quantile))


@dataclass(frozen=True, slots=True)
class StageView:
    """All runs of one stage, and the campaign's figures for it."""

    name: str
    #: its place in the workload, which gives it its colour
    rank: int
    runs: tuple[RunView, ...]
    figures: dict[str, dict[str, Any]]
    price: dict[str, Any] | None

    @property
    def trusted_runs(self) -> list[RunView]:
        return [r for r in self.runs if r.valid]

    @property
    def trusted(self) -> bool:
        return bool(self.trusted_runs)

    @property
    def shown_runs(self) -> list[RunView]:
        """The runs that its pooled figures are made of: the valid ones, or all if none is."""
        return self.trusted_runs or list(self.runs)

    def pooled(self, outside_stalls: bool = False) -> Floats:
        """The latencies of its shown runs, in one."""
        found = [r.samples for r in self.shown_runs if r.samples is not None]
        parts = [s.outside_stalls_ms if outside_stalls else s.last_ms for s in found]
        return np.concatenate(parts) if parts else np.empty(0)


@dataclass(frozen=True, slots=True)
class Campaign:
    """Everything the report is made of; or the part of it that belongs to one variant."""

    path: Path
    json: dict[str, Any]
    #: of the one variant
    stages: tuple[StageView, ...]
    runs: tuple[RunView, ...]
    #: what its charts are told apart by in a page that holds several parts
    key: str = ""
    variant: Variant | None = None
    #: a part for each variant; a part has none
    parts: tuple[Campaign, ...] = ()

    @property
    def name(self) -> str:
        """Its variant, in words."""
        if self.variant is None:
            return ""
        engines = {str(told.get("engine")) for told in rows_of(self.json.get("variants"))}
        engine = f"{self.variant.engine}, " if len(engines) > 1 else ""
        return f"{engine}{self.variant.mode}, {self.variant.dialect}"

    @property
    def brokers_of(self) -> str:
        """What its repetitions ran on, in words."""
        if dig(self.json, "pins", "docker", "cluster_kept") is True:
            return "all repetitions shared the brokers that were kept up"
        return "each repetition had brokers of its own"

    def called(self, view: RunView) -> str:
        """A run's name and, where there are several engines, its own among them."""
        variants = [part.variant for part in self.parts if part.variant is not None]
        if len({variant.engine for variant in variants}) < 2 or view.variant is None:
            return view.name
        return f"{view.name} {name_among(view.variant, variants)}"

    @property
    def one(self) -> dict[str, Any]:
        """A run that speaks for what all have in common."""
        return next((r.run for r in self.runs if r.run), {})

    @property
    def complete(self) -> bool:
        return self.json.get("complete") is not False

    def stage(self, name: str | None) -> StageView | None:
        return next((s for s in self.stages if s.name == name), None)


def read_campaign(path: Path) -> Campaign:
    """Read what there is; only campaign.json must exist."""
    folder = CampaignFolder(path)
    if not folder.campaign_json.is_file():
        raise UsageError(f"{path} is no campaign: it holds no campaign.json")
    campaign = mapping(read_json(folder.campaign_json))
    said = {Path(str(r.get("path"))).name: r for r in rows_of(campaign.get("runs"))}
    runs = tuple(_read_run(r, said.get(r.path.name, {})) for r in folder.runs())
    variants = [Variant.of(told) for told in rows_of(campaign.get("variants"))]
    parts = tuple(_part(path, campaign, runs, v, f"v{i}-") for i, v in enumerate(variants))
    stages = parts[0].stages if len(parts) == 1 else ()
    return Campaign(path, campaign, stages, runs, parts=parts)


def _part(
    path: Path, campaign: dict[str, Any], runs: tuple[RunView, ...], variant: Variant, key: str
) -> Campaign:
    """What belongs to one variant."""
    told = {
        name: [row for row in rows_of(campaign.get(name)) if Variant.of(row) == variant]
        for name in ("figures", "prices", "claims", "runs")
    }
    own = tuple(r for r in runs if r.variant == variant)
    json = {**campaign, **told}
    return Campaign(path, json, tuple(_stages(json, own)), own, key, variant)


def _stages(campaign: dict[str, Any], runs: tuple[RunView, ...]) -> list[StageView]:
    asked = [str(s) for s in campaign.get("stages") or []]
    names = list(dict.fromkeys([*asked, *(r.stage for r in runs)]))
    before = _predecessors(next((str(r.run["workload"]) for r in runs if "workload" in r.run), ""))
    order = list(before)
    rank = {n: order.index(n) if n in order else len(order) + i for i, n in enumerate(names)}
    figures = rows_of(campaign.get("figures"))
    prices = [p for p in rows_of(campaign.get("prices")) if p.get("attribution") == "last"]
    return [
        StageView(
            name,
            rank[name],
            tuple(r for r in runs if r.stage == name),
            {str(f.get("attribution")): f for f in figures if f.get("stage") == name},
            next((p for p in prices if p.get("stage") == name), None)
            or _untrusted_price(name, before.get(name), figures),
        )
        for name in sorted(names, key=lambda n: rank[n])
    ]


def _predecessors(workload: str) -> dict[str, str | None]:
    """Each stage of the workload, in order, with the one before it."""
    if workload not in workload_names():
        return {}
    return {s.name: s.predecessor for s in load_workload(workload).stages}


def _untrusted_price(
    stage: str, before: str | None, figures: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """What a price would be that campaign.json does not give, a run of it being invalid."""
    medians = {f.get("stage"): number(f.get("p50_ms")) for f in figures
               if f.get("attribution") == "last"}  # fmt: skip
    own, other = medians.get(stage), medians.get(before)
    if own is None or other is None:
        return None
    return {"stage": stage, "predecessor": before, "price_ms": own - other}


def _read_run(folder: RunFolder, said: dict[str, Any]) -> RunView:
    run = mapping(read_json(folder.run_json)) if folder.run_json.is_file() else {}
    _, _, stage = folder.path.name.partition("-")
    sent = folder.evidence / "publisher.json"
    parts = [_table(p, ["late_us"]) for p in sorted(folder.evidence.glob("publisher-*.parquet"))]
    late = [floats(t, "late_us") / 1000 for t in parts if t is not None]
    return RunView(
        name=folder.path.name,
        stage=str(run.get("stage") or said.get("stage") or stage),
        variant=next((Variant.of(told) for told in (run, said) if "dialect" in told), None),
        repetition=int(number(said.get("repetition")) or 1),
        run=run,
        samples=_samples(folder),
        slots=_table(folder.slots),
        resources=_table(folder.resources),
        sent=mapping(read_json(sent)) if sent.is_file() else {},
        late_ms=np.concatenate(late) if late else np.empty(0),
    )


def _table(path: Path, columns: list[str] | None = None) -> pa.Table | None:
    """A table; None where it is missing or was cut off as its writer died."""
    if not path.is_file():
        return None
    try:
        return pq.read_table(path, columns=columns)
    except pa.ArrowInvalid:
        return None


def _samples(folder: RunFolder) -> Samples | None:
    table = _table(folder.latency, DRAWN)
    if table is None or not table.num_rows:
        return None
    output, last_input = floats(table, "output_ms"), floats(table, "input_last_ms")
    order = np.argsort(output, kind="stable")
    last = (output - last_input)[order]
    outside = last[~flags(table, "in_stall")[order]]
    return Samples(output[order], last_input[order], last, outside)
