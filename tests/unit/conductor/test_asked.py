"""NAME=value words become checked settings, or a sentence that says what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conductor.appliance.presence import HDFS
from conductor.asked import (
    DOCKER_BROKERS,
    KNOWN,
    REPEAT_MAX,
    read_words,
    understand,
)
from conductor.engine_choice import EngineChoice
from conductor.home import Home
from contract.engine import EngineSpec
from contract.errors import EnvironmentLacking, UsageError
from tests.unit.conductor.fakes import NO_DOCKER, ROOT

ENGINE_TOML = """
name = "mine"
version = "3"
delivery = "exactly-once"
[stages]
traffic = ["ingest", "parse", "join"]
[[execution]]
mode = "only"
dialect = "eager"
[[service]]
name = "mine"
command = ["./run"]
[settings]
level = 1
fast = true
how = "well"
share = 0.5
"""


STAGES_TOML = 'traffic = ["ingest", "parse", "join"]'


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The folder of an engine that is none of ours."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "engine.toml").write_text(ENGINE_TOML)
    return folder


def refused(words: list[str], home: Home, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        understand(words, home)


@pytest.mark.parametrize(
    ("asked", "stages"),
    [
        ("0", ("ingest",)),
        ("1", ("ingest", "parse")),
        ("2", ("parse", "join")),
        ("3", ("join", "tumbling")),
        ("4", ("tumbling", "sliding")),
        ("baseline", ("ingest",)),
        ("aggregate", ("join", "tumbling")),
        ("window", ("tumbling", "sliding")),
        ("Join", ("parse", "join")),
        ("all", ("ingest", "parse", "join", "tumbling", "sliding")),
    ],
)
def test_a_stage_has_several_names_and_comes_with_its_predecessor(
    asked: str, stages: tuple[str, ...], home: Home
) -> None:
    understood = understand([f"STAGE={asked}"], home)
    assert understood.stages == stages
    assert understood.settings.stage == stages[-1]


def test_nothing_said_asks_for_the_price_of_the_join(home: Home) -> None:
    asked = understand([], home)
    assert asked.question == "What does join cost?"
    assert (asked.stages, asked.repeat) == (("parse", "join"), 1)
    assert [engine.spec.name for engine in asked.engines] == ["spark"]
    assert asked.store == f"file:{home.results}/store"
    assert asked.runtime_says.startswith("embedded: ")
    assert understand(["STAGE=all"], home).question == "What does each stage cost?"


def test_alone_leaves_the_predecessor_out(home: Home) -> None:
    for yes in ("1", "yes", "true", "Yes", "TRUE"):
        assert understand(["STAGE=2", f"ALONE={yes}"], home).stages == ("join",)
    for no in ("0", "no", "false", "No", "FALSE", ""):
        assert understand(["STAGE=2", f"ALONE={no}"], home).stages == ("parse", "join")


@pytest.mark.parametrize("word", ["ALONE=flase", "ALONE=2", "ALONE=on"])
def test_alone_is_a_yes_or_a_no_and_nothing_else(word: str, home: Home) -> None:
    refused(["STAGE=2", word], home, f"{word} cannot be; give 1 or 0")


def test_all_are_the_stages_that_the_engine_claims(home: Home) -> None:
    asked = understand(["ENGINE=example", "STAGE=all"], home)
    assert asked.stages == ("ingest", "parse")
    refused(["ENGINE=example", "STAGE=join"], home, "does not run stage join of traffic")


@pytest.mark.parametrize("claimed", ["", "traffic = []", 'other = ["ingest"]'])
def test_all_of_an_engine_that_claims_none_is_refused(claimed: str, mine: Path, home: Home) -> None:
    (mine / "engine.toml").write_text(ENGINE_TOML.replace(STAGES_TOML, claimed))
    refused([f"ENGINE={mine}", "STAGE=all"], home, "engine mine claims no stage of traffic")


def test_only_where_all_stages_are_asked_for_each_is_an_answer(home: Home) -> None:
    assert understand(["STAGE=all"], home).all_stages
    assert understand(["ENGINE=example", "STAGE=all"], home).all_stages
    assert not understand(["STAGE=sliding"], home).all_stages
    assert not understand(["STAGE=1"], home).all_stages, "they are all but not asked for as such"


def test_each_run_gets_the_settings_of_its_stage(home: Home) -> None:
    asked = understand(["STAGE=2", "RATE=640", "MODE=micro-batch", "CHECKPOINT=7"], home)
    parse, join = (asked.for_run(stage, asked.contenders[0]) for stage in asked.stages)
    assert (parse.stage, join.stage) == ("parse", "join")
    assert join == asked.settings
    assert (parse.rate, parse.mode, parse.dialect) == (640, "micro-batch", "windowed")
    assert parse.checkpoint_s == 7


@pytest.mark.parametrize(
    ("word", "field", "value"),
    [
        ("RATE=100", "rate", 100),
        ("WARMUP=0.5", "warmup_s", 0.5),
        ("DURATION=20", "duration_s", 20.0),
        ("COOLDOWN=1", "cooldown_s", 1.0),
        ("BROKERS=1", "brokers", 1),
        ("PARTITIONS=5", "partitions", 5),
        ("PARALLELISM=4", "parallelism", 4),
        ("INSTANCES=1", "instances", 1),
        ("SEED=9", "seed", 9),
        ("TEMPORAL_SCALE=120", "temporal_scale", 120.0),
        ("ARRIVAL=spread", "arrival", "spread"),
        ("CHECKPOINT=3", "checkpoint_s", 3.0),
        ("WORKLOAD=traffic", "workload", "traffic"),
    ],
)
def test_every_setting_of_a_run_can_be_given(
    word: str, field: str, value: object, home: Home
) -> None:
    found = getattr(understand([word], home).settings, field)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["RAET=5"], "unknown setting 'RAET'; did you mean RATE?"),
        (["rate=5"], "did you mean RATE?"),
        (["RATE"], "'RATE' is not of the form NAME=value"),
        (["STAGE=slidng"], "did you mean sliding?"),
        (["STAGE=5"], "unknown stage '5'"),
        (["ENGINE=sparc"], "did you mean spark?"),
        (["WORKLOAD=trafic"], "did you mean traffic?"),
        (["RUNTIME=embeded"], "did you mean embedded?"),
        (["RUNTIME=doker"], "did you mean docker?"),
        (["MODE=micro-bach"], "did you mean micro-batch?"),
        (["ARRIVAL=spred"], "did you mean spread?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    words: list[str], says: str, home: Home
) -> None:
    refused(words, home, says)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("RATE=many", "RATE=many is not a whole number"),
        ("RATE=1.5", "RATE=1.5 is not a whole number"),
        ("RATE=1_000", "RATE=1_000 is not a whole number"),
        ("RATE=٣", "RATE=٣ is not a whole number"),
        ("RATE=-1", "RATE=-1 cannot be"),
        ("RATE=" + "9" * 400, f"RATE={'9' * 20} cannot be; give 2 to"),
        ("DURATION=" + "9" * 400, "DURATION=inf cannot be"),
        ("DURATION=long", "DURATION=long is not a number"),
        ("DURATION=inf", "DURATION=inf cannot be"),
        ("WARMUP=nan", "WARMUP=nan cannot be"),
        ("BROKERS=0", "BROKERS=0 cannot be; give 1 to 9"),
        ("REPEAT=0", f"REPEAT=0 cannot be; give 1 to {REPEAT_MAX}"),
        (f"REPEAT={REPEAT_MAX + 1}", f"give 1 to {REPEAT_MAX}"),
        ("REPEAT=twice", "REPEAT=twice is not a whole number"),
    ],
)
def test_an_impossible_number_is_refused_by_its_name(word: str, says: str, home: Home) -> None:
    refused([word], home, says)


def test_repeat_has_bounds_that_may_be_reached(home: Home) -> None:
    assert understand(["REPEAT=1"], home).repeat == 1
    assert understand([f"REPEAT={REPEAT_MAX}"], home).repeat == REPEAT_MAX


def test_mode_and_dialect_must_be_a_pair_of_the_engine(home: Home) -> None:
    for words, pair in (
        (["MODE=micro-batch"], ("micro-batch", "windowed")),
        (["MODE=micro-batch", "DIALECT=eager"], ("micro-batch", "eager")),
        (["DIALECT=windowed"], ("micro-batch", "windowed")),
        ([], ("real-time", "eager")),
    ):
        asked = understand(words, home)
        (contender,) = asked.contenders
        execution = contender.execution
        assert (execution.mode, execution.dialect) == pair
        assert (asked.settings.mode, asked.settings.dialect) == pair
    refused(["MODE=real-time", "DIALECT=windowed"], home, "does not run real-time with windowed")


def test_an_engine_may_be_a_folder_anywhere(mine: Path, home: Home) -> None:
    asked = understand([f"ENGINE={mine}", "STAGE=ingest"], home)
    (engine,) = asked.engines
    assert (engine.folder, asked.settings.engine) == (mine, "mine")
    assert engine.image is None
    refused([f"ENGINE={mine.parent}/none"], home, "has no engine.toml")


def test_an_engine_of_ours_is_called_as_its_folder_is(
    mine: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Home, "engines", mine.parent)
    understand(["ENGINE=mine", "STAGE=ingest"], home)
    mine.rename(mine.with_name("copied"))
    refused(["ENGINE=copied"], home, 'says name = "mine"; in that folder it must be "copied"')


def test_engine_settings_take_the_kind_of_their_defaults(mine: Path, home: Home) -> None:
    words = [f"ENGINE={mine}", "ENGINE_SETTINGS=level=3,fast=false how=12 share=1"]
    chosen = understand(words, home).settings.engine_settings
    assert chosen == {"level": 3, "fast": False, "how": "12", "share": 1}
    assert chosen["fast"] is False


def test_a_settings_name_may_hold_a_dot(mine: Path, home: Home) -> None:
    with (mine / "engine.toml").open("a") as file:
        file.write('"linger.ms" = 0\n')
    for name in ("linger.ms", "mine.linger.ms"):
        asked = understand([f"ENGINE={mine}", f"ENGINE_SETTINGS={name}=5"], home)
        assert asked.settings.engine_settings == {"linger.ms": 5}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("levl=1", "did you mean level?"),
        ("level", "'level' is not of the form name=value"),
        ("level=high", "level=high is not like its default 1"),
        ("level=true", "level=true is not like its default 1"),
        ("level=[1]", "level=[1] is not like its default 1"),
        ("level=-1", "level=-1 must not be below zero"),
        ("level=NaN", "level=NaN is not like its default 1"),
        ("level=-Infinity", "level=-Infinity is not like its default 1"),
        ("share=1e999", "share=1e999 is not like its default 0.5"),
        ("fast=1", "fast=1 is not like its default True"),
    ],
)
def test_engine_settings_that_cannot_be_are_refused(
    text: str, says: str, mine: Path, home: Home
) -> None:
    refused([f"ENGINE={mine}", f"ENGINE_SETTINGS={text}"], home, says)


def test_the_checkpoint_interval_is_no_setting_of_one_engine(home: Home) -> None:
    refused(["ENGINE_SETTINGS=checkpoint_s=3"], home, "say CHECKPOINT=3")
    asked = understand(["CHECKPOINT=3"], home)
    assert asked.engine_settings(asked.contenders[0])["checkpoint_s"] == 3


def test_a_source_is_the_network_or_something_that_is_there(tmp_path: Path, home: Home) -> None:
    assert understand(["SOURCE=network"], home).settings.source == "network"
    assert understand([f"SOURCE={tmp_path}"], home).settings.source == str(tmp_path)
    refused([f"SOURCE={tmp_path}/none"], home, "there is no such file or folder")


@pytest.mark.parametrize("name", ["SOURCE", "STORE", "ENGINE"])
def test_a_path_below_the_home_of_nobody_is_refused(name: str, home: Home) -> None:
    says = "~no-such-user/x names the home of a user that is not known here"
    refused([f"{name}=~no-such-user/x"], home, says)


def test_a_store_below_a_file_is_refused(tmp_path: Path, home: Home) -> None:
    (tmp_path / "file").touch()
    for text in (f"{tmp_path}/file", f"{tmp_path}/file/store"):
        refused([f"STORE={text}"], home, f"STORE={text}: {tmp_path}/file is not a folder")


def test_a_store_with_too_long_a_name_is_refused(home: Home) -> None:
    refused([f"STORE=/tmp/{'x' * 300}"], home, "cannot be a folder: File name too long")


def test_a_path_that_leads_in_a_circle_is_refused(tmp_path: Path, home: Home) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    refused([f"STORE={tmp_path}/a"], home, "leads in a circle of links")


def test_the_store_is_a_folder_of_this_machine(tmp_path: Path, home: Home) -> None:
    assert understand([f"STORE={tmp_path}/s"], home).store == f"file:{tmp_path}/s"
    assert understand([f"STORE=file:{tmp_path}"], home).store == f"file:{tmp_path}"
    assert understand([f"STORE=file://{tmp_path}"], home).store == f"file:{tmp_path}"
    assert understand(["STORE=file:~/s"], home).store == f"file:{Path.home()}/s"


@pytest.mark.parametrize("address", ["hdfs://host:8020/x", "s3a://bucket/of mine"])
def test_the_store_may_be_wherever_spark_can_write(address: str, home: Home) -> None:
    assert understand([f"STORE={address}", "RUNTIME=embedded"], home).store == address


@pytest.mark.parametrize("text", ["hdfs:x", "hdfs:/x"])
def test_an_address_that_is_none_is_not_taken_for_a_folder(text: str, home: Home) -> None:
    refused([f"STORE={text}"], home, f"STORE={text}")


def test_where_no_engine_answers_services_are_processes(home: Home) -> None:
    for words in ([], ["RUNTIME=auto"]):
        asked = understand(words, home)
        assert asked.settings.runtime == "embedded"
        assert asked.runtime_says == "embedded: no Docker engine answers"
        assert asked.settings.brokers == 3


@pytest.mark.parametrize(
    ("lacking", "why"),
    [
        ("none answers (x); `make engine` installs one, and more: y", "none answers"),
        ("one is there, but is not ours: be in the group", "one is there, but is not ours"),
        ("it is on tcp://h:1: it cannot be measured; say so", "it is on tcp://h:1"),
    ],
)
def test_why_services_are_processes_is_said_in_a_clause(
    lacking: str, why: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.asked.what_docker_lacks", lambda: lacking)
    assert understand([], home).runtime_says == f"embedded: {why}"


@pytest.mark.parametrize("words", [["RUNTIME=docker"], ["ENGINE_IMAGE=x:1"]])
def test_containers_that_cannot_be_had_are_refused_with_what_is_lacking(
    words: list[str], home: Home
) -> None:
    with pytest.raises(EnvironmentLacking, match=re.escape(NO_DOCKER)):
        understand(words, home)


@pytest.mark.usefixtures("docker")
def test_where_an_engine_answers_services_are_containers(home: Home) -> None:
    asked = understand([], home)
    assert asked.settings.runtime == "docker"
    assert asked.runtime_says == "docker: a Docker engine answers"
    assert asked.store == HDFS
    assert asked.settings.brokers == DOCKER_BROKERS == 5
    spec = EngineSpec.read(home.engines / "spark" / "engine.toml")
    assert asked.engines == (EngineChoice(spec, home.engines / "spark"),)
    assert understand(["RUNTIME=docker"], home).runtime_says == "docker: as asked"
    assert understand(["BROKERS=2"], home).settings.brokers == 2


@pytest.mark.usefixtures("docker")
def test_processes_are_had_for_the_asking_though_an_engine_answers(home: Home) -> None:
    asked = understand(["RUNTIME=embedded"], home)
    assert (asked.settings.runtime, asked.runtime_says) == ("embedded", "embedded: as asked")
    assert asked.settings.brokers == 3
    assert asked.store == f"file:{home.results}/store"


def test_nobody_asks_for_an_engine_where_processes_are_wanted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks() -> str:
        raise AssertionError

    monkeypatch.setattr("conductor.asked.what_docker_lacks", asks)
    assert understand(["RUNTIME=embedded"], home).settings.runtime == "embedded"


@pytest.mark.usefixtures("docker")
def test_the_appliance_stores_in_its_own_hdfs_or_in_a_folder(tmp_path: Path, home: Home) -> None:
    results = Home(ROOT, tmp_path)
    assert understand([f"STORE={tmp_path}/store"], results).store == f"file:{tmp_path}/store"
    for elsewhere in ("hdfs://host/x", "s3a://bucket"):
        refused([f"STORE={elsewhere}"], home, f"STORE={elsewhere}: the appliance's network")


@pytest.mark.usefixtures("docker")
def test_an_engine_without_a_dockerfile_runs_as_a_process_only(mine: Path, home: Home) -> None:
    words = [f"ENGINE={mine}", "STAGE=ingest"]
    refused(words, home, f"{mine} has no Dockerfile")
    assert understand([*words, "RUNTIME=embedded"], home).engines[0].folder == mine
    (mine / "Dockerfile").touch()
    assert understand(words, home).engines[0].folder == mine


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch, mine: Path) -> list[str]:
    """Images that say of themselves what `mine` does; gives those that were asked."""
    asked: list[str] = []

    def spec_of_image(name: str) -> EngineSpec:
        asked.append(name)
        return EngineSpec.read(mine / "engine.toml")

    monkeypatch.setattr("conductor.engine_choice.spec_of_image", spec_of_image)
    return asked


@pytest.mark.usefixtures("docker")
def test_an_engine_may_be_an_image_that_says_what_it_does(image: list[str], home: Home) -> None:
    asked = understand(["ENGINE_IMAGE=somebody/mine:1", "STAGE=all"], home)
    assert image == ["somebody/mine:1"]
    (engine,) = asked.engines
    assert (engine.spec.name, engine.image) == ("mine", "somebody/mine:1")
    assert asked.settings.engine == "mine"
    assert asked.stages == ("ingest", "parse", "join")
    words = ["ENGINE_IMAGE=somebody/mine:1", "ENGINE=spark"]
    refused(words, home, "ENGINE and ENGINE_IMAGE name two engines")


@pytest.mark.parametrize("words", [[], ["ENGINE=spark"]])
def test_a_process_is_started_from_no_image(words: list[str], home: Home) -> None:
    says = "ENGINE_IMAGE is an image for RUNTIME=docker"
    refused(["ENGINE_IMAGE=x:1", "RUNTIME=embedded", *words], home, says)


CLUSTER_TOML = """
[[service]]
name = "worker"
command = ["./run", "worker"]
instances = "INSTANCES"
only_with = { how = "cluster" }
"""


def test_instances_are_refused_where_nobody_would_heed_them(mine: Path, home: Home) -> None:
    words = [f"ENGINE={mine}", "STAGE=ingest", "INSTANCES=3"]
    refused(words, home, "engine mine starts nothing INSTANCES=3 times")
    text = ENGINE_TOML.replace("[settings]", f"{CLUSTER_TOML}[settings]")
    (mine / "engine.toml").write_text(text)
    refused(words, home, "it does with ENGINE_SETTINGS=how=cluster")
    asked = understand([*words, "ENGINE_SETTINGS=how=cluster"], home)
    assert asked.settings.instances == 3
    refused([f"ENGINE={mine}", "INSTANCES=0"], home, "INSTANCES=0 cannot be")


def test_a_master_is_a_setting_of_engines_that_know_one(mine: Path, home: Home) -> None:
    words = [f"ENGINE={mine}", "STAGE=ingest", "SPARK_MASTER=spark://host:7077"]
    refused(words, home, "SPARK_MASTER=spark://host:7077: engine mine knows no master")
    text = ENGINE_TOML.replace("[settings]", '[settings]\nmaster = "local"')
    (mine / "engine.toml").write_text(text)
    chosen = understand(words, home).settings.engine_settings
    assert chosen == {"master": "spark://host:7077"}


def test_spark_has_a_cluster_of_as_many_workers_as_are_asked_for(home: Home) -> None:
    refused(["INSTANCES=2"], home, "it does with ENGINE_SETTINGS=master=cluster")
    asked = understand(["INSTANCES=2", "SPARK_MASTER=cluster"], home)
    assert asked.settings.instances == 2
    assert asked.settings.engine_settings == {"master": "cluster"}
    assert understand([], home).settings.engine_settings == {}


@pytest.mark.usefixtures("docker")
def test_a_cluster_elsewhere_is_not_reached_from_a_closed_network(home: Home) -> None:
    words = ["STAGE=ingest", "SPARK_MASTER=spark://host:7077"]
    refused(words, home, "SPARK_MASTER=spark://host:7077: the appliance's network is closed")
    refused(words, home, "say RUNTIME=embedded, or SPARK_MASTER=cluster")
    chosen = understand([*words, "RUNTIME=embedded"], home).settings.engine_settings
    assert chosen == {"master": "spark://host:7077"}
    for master in ("cluster", "local"):
        asked = understand(["STAGE=ingest", f"SPARK_MASTER={master}"], home)
        assert asked.settings.runtime == "docker"
        assert asked.settings.engine_settings == {"master": master}


def test_an_empty_value_is_nothing_said_and_the_last_word_counts() -> None:
    assert read_words(["RATE=", "SEED=1", "SEED=2", "SOURCE=a=b"]) == {"SEED": "2", "SOURCE": "a=b"}


#: what a shell can give
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(KNOWN)), st.text(LETTERS, max_size=6)), max_size=4)
)
def test_whatever_is_asked_is_understood_or_a_users_mistake(words: list[tuple[str, str]]) -> None:
    home = Home(ROOT, Path("/nonexistent/results"))
    try:
        asked = understand([f"{name}={value}" for name, value in words], home)
    except UsageError as error:
        assert str(error)
        return
    except EnvironmentLacking as error:
        assert str(error) == NO_DOCKER
        assert words and {"RUNTIME", "ENGINE_IMAGE"} & {name for name, _ in words}
        return
    assert asked.stages and 1 <= asked.repeat <= REPEAT_MAX


def test_a_master_that_is_none_is_refused_before_anything_starts(home: Home) -> None:
    says = "SPARK_MASTER=foo is neither of local, cluster nor an address such as spark://host:7077"
    with pytest.raises(UsageError, match=says):
        understand(["SPARK_MASTER=foo"], home)


def test_a_verb_without_settings_says_so() -> None:
    with pytest.raises(UsageError, match="'BROKERS=5': this verb takes no settings"):
        read_words(["BROKERS=5"], ())
