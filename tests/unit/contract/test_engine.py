"""engine.toml and the engine's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.engine import EngineOrder, EngineSpec, Place, Topics, engine_settings_for
from contract.errors import UsageError
from contract.settings import RunSettings

ENGINES = Path(__file__).resolve().parents[3] / "images" / "engines"


@pytest.mark.parametrize("path", sorted(ENGINES.glob("*/engine.toml")), ids=lambda p: p.parent.name)
def test_every_engine_here_is_whole(path: Path) -> None:
    spec = EngineSpec.read(path)
    assert spec.name == path.parent.name
    assert spec.services
    for execution in spec.executions:
        assert execution.disorder_setting in (None, *spec.settings)


def spark() -> EngineSpec:
    return EngineSpec.read(ENGINES / "spark" / "engine.toml")


def test_choice_of_mode_and_dialect() -> None:
    spec = spark()
    assert spec.choose(None, None) == spec.executions[0]
    assert spec.choose("micro-batch", None).dialect == "windowed"
    assert spec.choose(None, "windowed").mode == "micro-batch"
    with pytest.raises(UsageError, match="does not run real-time with windowed"):
        spec.choose("real-time", "windowed")
    with pytest.raises(UsageError, match="did you mean real-time"):
        spec.choose("realtime", None)


def test_settings_of_a_run() -> None:
    settings = RunSettings(checkpoint_s=20, engine_settings={"linger_ms": 7})
    chosen = engine_settings_for(spark(), settings)
    assert (chosen["checkpoint_s"], chosen["linger_ms"]) == (20, 7)
    with pytest.raises(UsageError, match="did you mean linger_ms"):
        engine_settings_for(spark(), RunSettings(engine_settings={"linger": 7}))


WHOLE = """
name = "x"
version = "1"
delivery = "at-least-once"
[stages]
traffic = ["parse"]
[[execution]]
mode = "streaming"
dialect = "eager"
commits = "none"
disorder_setting = "linger_ms"
[[service]]
name = "x"
command = ["./x"]
instances = 1
[settings]
linger_ms = 0
"""


AIDE = """
[[service]]
name = "aide"
command = ["./x", "aide"]
instances = "INSTANCES"
"""


def test_a_whole_engine_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "engine.toml").write_text(WHOLE)
    assert EngineSpec.read(tmp_path / "engine.toml").settings == {"linger_ms": 0}


def test_the_documented_engine_toml_is_whole(tmp_path: Path) -> None:
    text = (ENGINES.parents[1] / "docs" / "new-engine.md").read_text(encoding="utf-8")
    (tmp_path / "engine.toml").write_text(text.partition("```toml\n")[2].partition("```")[0])
    assert EngineSpec.read(tmp_path / "engine.toml").name == "my-engine"


def test_an_engine_toml_of_other_bytes_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "engine.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(UsageError, match="is not TOML"):
        EngineSpec.read(tmp_path / "engine.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 1 =", "is not TOML"),
        ('name = "x"', "does not say 'version'"),
        (WHOLE.replace("instances = 1", 'instances = "two"'), "is not as docs/new-engine.md shows"),
        (WHOLE.replace("[[execution]]", "[execution]"), "is not as docs/new-engine.md shows"),
        (WHOLE.replace("linger_ms = 0", ""), "disorder_setting names linger_ms"),
        (WHOLE.replace("linger_ms = 0", 'linger_ms = "0"'), "no number of"),
        (WHOLE.replace('"none"', '"interval"'), "needs the setting checkpoint_s"),
        ("service = []\n" + WHOLE.partition("[[service]]")[0], "at least one"),
        (WHOLE.replace("instances = 1", "instances = 0"), "the service x has no instance"),
        (WHOLE.replace("instances = 1", 'instances = "ASKED"'), "is not as docs/new-engine.md"),
        (WHOLE.replace('["./x"]', "[]"), "the service x has no command"),
        (WHOLE.replace("[settings]", AIDE.replace("aide", "x") + "[settings]"), "have one name"),
        (WHOLE.replace("[settings]", AIDE.replace("aide", "Aide") + "[settings]"), "'Aide' is not"),
        (WHOLE.replace("[settings]", AIDE.replace("aide", "a_b") + "[settings]"), "'a_b' is not"),
        (WHOLE.replace("[settings]", AIDE.replace("aide", "a-") + "[settings]"), "'a-' is not"),
        (WHOLE.replace("[settings]", AIDE.replace("aide", "") + "[settings]"), "'' is not"),
        (
            WHOLE.replace("[settings]", AIDE + "only_with = { how = 1 }\n[settings]"),
            "only_with of aide names how, which is not in",
        ),
        (
            WHOLE.replace("instances = 1", "only_with = { linger_ms = 0 }"),
            "the first .* takes no only_with",
        ),
    ],
)
def test_a_bad_engine_toml_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "engine.toml").write_text(text)
    with pytest.raises(UsageError, match=says):
        EngineSpec.read(tmp_path / "engine.toml")
    with pytest.raises(UsageError, match="is missing"):
        EngineSpec.read(tmp_path / "none.toml")


@pytest.mark.parametrize("name", ["a", "a1", "a-b", "0", "a" * 32])
def test_a_service_may_have_any_name_that_a_container_may_have(name: str) -> None:
    text = WHOLE.replace("[settings]", f"{AIDE.replace('aide', name)}[settings]")
    assert parsed(text).services[1].name == name


def parsed(text: str) -> EngineSpec:
    return EngineSpec.parse(text.encode(), "engine.toml")


def cluster() -> EngineSpec:
    return parsed(WHOLE.replace("[settings]", f"{AIDE}only_with = {{ linger_ms = 5 }}\n[settings]"))


def started(spec: EngineSpec, instances: int, **settings: object) -> dict[str, int]:
    found = spec.started({**spec.settings, **settings}, instances)
    return {service.name: count for service, count in found}


def test_what_an_engine_toml_says_is_the_same_wherever_it_was(tmp_path: Path) -> None:
    (tmp_path / "engine.toml").write_text(WHOLE)
    assert EngineSpec.read(tmp_path / "engine.toml") == parsed(WHOLE)
    with pytest.raises(UsageError, match=r"^/engine\.toml of an:image is not TOML"):
        EngineSpec.parse(b"name = ", "/engine.toml of an:image")


def test_a_service_has_one_instance_so_many_or_as_many_as_are_asked_for() -> None:
    assert parsed(WHOLE.replace("instances = 1\n", "")).services[0].instances == 1
    assert parsed(WHOLE.replace("instances = 1", "instances = 3")).services[0].instances == 3
    several = parsed(WHOLE.replace("instances = 1", 'instances = "INSTANCES"'))
    assert several.services[0].instances is None
    assert started(several, 1) == {"x": 1}
    assert started(several, 4) == {"x": 4}


def test_a_service_is_started_with_the_settings_that_want_it() -> None:
    assert started(cluster(), 1) == {"x": 1}
    assert started(cluster(), 1, linger_ms=5) == {"x": 1, "aide": 1}
    assert started(cluster(), 3, linger_ms=5) == {"x": 1, "aide": 3}


def test_instances_that_nobody_heeds_are_refused() -> None:
    assert started(parsed(WHOLE), 1) == {"x": 1}
    with pytest.raises(UsageError, match=r"^engine x starts nothing INSTANCES=2 times$"):
        started(parsed(WHOLE), 2)
    with pytest.raises(UsageError, match=r"times \(it does with ENGINE_SETTINGS=linger_ms=5\)$"):
        started(cluster(), 2)


def test_a_place_is_who_one_is_among_all() -> None:
    peers = {"master": ("10.0.0.1:7000",), "worker": ("10.0.0.2:7000", "10.0.0.3:7001")}
    place = Place("worker", 2, peers)
    assert place.address == ("10.0.0.3", 7001)
    env = place.to_environment()
    assert env["PEERS"] == (
        '{"master": ["10.0.0.1:7000"], "worker": ["10.0.0.2:7000", "10.0.0.3:7001"]}'
    )
    assert (env["SERVICE"], env["INSTANCE"]) == ("worker", "2")
    assert Place.from_environment(env) == place


@pytest.mark.parametrize("name", ["SERVICE", "INSTANCE", "PEERS"])
def test_a_place_that_was_not_told_is_named(name: str) -> None:
    env = Place("x", 1, {"x": ("127.0.0.1:1",)}).to_environment()
    del env[name]
    with pytest.raises(UsageError, match=f"does not set {name}"):
        Place.from_environment(env)


@pytest.mark.parametrize(
    ("name", "value"),
    [("INSTANCE", "one"), ("PEERS", "{"), ("PEERS", "[]"), ("PEERS", '{"x": 1}')],
)
def test_a_place_that_is_not_well_formed_is_a_sentence(name: str, value: str) -> None:
    env = Place("x", 1, {"x": ("127.0.0.1:1",)}).to_environment()
    with pytest.raises(UsageError, match="the environment is not well-formed"):
        Place.from_environment(env | {name: value})


def test_environment_round_trip() -> None:
    topics = Topics.of("r1", ("flow", "speed"))
    order = EngineOrder(
        run_id="r1",
        workload="traffic",
        stage="join",
        mode="real-time",
        dialect="eager",
        bootstrap_servers="127.0.0.1:1,127.0.0.1:2",
        input_topics=topics.inputs,
        output_topic=topics.output,
        parallelism=2,
        instances=1,
        state_dir="/tmp/x",
        workload_params={},
        engine_settings={"linger_ms": 0},
    )
    assert EngineOrder.from_environment(order.to_environment()) == order
    env = order.to_environment()
    del env["STAGE"]
    with pytest.raises(UsageError, match="does not set STAGE"):
        EngineOrder.from_environment(env)
