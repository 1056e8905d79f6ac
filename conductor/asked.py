"""What a user asks for: NAME=value words, checked and turned into settings; starts nothing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conductor.home import Home, folder_of, path_of
from contract.engine import EngineSpec, Execution, engine_settings_for, is_number
from contract.errors import UsageError, unknown_name
from contract.settings import RunSettings
from contract.workload import load_workload

#: name → (field of RunSettings, type)
_RUN_SETTINGS: dict[str, tuple[str, type]] = {
    "WORKLOAD": ("workload", str),
    "RATE": ("rate", int),
    "WARMUP": ("warmup_s", float),
    "DURATION": ("duration_s", float),
    "COOLDOWN": ("cooldown_s", float),
    "BROKERS": ("brokers", int),
    "PARTITIONS": ("partitions", int),
    "PARALLELISM": ("parallelism", int),
    "SEED": ("seed", int),
    "TEMPORAL_SCALE": ("temporal_scale", float),
    "ARRIVAL": ("arrival", str),
    "CHECKPOINT": ("checkpoint_s", float),
}
_OTHERS = (
    "STAGE",
    "ALONE",
    "REPEAT",
    "ENGINE",
    "ENGINE_IMAGE",
    "ENGINE_SETTINGS",
    "MODE",
    "DIALECT",
    "SOURCE",
    "STORE",
    "RESULTS",
    "RUNTIME",
)
KNOWN = (*_RUN_SETTINGS, *_OTHERS)
REPEAT_MAX = 50
#: no number that an engine is set with is larger; it refuses endless ones too
SETTING_MAX = 1e15


@dataclass(frozen=True, slots=True)
class Asked:
    """A campaign that can be run: every setting checked."""

    question: str
    stages: tuple[str, ...]
    #: STAGE=all: each of them is an answer, not only the last
    all_stages: bool
    repeat: int
    settings: RunSettings
    spec: EngineSpec
    execution: Execution
    engine_folder: Path
    store: str
    runtime_says: str

    def for_stage(self, stage: str) -> RunSettings:
        """The settings of a run of that stage."""
        return RunSettings.from_json(
            {
                "settings": self.settings.to_json(),
                **{k: getattr(self.settings, k) for k in ("workload", "engine", "mode")},
                "dialect": self.settings.dialect,
                "runtime": self.settings.runtime,
                "stage": stage,
            }
        )


def read_words(words: Iterable[str], known: Iterable[str] = KNOWN) -> dict[str, str]:
    """NAME=value words as a mapping; unknown names are refused with the nearest known one."""
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not of the form NAME=value")
        if name not in known:
            raise unknown_name("setting", name, known)
        if value:
            given[name] = value
    return given


def understand(words: Iterable[str], home: Home) -> Asked:
    """Check all that was asked for; nothing has been started when this fails."""
    given = read_words(words)
    runtime, says = _runtime(given)
    workload = load_workload(given.get("WORKLOAD", "traffic"))
    engine = given.get("ENGINE", "spark")
    folder = home.engine_folder(engine)
    spec = EngineSpec.read(folder / "engine.toml")
    execution = spec.choose(given.get("MODE"), given.get("DIALECT"))
    stages = _stages(given, spec)
    values: dict[str, Any] = {
        field: _number(name, given[name], kind)
        for name, (field, kind) in _RUN_SETTINGS.items()
        if name in given
    }
    settings = RunSettings(
        **values,
        stage=stages[-1],
        engine=spec.name,
        mode=execution.mode,
        dialect=execution.dialect,
        runtime=runtime,
        source=_source(given.get("SOURCE", "network")),
        engine_settings=_engine_settings(given.get("ENGINE_SETTINGS", ""), spec),
    )
    engine_settings_for(spec, settings)
    repeat = _number("REPEAT", given.get("REPEAT", "1"), int)
    if not 1 <= repeat <= REPEAT_MAX:
        raise UsageError(f"REPEAT={repeat} cannot be; give 1 to {REPEAT_MAX}")
    asked = given.get("STAGE", "join")
    if asked == "all":
        question = "What does each stage cost?"
    else:
        question = f"What does {workload.stage(asked).name} cost?"
    store = _store(given.get("STORE"), home)
    return Asked(
        question,
        stages,
        asked == "all",
        repeat,
        settings,
        spec,
        execution,
        folder,
        store,
        f"{runtime}: {says}",
    )


def _stages(given: dict[str, str], spec: EngineSpec) -> tuple[str, ...]:
    workload = load_workload(given.get("WORKLOAD", "traffic"))
    asked = given.get("STAGE", "join")
    if asked == "all":
        claimed = spec.stages.get(workload.name, ())
        stages = tuple(s.name for s in workload.stages if s.name in claimed)
        if not stages:
            raise UsageError(f"engine {spec.name} claims no stage of {workload.name}")
    else:
        stage = workload.stage(asked)
        alone = _yes("ALONE", given.get("ALONE", "0"))
        first = () if alone or stage.predecessor is None else (stage.predecessor,)
        stages = (*first, stage.name)
    for name in stages:
        spec.check_stage(workload.name, name)
    return stages


def _runtime(given: dict[str, str]) -> tuple[str, str]:
    asked = given.get("RUNTIME", "auto")
    if "ENGINE_IMAGE" in given:
        raise UsageError(
            "ENGINE_IMAGE needs RUNTIME=docker, which this version does not have yet; "
            "name an engine's folder with ENGINE instead"
        )
    if asked == "auto":
        return "embedded", "the only runtime of this version"
    if asked == "embedded":
        return asked, "as asked"
    raise unknown_name("RUNTIME", asked, ["auto", "embedded"])


def _yes(name: str, text: str) -> bool:
    if text.lower() in ("1", "yes", "true"):
        return True
    if text.lower() in ("0", "no", "false"):
        return False
    raise UsageError(f"{name}={text} cannot be; give 1 or 0")


def _number(name: str, text: str, kind: type) -> Any:
    """The text as a number; Python would also take 1_000 and the digits of other scripts."""
    what = "a whole number" if kind is int else "a number"
    try:
        if text.isascii() and "_" not in text:
            return kind(text)
    except ValueError:
        pass
    raise UsageError(f"{name}={text} is not {what}")


def _source(text: str) -> str:
    if text == "network":
        return text
    path = path_of(text)
    there = False
    with contextlib.suppress(OSError):  # a name may be too long for any file
        there = path.is_file() or path.is_dir()
    if not there:
        raise UsageError(f"SOURCE={text}: there is no such file or folder (or say network)")
    return str(path)


def _store(text: str | None, home: Home) -> str:
    if text is None:
        return f"file:{home.results}/store"
    path = text.removeprefix("file://").removeprefix("file:")
    if "://" in path or path.startswith("hdfs:"):
        raise UsageError(f"STORE={text}: the embedded runtime stores to file: only")
    return f"file:{folder_of('STORE', path)}"


def _engine_settings(text: str, spec: EngineSpec) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for pair in filter(None, text.replace(",", " ").split()):
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"ENGINE_SETTINGS: {pair!r} is not of the form name=value")
        spec.check_settings({name: value})
        if name == "checkpoint_s":
            raise UsageError(f"the checkpoint interval is every engine's: say CHECKPOINT={value}")
        chosen[name] = _like(name, value, spec.settings[name])
    return chosen


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
