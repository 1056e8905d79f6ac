"""Tell which campaign a word means, and which variant of it: `folder`, `folder:mode/dialect`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from contract.errors import UsageError
from contract.results import CampaignFolder, why_no_campaign
from contract.variant import Variant


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant as it is written behind a folder: `mode/dialect` or `engine/mode/dialect`."""

    #: the last two or three parts of a variant's name; none leaves all open
    parts: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        """From what stands behind the colon."""
        parts = tuple(text.split("/")) if text else ()
        if text and (len(parts) not in (2, 3) or not all(parts)):
            raise UsageError(
                f"{text!r} names no variant; say mode/dialect or engine/mode/dialect, such as "
                f"real-time/eager"
            )
        return cls(parts)

    def fits(self, variant: Variant) -> bool:
        """Whether it is one that is meant."""
        full = (variant.engine, variant.mode, variant.dialect)
        return not self.parts or full[-len(self.parts) :] == self.parts

    def __str__(self) -> str:
        return "/".join(self.parts)


def find_campaign(word: str, places: Iterable[Path]) -> tuple[Path, Choice]:
    """The campaign's folder, below the first of `places` that has it, and what was chosen of it."""
    front, colon, back = word.rpartition(":")
    # a folder's own name may hold a colon
    readings = [(word, "")] + [(front, back)] * bool(colon)
    for name, choice in readings:
        for place in places:
            if name and CampaignFolder(place / name).campaign_json.is_file():
                return (place / name).resolve(), Choice.read(choice)
    meant = readings[-1][0]
    there = (place / meant for place in places if (place / meant).exists())
    raise UsageError(why_no_campaign(next(there, Path(meant))))
