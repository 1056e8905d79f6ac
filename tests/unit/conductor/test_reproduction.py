"""What a reproduction is asked: all stages, the modes and dialects, in an order that is fair."""

from __future__ import annotations

from collections import Counter

import pytest

from conductor.asked import KNOWN
from conductor.doctor import cost_of, lacks
from conductor.home import Home
from conductor.remaining import Remaining, in_words
from conductor.reproduction import (
    OWN,
    REPRODUCE_KNOWN,
    understand_reproduction,
)
from contract.errors import UsageError
from contract.order import order_of

STAGES = ("ingest", "parse", "join", "tumbling", "sliding")


def pairs(home: Home, *words: str) -> list[tuple[str, str]]:
    asked = understand_reproduction(words, home)
    return [(each.variant.mode, each.variant.dialect) for each in asked.contenders]


def test_all_stages_are_run_in_every_mode_and_dialect_five_times(home: Home) -> None:
    asked = understand_reproduction([], home)
    assert (asked.verb, asked.stages, asked.repeat) == ("reproduce", STAGES, 5)
    assert asked.runs == 75 and not asked.preliminary
    assert pairs(home) == [
        ("real-time", "eager"),
        ("micro-batch", "windowed"),
        ("micro-batch", "eager"),
    ]


def test_a_quick_look_is_one_short_run_in_the_first_dialect_of_each_mode(home: Home) -> None:
    asked = understand_reproduction(["QUICK=1"], home)
    assert (asked.repeat, asked.runs, asked.preliminary) == (1, 10, True)
    assert pairs(home, "QUICK=1") == [("real-time", "eager"), ("micro-batch", "windowed")]
    # three checkpoints of ten seconds, or its figures were doubted for that alone
    assert asked.settings.duration_s >= 3 * asked.settings.checkpoint_s
    assert cost_of(asked).seconds <= 15 * 60


def test_a_quick_look_leaves_no_dialect_out(home: Home) -> None:
    assert pairs(home, "QUICK=1", "ENGINE=flink") == [
        ("streaming", "eager"),
        ("streaming", "windowed"),
    ]


def test_what_is_given_goes_before_what_a_quick_look_would_take(home: Home) -> None:
    asked = understand_reproduction(["QUICK=1", "REPEAT=2", "DURATION=12", "RATE=400"], home)
    assert (asked.repeat, asked.settings.duration_s, asked.settings.rate) == (2, 12, 400)


def test_mode_and_dialect_narrow_it_down(home: Home) -> None:
    assert pairs(home, "MODE=micro-batch") == [
        ("micro-batch", "windowed"),
        ("micro-batch", "eager"),
    ]
    assert pairs(home, "DIALECT=eager") == [("real-time", "eager"), ("micro-batch", "eager")]
    assert pairs(home, "QUICK=1", "DIALECT=eager", "MODE=micro-batch") == [("micro-batch", "eager")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["STAGE=join"], "STAGE: reproduce runs every stage"),
        (["ALONE=1"], "ALONE: reproduce runs every stage"),
        (["STAGES=join"], "unknown setting 'STAGES'"),
        (["MODE=realtime"], "did you mean real-time"),
        (["MODE=real-time", "DIALECT=windowed"], "does not run"),
        (["QUICK=perhaps"], "QUICK=perhaps cannot be"),
        (["MINUTES=0"], "MINUTES=0 cannot be"),
        (["MINUTES=ten"], "MINUTES=ten is not a number"),
        (["MINUTES=nan"], "MINUTES=nan cannot be"),
        (["REPEAT=0"], "REPEAT=0 cannot be"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], says: str, home: Home) -> None:
    with pytest.raises(UsageError, match=says):
        understand_reproduction(words, home)


def test_its_settings_are_those_of_bench_and_its_own(home: Home) -> None:
    assert set(REPRODUCE_KNOWN) == (set(KNOWN) - {"STAGE", "ALONE"}) | set(OWN)
    fresh = [understand_reproduction(words, home).fresh for words in (["FRESH=1"], ["FRESH=0"], [])]
    assert fresh == [True, False, False]


def test_it_is_refused_early_where_the_time_will_not_do(home: Home) -> None:
    asked = understand_reproduction(["MINUTES=10"], home)
    (problem,) = [p for p in lacks(asked, home) if "MINUTES" in p]
    assert problem.startswith("75 runs take about") and "MINUTES=10 were given" in problem
    enough = understand_reproduction(["QUICK=1", "MINUTES=15"], home)
    assert not [p for p in lacks(enough, home) if "MINUTES" in p]


def test_each_repetition_holds_each_run_once_shuffled_by_the_seed(home: Home) -> None:
    asked = understand_reproduction([], home)
    order = order_of(asked.stages, asked.variants, 5, seed=1)
    assert [planned.number for planned in order] == list(range(1, 76))
    blocks = [[p for p in order if p.repetition == r] for r in range(1, 6)]
    kinds = [[(p.stage, p.variant) for p in block] for block in blocks]
    assert all(Counter(kind) == Counter(kinds[0]) and len(kind) == 15 for kind in kinds)
    assert len({tuple(kind) for kind in kinds}) == 5, "no two repetitions share an order"
    assert order == order_of(asked.stages, asked.variants, 5, seed=1)
    assert order != order_of(asked.stages, asked.variants, 5, seed=2)
    # a block's order does not depend on how many follow
    assert order[:15] == order_of(asked.stages, asked.variants, 2, seed=1)[:15]


def test_a_single_look_keeps_the_stages_order(home: Home) -> None:
    asked = understand_reproduction([], home)
    order = order_of(asked.stages, asked.variants[:1], 1, seed=1)
    assert [planned.stage for planned in order] == list(STAGES)


def test_what_is_left_is_learned_from_what_was() -> None:
    remaining = Remaining(run_s=80, block_s=20)
    assert remaining.left_s(["real-time"] * 3, 1) == 260
    remaining.took("real-time", 60)
    remaining.took("real-time", 70)
    assert remaining.left_s(["real-time", "micro-batch"], 0) == 65 + 80


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(10, "less than a minute"), (65, "1 min"), (3570, "1 h 0 min"), (7530, "2 h 6 min")],
)
def test_time_is_told_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
