"""engine.toml and the engine's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.engine import EngineOrder, EngineSpec, Topics, engine_settings_for
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
    ],
)
def test_a_bad_engine_toml_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "engine.toml").write_text(text)
    with pytest.raises(UsageError, match=says):
        EngineSpec.read(tmp_path / "engine.toml")
    with pytest.raises(UsageError, match="is missing"):
        EngineSpec.read(tmp_path / "none.toml")


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
