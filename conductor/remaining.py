"""Say how long what is left of a campaign will take: first by estimate, then as it went so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Remaining:
    """Learns what a run of each kind really takes."""

    #: what a run is expected to take as long as none of its kind was made
    run_s: float
    #: what brokers and evaluator take to start, once a block
    block_s: float
    _took_s: dict[str, list[float]] = field(default_factory=dict)

    def took(self, kind: str, seconds: float) -> None:
        """A run of this kind was made."""
        self._took_s.setdefault(kind, []).append(seconds)

    def expected_s(self, kind: str) -> float:
        """What a run of this kind will take."""
        known = self._took_s.get(kind)
        return sum(known) / len(known) if known else self.run_s

    def left_s(self, kinds: Sequence[str], blocks: int) -> float:
        """What these runs will take, in so many blocks that are yet to begin."""
        return sum(self.expected_s(kind) for kind in kinds) + blocks * self.block_s


def in_words(seconds: float) -> str:
    """`2 h 5 min`, `14 min`, `less than a minute`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{minutes} min"
