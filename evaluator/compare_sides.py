"""Read the two campaigns that are set side by side, and pair their variants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from contract.chosen import Choice, find_campaign
from contract.errors import TollgateError, UsageError, unknown_name
from contract.results import SCHEMA, CampaignFolder, read_json
from contract.variant import Variant
from evaluator.estimates import Samples, samples_of

Name = Literal["A", "B"]
Pair = tuple[Variant, Variant]
#: without these it cannot be said what was measured
_NEEDED = ("campaign_id", "settings", "variants", "stages", "runs", "machine", "pins")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: what its campaign.json says, and which of its variants are meant."""

    name: Name
    folder: CampaignFolder
    told: dict[str, Any]
    choice: Choice

    @classmethod
    def read(cls, name: Name, word: str) -> Side:
        """From a folder, with a choice of variant or without."""
        path, choice = find_campaign(word, [Path.cwd()])
        folder = CampaignFolder(path)
        try:
            told = read_json(folder.campaign_json)
        except ValueError as error:
            raise TollgateError(f"{folder.campaign_json} is not JSON: {error}") from None
        if not isinstance(told, dict):
            raise UsageError(f"{path} is no campaign: campaign.json holds no object")
        schema = told.get("schema")
        if schema != SCHEMA:
            raise TollgateError(
                f"{name} ({path.name}) was written by schema {schema}, and schema {SCHEMA} is what "
                f"is read here: run it again to compare it"
            )
        lacking = [key for key in _NEEDED if key not in told]
        if lacking:
            raise TollgateError(
                f"{name} ({path.name}) cannot be compared: its campaign.json says nothing of "
                f"{', '.join(lacking)}"
            )
        return cls(name, folder, told, choice)

    @property
    def campaign_id(self) -> str:
        return str(self.told["campaign_id"])

    @property
    def variants(self) -> list[Variant]:
        """Those that are meant."""
        known = [Variant.of(told) for told in self.told["variants"]]
        found = [variant for variant in known if self.choice.fits(variant)]
        if not found:
            names = [written(variant) for variant in known]
            raise unknown_name(f"variant of {self.name}", str(self.choice), names)
        return found

    def entry(self, variant: Variant) -> dict[str, Any]:
        """What is said of a variant: the engine's version and settings."""
        return next(t for t in self.told["variants"] if Variant.of(t) == variant)

    def stages(self, variant: Variant) -> list[str]:
        """Those that were planned of a variant, run or not."""
        planned = {run["stage"] for run in self.told["runs"] if Variant.of(run) == variant}
        return [stage for stage in self.told["stages"] if stage in planned]

    def samples(self) -> Samples:
        """Its runs."""
        try:
            return samples_of(self.folder, self.told)
        except (ValueError, KeyError, TypeError) as error:
            raise TollgateError(
                f"a run.json of {self.name} ({self.campaign_id}) cannot be read ({error!r}); "
                f"`verify` says what is amiss"
            ) from None


def written(variant: Variant) -> str:
    """As one chooses it."""
    return f"{variant.engine}/{variant.mode}/{variant.dialect}"


def pairs_of(a: Side, b: Side) -> list[Pair]:
    """One with one; of several those that both have."""
    of_a, of_b = a.variants, b.variants
    same = a.folder.path == b.folder.path
    if len(of_a) == len(of_b) == 1:
        pairs = [(of_a[0], of_b[0])]
    else:
        pairs = [(variant, variant) for variant in of_a if variant in of_b]
    # a run is no news to itself
    pairs = [] if same and all(one == other for one, other in pairs) else pairs
    if pairs:
        return pairs
    there = [f"{s.name} has {', '.join(map(written, vs))}" for s, vs in ((a, of_a), (b, of_b))]
    why = "A and B are the same runs" if same else "A and B have no variant in common"
    raise UsageError(
        f"{why}; choose one of each, behind a colon, such as {a.folder.path.name}:"
        f"{written(of_a[0])} ({'; '.join(there)})"
    )
