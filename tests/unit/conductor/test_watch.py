"""When an engine keeps up, and when its outputs have come to rest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conductor.conditions import Seen
from conductor.topics import Cluster
from conductor.watch import (
    CEASED_S,
    COMPLETE_S,
    QUIET_S,
    READY_LAG_S,
    READY_LOOKS,
    SETTLED_S,
    SILENT_S,
    WINDOWED_LAG_SLOTS,
    Watch,
)
from contract.engine import Topics
from contract.settings import RunSettings
from tests.unit.conductor.fakes import Clock, output_of

START_S = 1_767_596_400
TOPICS = Topics.of("r", ("flow", "speed"))


class Outputs(Cluster):
    """Topics that hold what a test says; `newest` is the last slot of each partition's outputs."""

    def __init__(self) -> None:
        self.newest: list[int | None] = []
        self.inputs, self.outputs = 0, 0

    def ends(self, topics: Sequence[str], _partitions: int) -> dict[str, int]:
        counts = {"r.flow": self.inputs, "r.speed": self.inputs, "r.out": self.outputs}
        return {topic: counts[topic] for topic in topics}

    def tail(self, topic: str, _partitions: int) -> list[bytes]:
        assert topic == "r.out"
        return [b"odd" if n is None else output_of(START_S + n) for n in self.newest]


class Look:
    """A watch with its clock, its cluster and what it saw."""

    def __init__(self, clock: Clock, dialect: str = "eager", scale: float = 60) -> None:
        self.clock, self.cluster = clock, Outputs()
        slot_ms = 60_000 / scale
        self.seen = Seen(first_due_ms=clock.time() * 1000, event_start_s=START_S, slot_ms=slot_ms)
        self.slot_s = slot_ms / 1000
        self.settings = RunSettings(dialect=dialect, temporal_scale=scale)
        self.watch = self.watching(None)

    def watching(self, owed: int | None) -> Watch:
        return Watch(self.cluster, TOPICS, self.settings, self.seen, owed)

    def at(self, due: int, *newest: int | None) -> bool:
        """Whether the engine keeps up when that slot is due and those are the newest outputs."""
        first_due_s = self.seen.first_due_ms / 1000
        self.clock.sleep(first_due_s + (due + 0.5) * self.slot_s - self.clock.time())
        self.cluster.newest = list(newest)
        assert self.watch.due_slot() == due
        return self.watch.keeps_up()


