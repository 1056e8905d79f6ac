"""Whether containers can be had is a sentence or none; an image says itself what engine it is."""

from __future__ import annotations

from typing import Any

import pytest

from conductor.appliance import presence
from conductor.appliance.presence import spec_of_image, what_docker_lacks
from contract.errors import EnvironmentLacking, UsageError
from tests.unit.conductor.appliance.fakes import FakeEngine
from tests.unit.conductor.fakes import ENGINES


def lacking(*_: Any) -> Any:
    raise EnvironmentLacking("it is not there")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """An engine that answers, and a compose."""
    made = FakeEngine()
    monkeypatch.setattr(presence, "DockerEngine", lambda: made)
    monkeypatch.setattr(presence, "compose_command", lambda: ["docker", "compose"])
    return made


def test_nothing_is_lacking_where_an_engine_answers_and_a_compose_is_there(
    engine: FakeEngine,
) -> None:
    assert what_docker_lacks() is None
    assert engine.closed


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", ["DockerEngine", "compose_command"])
def test_what_is_lacking_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, name, lacking)
    assert what_docker_lacks() == "it is not there"


def test_an_engine_that_is_elsewhere_is_said_and_let_go(engine: FakeEngine) -> None:
    engine.elsewhere = "the Docker engine that answers runs in a machine of its own"
    assert what_docker_lacks() == (
        f"{engine.elsewhere}: its containers cannot be measured from here; say RUNTIME=embedded"
    )
    assert engine.closed


@pytest.mark.parametrize(
    "address",
    ["unix:///nonexistent/docker.sock", "tcp://127.0.0.1:1", "nonsense://x", "tcp://"],
)
def test_whatever_address_is_given_it_is_a_sentence(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_HOST", address)
    says = what_docker_lacks()
    assert says is not None
    assert says.startswith("no Docker engine answers (")
    assert "`make engine`" in says and "RUNTIME=embedded" in says
    assert "\n" not in says


def test_an_image_says_of_itself_what_it_does(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def file_of_image(*words: str) -> bytes:
        asked.append(words)
        return (ENGINES / "example" / "engine.toml").read_bytes()

    monkeypatch.setattr(engine, "file_of_image", file_of_image)
    assert spec_of_image("an:image").name == "example"
    assert asked == [("an:image", "/engine.toml")]
    assert engine.closed


def test_an_image_that_says_nothing_is_refused(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "file_of_image", lambda *_: None)
    with pytest.raises(UsageError, match=r"^image an:image has no /engine\.toml, .*new-engine"):
        spec_of_image("an:image")
    monkeypatch.setattr(engine, "file_of_image", lambda *_: b"name = ")
    with pytest.raises(UsageError, match=r"^/engine\.toml of an:image is not TOML"):
        spec_of_image("an:image")
    assert engine.closed
