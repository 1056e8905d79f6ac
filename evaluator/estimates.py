"""Say what the runs of each stage and variant sample of each statistic: a value a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contract.claims import Statistic
from contract.results import MEASURES, QUANTILES, CampaignFolder, RunFolder, read_json
from contract.variant import Variant
from contract.workload import load_workload
from evaluator.arrays import FloatArray
from evaluator.intervals import Sampled, of_runs
from evaluator.latency import measures_ms
from evaluator.resampling import Counts, Histogram

_SEED = 20180701
_BROKER = re.compile(r"broker-\d+")
_BATCH_ROWS = 1 << 18
_QUANTILE = dict(QUANTILES)


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of the campaign that left a run.json."""

    folder: RunFolder
    variant: Variant
    #: all that its run.json says
    told: dict[str, Any]

    @classmethod
    def read(cls, folder: RunFolder) -> EndedRun:
        told = read_json(folder.run_json)
        return cls(folder, Variant.of(told), told)

    @property
    def workload(self) -> str:
        return str(self.told["workload"])

    @property
    def stage(self) -> str:
        return str(self.told["stage"])

    @property
    def valid(self) -> bool:
        return bool(self.told["valid"])

    @property
    def latency_ms(self) -> dict[str, dict[str, Any]]:
        """Measure → its block."""
        blocks: dict[str, dict[str, Any]] = self.told["latency_ms"]
        return blocks

    def statistic(self, measure: str, statistic: Statistic) -> float | None:
        """A quantile, or the difference of two, as run.json has them."""
        block = self.latency_ms.get(measure) or {}
        found = [block.get(name) for name in quantiles_of(statistic)]
        known = [float(value) for value in found if value is not None]
        if len(known) < len(found):
            return None
        return known[0] if len(known) == 1 else known[0] - known[1]

    @property
    def _engine_services(self) -> list[str]:
        return self.told.get("engine_services") or [self.variant.engine]

    @property
    def cpu_core_ms(self) -> float | None:
        """What all services of the engine used for 1,000 observations; None if one is not told."""
        return self._core_ms(self._engine_services)

    @property
    def brokers_core_ms(self) -> float | None:
        """The same of all brokers: what an engine asks of them is its doing too."""
        return self._core_ms([name for name in self._resources if _BROKER.fullmatch(name)])

    @property
    def memory_mib(self) -> float | None:
        """The largest memory of each of the engine's services, together."""
        held = self._used(self._engine_services, "memory_bytes_max")
        return None if held is None else held / 2**20

    def _core_ms(self, services: Sequence[str]) -> float | None:
        rate = (self.told.get("throughput") or {}).get("input_per_s")
        cores = self._used(services, "cpu_cores_avg")
        return cores / rate * 1e6 if rate and cores is not None else None

    def _used(self, services: Sequence[str], name: str) -> float | None:
        """Of all of them together; None if it is not told of one."""
        told = [(self._resources.get(service) or {}).get(name) for service in services]
        known = [float(value) for value in told if value is not None]
        return sum(known) if known and len(known) == len(told) else None

    @property
    def _resources(self) -> dict[str, Any]:
        return self.told.get("resources") or {}


def quantiles_of(statistic: Statistic) -> list[str]:
    """The quantiles that a statistic is made of."""
    return list(statistic.split("-"))


def samples_of(folder: CampaignFolder, told: dict[str, Any]) -> Samples:
    """Those of the runs that left a run.json; `told` is what the conductor planned."""
    runs = [EndedRun.read(run) for run in folder.runs() if run.run_json.exists()]
    return Samples(runs, [Variant.of(variant) for variant in told["variants"]])


class Samples:
    """All runs of a campaign, asked for one statistic of one stage of one variant at a time."""

    def __init__(self, runs: Sequence[EndedRun], planned: Sequence[Variant] = ()) -> None:
        self.runs, self._planned = runs, planned
        self._histograms: dict[RunFolder, dict[str, Histogram | None]] = {}
        #: each is asked for by figures, prices, effects and claims
        self._known: dict[tuple[RunFolder, str, Statistic], FloatArray] = {}

    @cached_property
    def variants(self) -> list[Variant]:
        """Those of which there are runs, in the order in which they were planned."""
        found = dict.fromkeys(run.variant for run in self.runs)
        return [v for v in dict.fromkeys([*self._planned, *found]) if v in found]

    def stages(self, variant: Variant) -> list[str]:
        """Its stages, in their workload's order."""
        found = {run.stage: run.workload for run in self.runs if run.variant == variant}
        order = [s.name for w in dict.fromkeys(found.values()) for s in load_workload(w).stages]
        return sorted(found, key=order.index)

    def of(self, variant: Variant, stage: str) -> list[EndedRun]:
        """The runs of a stage."""
        return [run for run in self.runs if run.variant == variant and run.stage == stage]

    def valid(self, variant: Variant, stage: str) -> list[EndedRun]:
        """Those that can be trusted."""
        return [run for run in self.of(variant, stage) if run.valid]

    def sampled(
        self,
        variant: Variant,
        stage: str,
        measure: str,
        statistic: Statistic = "p50",
        *,
        trusted: bool = False,
    ) -> Sampled | None:
        """What its valid runs sample; where there are none, and `trusted` is not asked, all."""
        runs = self.valid(variant, stage)
        if not runs and not trusted:
            runs = self.of(variant, stage)
        readings = len(quantiles_of(statistic))
        told = [(run, run.statistic(measure, statistic)) for run in runs]
        known = [(run, value) for run, value in told if value is not None]
        if len(known) != 1:
            return of_runs([value for _, value in known], readings)
        ((run, value),) = known
        return Sampled((value,), self._resampled(run, measure, statistic), readings)

    def _resampled(self, run: EndedRun, measure: str, statistic: Statistic) -> FloatArray:
        key = (run.folder, measure, statistic)
        if key not in self._known:
            self._known[key] = self._resample(run, measure, statistic)
        return self._known[key]

    def _resample(self, run: EndedRun, measure: str, statistic: Statistic) -> FloatArray:
        if run.folder not in self._histograms:
            self._histograms[run.folder] = _histograms(run.folder)
        histogram, names = self._histograms[run.folder].get(measure), quantiles_of(statistic)
        if histogram is None:
            return np.array([run.statistic(measure, statistic) or 0.0])
        rng = np.random.default_rng(_SEED)
        found = histogram.resampled_ms({name: _QUANTILE[name] for name in names}, rng)
        return found[names[0]] if len(names) == 1 else found[names[0]] - found[names[1]]


def _histograms(run: RunFolder) -> dict[str, Histogram | None]:
    """How each measure is distributed over the slots of a run."""
    if not run.latency.exists():
        return {}
    counts = {measure: Counts() for measure in MEASURES}
    for batch in pq.ParquetFile(run.latency).iter_batches(_BATCH_ROWS):
        table = pa.Table.from_batches([batch])
        slot, found = table["slot"].to_numpy().astype(np.int64), measures_ms(table)
        for measure in MEASURES:
            counts[measure].add(slot, found[measure])
    return {measure: counted.histogram() for measure, counted in counts.items()}
