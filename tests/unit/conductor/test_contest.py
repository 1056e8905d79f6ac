"""A comparison of engines: what may be asked, and what each of its runs is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conductor.asked import KNOWN, Asked
from conductor.contest import CONTEST_KNOWN, is_contest, understand_contest
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from conductor.planning import conditions_asked
from contract.engine import EngineSpec
from contract.errors import UsageError
from contract.order import order_of
from tests.unit.conductor.fakes import ENGINES

STAGES = ("ingest", "parse", "join", "tumbling", "sliding")
BOTH = "ENGINES=spark,flink"


def variants(asked: Asked) -> list[str]:
    return [str(variant) for variant in asked.variants]


def refused(home: Home, says: str, *words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        understand_contest(words, home)


def test_each_engine_runs_every_stage_three_times_as_it_does_by_default(home: Home) -> None:
    asked = understand_contest([BOTH], home)
    assert variants(asked) == ["spark real-time eager", "flink streaming eager"]
    assert (asked.verb, asked.stages, asked.repeat, asked.runs) == ("compare", STAGES, 3, 30)
    assert asked.question == "spark or flink: which is faster at each stage?"
    assert not asked.fresh, "the same command goes on where it was interrupted"
    assert understand_contest([BOTH, "FRESH=1"], home).fresh


def test_a_dialect_is_that_of_all_and_a_variant_that_of_one(home: Home) -> None:
    windowed = understand_contest([BOTH, "DIALECT=windowed"], home)
    assert variants(windowed) == ["spark micro-batch windowed", "flink streaming windowed"]
    words = ["ENGINES=spark:micro-batch/eager,flink,spark", "DIALECT=eager"]
    assert variants(understand_contest(words, home)) == [
        "spark micro-batch eager",
        "flink streaming eager",
        "spark real-time eager",
    ]


def test_a_stage_brings_the_one_before_it_unless_alone(home: Home) -> None:
    assert understand_contest([BOTH, "STAGE=join"], home).stages == ("parse", "join")
    assert understand_contest([BOTH, "STAGE=join", "ALONE=1"], home).stages == ("join",)
    # stages that all of them claim
    assert understand_contest(["ENGINES=flink,example"], home).stages == ("ingest", "parse")
    refused(home, "engine example does not run stage join", "ENGINES=flink,example", "STAGE=join")


def test_settings_are_for_all_that_know_them_or_for_one(home: Home) -> None:
    asked = understand_contest(
        [BOTH, "ENGINE_SETTINGS=linger_ms=3,flink.object_reuse=false shuffle_wait_ms=4"], home
    )
    spark, flink = asked.contenders
    assert dict(spark.settings) == {"linger_ms": 3, "shuffle_wait_ms": 4}
    assert dict(flink.settings) == {"linger_ms": 3, "object_reuse": False}
    told = asked.engine_settings(flink)
    assert (told["linger_ms"], told["object_reuse"], told["checkpoint_s"]) == (3, False, 10)
    run = asked.for_run("parse", flink)
    assert (run.engine, run.mode, run.stage) == ("flink", "streaming", "parse")
    assert run.engine_settings == {"linger_ms": 3, "object_reuse": False}


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("one engine cannot be compared", ["ENGINES=spark"]),
        ("one engine cannot be compared", ["ENGINES=", "ENGINE_SETTINGS=x=1"]),
        ("spark real-time eager is named twice", ["ENGINES=spark,spark"]),
        ("unknown engine 'flnik'; did you mean flink?", ["ENGINES=spark,flnik"]),
        ("did you mean streaming/eager?", ["ENGINES=spark,flink:streming/eager"]),
        ("MODE: compare takes several engines", [BOTH, "MODE=micro-batch"]),
        ("ENGINE: compare takes several engines", [BOTH, "ENGINE=spark"]),
        ("unknown DIALECT 'wndowed'", [BOTH, "DIALECT=wndowed"]),
        ("unknown setting of engine spark and flink", [BOTH, "ENGINE_SETTINGS=linger=1"]),
        ("unknown engine 'flnk'", [BOTH, "ENGINE_SETTINGS=flnk.join=window"]),
        ("unknown setting of engine flink", [BOTH, "ENGINE_SETTINGS=flink.trigger_ms=1"]),
        ("say CHECKPOINT=5", [BOTH, "ENGINE_SETTINGS=checkpoint_s=5"]),
        ("engine flink nor example knows no master", ["ENGINES=flink,example", "SPARK_MASTER=x"]),
    ],
)
def test_what_cannot_be_is_refused(says: str, words: list[str], home: Home) -> None:
    refused(home, says, *words)


def test_instances_that_one_engine_would_not_heed_are_refused(home: Home) -> None:
    refused(home, "engine spark starts nothing INSTANCES=2 times", BOTH, "INSTANCES=2")
    words = [BOTH, "INSTANCES=2", "SPARK_MASTER=cluster"]
    spark, flink = understand_contest(words, home).contenders
    assert dict(spark.settings) == {"master": "cluster"} and dict(flink.settings) == {}


def test_two_engines_of_one_name_are_refused(tmp_path: Path, home: Home) -> None:
    copy = tmp_path / "mine"
    copy.mkdir()
    (copy / "engine.toml").write_bytes((ENGINES / "flink" / "engine.toml").read_bytes())
    words = f"ENGINES=flink,{copy}:streaming/windowed"
    refused(home, "two engines call themselves flink", words)


@pytest.mark.usefixtures("docker")
def test_an_image_joins_the_engines_that_are_named(
    monkeypatch: pytest.MonkeyPatch, home: Home
) -> None:
    spec = EngineSpec.read(ENGINES / "example" / "engine.toml")
    monkeypatch.setattr("conductor.engine_choice.spec_of_image", lambda _: spec)
    asked = understand_contest(["ENGINES=spark", "ENGINE_IMAGE=x:1"], home)
    assert asked.engines[1] == EngineChoice(spec, home.engines, "x:1")
    assert asked.stages == ("ingest", "parse")


def test_conditions_tell_each_variant_with_its_own_settings(home: Home) -> None:
    asked = understand_contest([BOTH, "CHECKPOINT=7"], home)
    order = order_of(asked.stages, asked.variants, asked.repeat, asked.settings.seed)
    told = conditions_asked(asked, home, None, ["tollgate", "compare", BOTH], order)
    spark, flink = told["variants"]
    assert (spark["engine"], flink["engine"]) == ("spark", "flink")
    assert (spark["settings"]["checkpoint_s"], flink["settings"]["checkpoint_s"]) == (7, 7)
    assert "object_reuse" in flink["settings"] and "object_reuse" not in spark["settings"]
    assert "-compare-" in told["campaign_id"]
    first = [run["engine"] for run in told["runs"] if run["repetition"] == 1]
    assert sorted(first) == ["flink"] * 5 + ["spark"] * 5
    assert first not in (sorted(first), sorted(first, reverse=True)), "they are interleaved"


def test_engines_make_it_a_contest() -> None:
    assert is_contest(["STAGE=join", BOTH]) and not is_contest(["A=x", "B=y"])
    assert not {"ENGINE", "MODE"} & set(CONTEST_KNOWN) and "STAGE" in CONTEST_KNOWN
    assert set(CONTEST_KNOWN) - set(KNOWN) == {"ENGINES", "MINUTES", "FRESH"}
