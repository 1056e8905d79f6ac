"""Which engines are meant, how each executes, with which settings of its own; starts nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conductor.appliance.presence import spec_of_image
from conductor.home import Home
from contract.engine import EngineSpec, Execution, is_number
from contract.errors import UsageError, unknown_name
from contract.variant import Variant

#: no number that an engine is set with is larger; it refuses endless ones too
SETTING_MAX = 1e15
#: what SPARK_MASTER may be besides an address
MASTERS = ("local", "cluster")


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine: what it says of itself, and its folder or the image that was given."""

    spec: EngineSpec
    #: where its engine.toml is; what an image was given for has none here
    folder: Path
    #: ENGINE_IMAGE; None: in the docker runtime the folder's own image is built
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Contender:
    """An engine with one of the ways in which it executes: what figures are told of."""

    engine: EngineChoice
    execution: Execution
    #: settings of the engine's own that were asked for
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant(self) -> Variant:
        return Variant(self.engine.spec.name, self.execution.mode, self.execution.dialect)


def choose_engine(given: Mapping[str, str], home: Home, runtime: str) -> EngineChoice:
    """The engine that was named, or the image that was given, and what it says of itself."""
    image = given.get("ENGINE_IMAGE")
    if image is None:
        return engine_named(given.get("ENGINE", "spark"), home, runtime)
    if "ENGINE" in given:
        raise UsageError("ENGINE and ENGINE_IMAGE name two engines; give one of them")
    return engine_of_image(image, home)


def engine_named(name: str, home: Home, runtime: str) -> EngineChoice:
    """A folder of images/engines, or any other by its path."""
    folder = home.engine_folder(name)
    if runtime == "docker" and not (folder / "Dockerfile").exists():
        raise UsageError(
            f"{folder} has no Dockerfile to build its image from; write one, give an image "
            f"with ENGINE_IMAGE, or say RUNTIME=embedded"
        )
    spec = EngineSpec.read(folder / "engine.toml")
    if folder.parent == home.engines and spec.name != folder.name:
        raise UsageError(
            f'{folder}/engine.toml says name = "{spec.name}"; in that folder it must be '
            f'"{folder.name}"'
        )
    return EngineChoice(spec, folder)


def engine_of_image(image: str, home: Home) -> EngineChoice:
    """An image that obeys the contract."""
    return EngineChoice(spec_of_image(image), home.engines, image)


def settings_asked(
    given: Mapping[str, str], specs: Sequence[EngineSpec], runtime: str
) -> dict[str, dict[str, Any]]:
    """Engine → what ENGINE_SETTINGS says of it: `name=value` is for each that knows the name,
    `engine.name=value` for one.
    """
    chosen: dict[str, dict[str, Any]] = {spec.name: {} for spec in specs}
    for pair in filter(None, given.get("ENGINE_SETTINGS", "").replace(",", " ").split()):
        told, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"ENGINE_SETTINGS: {pair!r} is not of the form name=value")
        meant, name = _meant(told, specs)
        if name == "checkpoint_s":
            raise UsageError(f"the checkpoint interval is every engine's: say CHECKPOINT={value}")
        for spec in meant:
            chosen[spec.name][name] = _like(name, value, spec.settings[name])
    if master := given.get("SPARK_MASTER"):
        for spec in _that_know_a_master(master, specs, runtime):
            chosen[spec.name]["master"] = master
    return chosen


def _meant(told: str, specs: Sequence[EngineSpec]) -> tuple[list[EngineSpec], str]:
    """The engines that a setting is for, and its name."""
    engine, dot, name = told.partition(".")
    if dot and not any(told in spec.settings for spec in specs):
        named = [spec for spec in specs if spec.name == engine]
        if not named:
            raise unknown_name("engine", engine, [spec.name for spec in specs])
        named[0].check_settings({name: None})
        return named, name
    meant = [spec for spec in specs if told in spec.settings]
    if not meant:
        of = " and ".join(dict.fromkeys(spec.name for spec in specs))
        known = dict.fromkeys(each for spec in specs for each in spec.settings)
        raise unknown_name(f"setting of engine {of}", told, known)
    return meant, told


def _that_know_a_master(master: str, specs: Sequence[EngineSpec], runtime: str) -> list[EngineSpec]:
    meant = [spec for spec in specs if "master" in spec.settings]
    if not meant:
        names = " nor ".join(dict.fromkeys(spec.name for spec in specs))
        raise UsageError(f"SPARK_MASTER={master}: engine {names} knows no master")
    if master not in MASTERS and "://" not in master:
        raise UsageError(
            f"SPARK_MASTER={master} is neither of {', '.join(MASTERS)} nor an address such as "
            f"spark://host:7077"
        )
    if runtime == "docker" and "://" in master:
        raise UsageError(
            f"SPARK_MASTER={master}: the appliance's network is closed, nothing in it reaches "
            f"another cluster; say RUNTIME=embedded, or SPARK_MASTER=cluster"
        )
    return meant


def _like(name: str, text: str, default: Any) -> Any:
    """The text as a value of its default's kind."""
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    number = is_number(value) and abs(value) <= SETTING_MAX
    if isinstance(default, bool) and isinstance(value, bool):
        return value
    if not isinstance(default, bool) and number:
        if value < 0 <= default:
            raise UsageError(f"ENGINE_SETTINGS: {name}={text} must not be below zero")
        return value
    raise UsageError(f"ENGINE_SETTINGS: {name}={text} is not like its default {default!r}")
