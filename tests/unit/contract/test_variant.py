"""What a variant is called among others."""

from __future__ import annotations

from contract.variant import Variant, name_among

EAGER = Variant("spark", "real-time", "eager")
BATCH = Variant("spark", "micro-batch", "eager")
FLINK = Variant("flink", "streaming", "eager")


def test_it_is_as_short_as_tells_it_apart() -> None:
    assert name_among(EAGER, [EAGER]) == ""
    assert name_among(EAGER, [EAGER, BATCH]) == "real-time eager"
    assert name_among(FLINK, [EAGER, FLINK]) == "flink"
    assert name_among(FLINK, [EAGER, BATCH, FLINK]) == "flink streaming eager"