@pytest.fixture
def look(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Look:
    """Slots of a second, eager."""
    monkeypatch.setattr("conductor.watch.time", clock)
    return Look(clock)


LAG, PROMPT = 3, 1


def test_before_the_first_slot_none_is_due(look: Look) -> None:
    look.clock.sleep(-0.5)
    assert look.watch.due_slot() == -1


def test_it_takes_several_looks_in_a_row(look: Look) -> None:
    for round_ in range(2):
        looks = [look.at(20 + 10 * round_ + i, 20 + 10 * round_ + i) for i in range(READY_LOOKS)]
        assert looks == [False] * (READY_LOOKS - 1) + [True]
        assert not look.at(28 + 10 * round_, 20), "one look that is behind begins anew"


@pytest.mark.parametrize("behind", [0, PROMPT])
def test_in_its_first_seconds_an_engine_must_be_right_behind(behind: int, look: Look) -> None:
    first = 2 * PROMPT + behind
    looks = [look.at(due, *[max(0, due - behind)] * 2) for due in range(first + READY_LOOKS)]
    assert looks == [False] * (first + READY_LOOKS - 1) + [True]


def test_a_partition_that_has_not_answered_yet_is_waited_for(look: Look) -> None:
    assert not any(look.at(due, due) for due in range(2 * LAG + 1))


def test_who_is_further_behind_is_watched_for_longer(look: Look) -> None:
    first = 2 * LAG + 1
    looks = [look.at(due, *[max(0, due - PROMPT - 1)] * 2) for due in range(first + READY_LOOKS)]
    assert looks == [False] * (first + READY_LOOKS - 1) + [True]


def test_without_outputs_it_does_not_keep_up(look: Look) -> None:
    assert not any(look.at(20 + i) for i in range(READY_LOOKS + 1))


def test_every_partition_must_keep_up(look: Look) -> None:
    assert not any(look.at(20 + i, 20 + i, 20 + i - LAG - 1) for i in range(READY_LOOKS + 1))
    assert [look.at(40 + i, 40 + i, 40 + i - LAG) for i in range(READY_LOOKS)][-1]


def test_an_output_that_tells_no_time_does_not_count(look: Look) -> None:
    assert [look.at(20 + i, None, 20 + i) for i in range(READY_LOOKS)][-1]
    assert look.watch.newest == [20 + READY_LOOKS - 1]


@pytest.mark.parametrize(("scale", "lag"), [(60, 3), (120, 5), (600, 25)])
def test_the_lag_is_a_time_and_not_a_number_of_slots(
    scale: float, lag: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.watch.time", clock)
    assert lag == pytest.approx(READY_LAG_S * scale / 60, abs=0.5)
    for dialect, allowed in (("eager", lag), ("windowed", lag + WINDOWED_LAG_SLOTS)):
        fits, late = Look(clock, dialect, scale), Look(clock, dialect, scale)
        assert [fits.at(99 + i, 99 + i - allowed) for i in range(READY_LOOKS)][-1]
        looks = [late.at(499 + i, 499 + i - allowed - 1) for i in range(READY_LOOKS + 1)]
        assert not any(looks)


def rest(look: Look, quiet_s: float, *newest: int) -> None:
    """Outputs have come up to those slots and have ceased so long ago."""
    look.cluster.outputs += 10
    look.cluster.newest = list(newest)
    look.watch.count()
    look.clock.sleep(quiet_s)


def test_outputs_rest_when_none_came_for_a_while_and_the_target_is_reached(look: Look) -> None:
    rest(look, QUIET_S - 0.1, 9, 9)
    assert not look.watch.at_rest(9)
    look.clock.sleep(0.2)
    assert look.watch.at_rest(9)
    assert not look.watch.at_rest(10)
    look.cluster.outputs += 1
    assert not look.watch.at_rest(9), "a new output came"


def test_after_the_last_slot_that_was_published_less_silence_is_enough(look: Look) -> None:
    rest(look, COMPLETE_S - 0.1, 12, 12)
    assert not look.watch.at_rest(9, 12)
    look.clock.sleep(0.2)
    assert not look.watch.at_rest(9), "nobody knows whether it is the last"
    assert not look.watch.at_rest(9, 13)
    assert look.watch.at_rest(9, 12)
    assert not look.watch.at_rest(12, 12), "what is measured is waited for as ever"
    rest(look, COMPLETE_S + 0.1, 12)
    assert not look.watch.at_rest(9, 12), "the other partition was not seen"
    rest(look, COMPLETE_S + 0.1, 12, 11)
    assert not look.watch.at_rest(9, 12)


def test_a_partition_that_is_behind_is_waited_for_but_not_for_ever(look: Look) -> None:
    rest(look, QUIET_S + 0.1, 9, 4)
    assert not look.watch.at_rest(9)
    look.clock.sleep(SILENT_S - QUIET_S - 0.2)
    assert not look.watch.at_rest(9)
    look.clock.sleep(0.2)
    assert look.watch.at_rest(9), "the furthest is there and the others have nothing more to say"


def test_while_no_partition_has_reached_the_target_there_is_no_rest(look: Look) -> None:
    rest(look, 1000, 8, 8)
    assert not look.watch.at_rest(9)
    rest(look, 1000)
    assert not look.watch.at_rest(9)


def test_without_a_target_quiet_is_enough_but_something_must_have_come(look: Look) -> None:
    look.clock.sleep(1000)
    assert not look.watch.at_rest(None)
    rest(look, QUIET_S + 0.1, 3)
    assert look.watch.at_rest(None)


def test_where_it_is_known_how_many_are_owed_their_number_and_silence_decide(look: Look) -> None:
    look.watch = look.watching(owed=20)
    rest(look, CEASED_S - 0.1, 9, 9)
    assert not look.watch.at_rest(9), "ten are still owed"
    look.clock.sleep(0.2)
    assert look.watch.at_rest(9), "they have been waited for long enough"
    rest(look, SETTLED_S - 0.1, 9, 9)
    assert not look.watch.at_rest(9), "what is owed is there, but more may come"
    look.clock.sleep(0.2)
    assert look.watch.at_rest(9)
    assert look.watch.at_rest(50)
    assert look.watch.newest == [9, 9]
    look.cluster.outputs += 1
    assert not look.watch.at_rest(9)


def test_without_any_output_there_is_no_rest_however_long_the_silence(look: Look) -> None:
    look.watch = look.watching(owed=20)
    look.clock.sleep(1000)
    assert not look.watch.at_rest(9)


def test_rates_and_counts_come_from_the_ends_and_are_kept(look: Look) -> None:
    look.watch.count()
    look.cluster.inputs, look.cluster.outputs = 50, 7
    look.clock.sleep(2)
    assert look.watch.count() == (50.0, 7)
    assert look.watch.count() == (0.0, 7), "no time has passed"
    assert [(row["inputs"], row["outputs"]) for row in look.seen.progress] == [
        (0, 0),
        (100, 7),
        (100, 7),
    ]
    assert look.seen.progress[1]["at_ms"] - look.seen.progress[0]["at_ms"] == 2000
