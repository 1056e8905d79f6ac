"""What a user asks for: NAME=value words, checked and turned into settings; starts nothing."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from conductor.appliance.presence import HDFS, spec_of_image, what_docker_lacks
from conductor.home import Home, folder_of, path_of
from contract.engine import EngineSpec, Execution, engine_settings_for, is_number
from contract.errors import EnvironmentLacking, UsageError, unknown_name
from contract.settings import RUNTIMES, RunSettings
from contract.variant import Variant
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
    "INSTANCES": ("instances", int),
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
    "SPARK_MASTER",
    "MODE",
    "DIALECT",
    "SOURCE",
    "STORE",
    "RESULTS",
    "RUNTIME",
)
KNOWN = (*_RUN_SETTINGS, *_OTHERS)
REPEAT_MAX = 50
#: a scheme, and what makes it an address
_URI = re.compile(r"([a-z][a-z0-9+.-]+):(//[^/]+)?")
#: no number that an engine is set with is larger; it refuses endless ones too
SETTING_MAX = 1e15


#: what SPARK_MASTER may be besides an address
MASTERS = ("local", "cluster")
#: of the appliance: a cluster as a paper's reviewer would have it
DOCKER_BROKERS = 5


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine: what it says of itself, and its folder or the image that was given."""

    spec: EngineSpec
    #: where its engine.toml is; what an image was given for has none here
    folder: Path
    #: ENGINE_IMAGE; None: in the docker runtime the folder's own image is built
    image: str | None = None


Verb = Literal["bench", "reproduce"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A campaign that can be run: every setting checked."""

    verb: Verb
    question: str
    stages: tuple[str, ...]
    #: STAGE=all: each of them is an answer, not only the last
    all_stages: bool
    repeat: int
    #: of the last stage and the first execution
    settings: RunSettings
    engine: EngineChoice
    executions: tuple[Execution, ...]
    store: str
    runtime_says: str
    #: its verdicts are a first look
    preliminary: bool = False
    #: what it may take; None: as long as it takes
    minutes_max: float | None = None
    #: it begins anew, whatever was interrupted
    fresh: bool = True

    @property
    def spec(self) -> EngineSpec:
        return self.engine.spec

    @property
    def runs(self) -> int:
        return self.repeat * len(self.stages) * len(self.executions)

    def variant(self, execution: Execution) -> Variant:
        """The engine with that mode and dialect."""
        return Variant(self.spec.name, execution.mode, execution.dialect)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """What its figures are told of."""
        return tuple(self.variant(execution) for execution in self.executions)

    def execution_of(self, variant: Variant) -> Execution:
        """How a variant executes."""
        return self.executions[self.variants.index(variant)]

    def for_run(self, stage: str, execution: Execution) -> RunSettings:
        """The settings of a run of that stage."""
        return replace(self.settings, stage=stage, mode=execution.mode, dialect=execution.dialect)


def read_words(words: Iterable[str], known: Collection[str] = KNOWN) -> dict[str, str]:
    """NAME=value words as a mapping; unknown names are refused with the nearest known one."""
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not of the form NAME=value")
        if not known:
            raise UsageError(f"{word!r}: this verb takes no settings")
        if name not in known:
            raise unknown_name("setting", name, known)
        if value:
            given[name] = value
    return given


def understand(words: Iterable[str], home: Home) -> Asked:
    """Check all that was asked for; nothing has been started when this fails."""
    given = read_words(words)
    runtime, says = choose_runtime(given)
    workload = load_workload(given.get("WORKLOAD", "traffic"))
    engine = choose_engine(given, home, runtime)
    execution = engine.spec.choose(given.get("MODE"), given.get("DIALECT"))
    stages = _stages(given, engine.spec)
    asked = given.get("STAGE", "join")
    what = "each stage" if asked == "all" else workload.stage(asked).name
    return Asked(
        "bench",
        f"What does {what} cost?",
        stages,
        asked == "all",
        repeat_of(given, 1),
        settings_of(given, engine.spec, execution, stages, runtime),
        engine,
        (execution,),
        store_of(given.get("STORE"), home, runtime),
        f"{runtime}: {says}",
    )


def settings_of(
    given: dict[str, str],
    spec: EngineSpec,
    execution: Execution,
    stages: tuple[str, ...],
    runtime: str,
) -> RunSettings:
    """What all runs have in common, and of the last stage what it has besides."""
    values: dict[str, Any] = {
        field: number_of(name, given[name], kind)
        for name, (field, kind) in _RUN_SETTINGS.items()
        if name in given
    }
    if runtime == "docker":
        values.setdefault("brokers", DOCKER_BROKERS)
    settings = RunSettings(
        **values,
        stage=stages[-1],
        engine=spec.name,
        mode=execution.mode,
        dialect=execution.dialect,
        runtime=runtime,
        source=_source(given.get("SOURCE", "network")),
        engine_settings=_engine_settings(given, spec, runtime),
    )
    spec.started(engine_settings_for(spec, settings), settings.instances)
    return settings


def repeat_of(given: dict[str, str], default: int) -> int:
    """How often each stage is run."""
    repeat = int(number_of("REPEAT", given.get("REPEAT", str(default)), int))
    if not 1 <= repeat <= REPEAT_MAX:
        raise UsageError(f"REPEAT={repeat} cannot be; give 1 to {REPEAT_MAX}")
    return repeat


def all_stages(given: dict[str, str], spec: EngineSpec) -> tuple[str, ...]:
    """Every stage of the workload that the engine claims."""
    workload = load_workload(given.get("WORKLOAD", "traffic"))
    claimed = spec.stages.get(workload.name, ())
    stages = tuple(s.name for s in workload.stages if s.name in claimed)
    if not stages:
        raise UsageError(f"engine {spec.name} claims no stage of {workload.name}")
    return stages


def _stages(given: dict[str, str], spec: EngineSpec) -> tuple[str, ...]:
    workload = load_workload(given.get("WORKLOAD", "traffic"))
    asked = given.get("STAGE", "join")
    if asked == "all":
        stages = all_stages(given, spec)
    else:
        stage = workload.stage(asked)
        alone = yes("ALONE", given.get("ALONE", "0"))
        first = () if alone or stage.predecessor is None else (stage.predecessor,)
        stages = (*first, stage.name)
    # the one that was asked for before the one that comes with it
    for name in reversed(stages):
        spec.check_stage(workload.name, name)
    return stages


def choose_runtime(given: dict[str, str]) -> tuple[str, str]:
    """The runtime, and why that one."""
    asked = given.get("RUNTIME", "auto")
    if asked not in ("auto", *RUNTIMES):
        raise unknown_name("RUNTIME", asked, ["auto", *RUNTIMES])
    if asked == "embedded":
        if "ENGINE_IMAGE" in given:
            raise UsageError(
                "ENGINE_IMAGE is an image for RUNTIME=docker; the embedded runtime takes an "
                "engine's folder (ENGINE=…)"
            )
        return asked, "as asked"
    lacking = what_docker_lacks()
    if lacking is None:
        return "docker", "as asked" if asked == "docker" else "a Docker engine answers"
    if asked == "docker" or "ENGINE_IMAGE" in given:
        raise EnvironmentLacking(lacking)
    return "embedded", re.split(r" \(|[;:] ", lacking)[0]


def choose_engine(given: dict[str, str], home: Home, runtime: str) -> EngineChoice:
    """The engine that was named, or the image that was given, and what it says of itself."""
    image = given.get("ENGINE_IMAGE")
    if image is None:
        folder = home.engine_folder(given.get("ENGINE", "spark"))
        if runtime == "docker" and not (folder / "Dockerfile").exists():
            raise UsageError(
                f"{folder} has no Dockerfile to build its image from; write one, give an image "
                f"with ENGINE_IMAGE, or say RUNTIME=embedded"
            )
        return EngineChoice(EngineSpec.read(folder / "engine.toml"), folder)
    if "ENGINE" in given:
        raise UsageError("ENGINE and ENGINE_IMAGE name two engines; give one of them")
    return EngineChoice(spec_of_image(image), home.engines, image)


def yes(name: str, text: str) -> bool:
    if text.lower() in ("1", "yes", "true"):
        return True
    if text.lower() in ("0", "no", "false"):
        return False
    raise UsageError(f"{name}={text} cannot be; give 1 or 0")


def number_of(name: str, text: str, kind: type) -> Any:
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


def store_of(text: str | None, home: Home, runtime: str) -> str:
    if text is None:
        return HDFS if runtime == "docker" else home.store
    uri = _URI.match(text)
    if uri and uri[1] != "file":
        if not uri[2]:
            raise UsageError(f"STORE={text} is no Hadoop URI; such as hdfs://host:8020/folder")
        if runtime == "docker":
            raise UsageError(
                f"STORE={text}: the appliance's network is closed, and it has an HDFS of its own; "
                f"say RUNTIME=embedded to store elsewhere"
            )
        return text
    path = text.removeprefix("file://").removeprefix("file:")
    return f"file:{folder_of('STORE', path)}"


def _engine_settings(given: dict[str, str], spec: EngineSpec, runtime: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for pair in filter(None, given.get("ENGINE_SETTINGS", "").replace(",", " ").split()):
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"ENGINE_SETTINGS: {pair!r} is not of the form name=value")
        spec.check_settings({name: value})
        if name == "checkpoint_s":
            raise UsageError(f"the checkpoint interval is every engine's: say CHECKPOINT={value}")
        chosen[name] = _like(name, value, spec.settings[name])
    if master := given.get("SPARK_MASTER"):
        if "master" not in spec.settings:
            raise UsageError(f"SPARK_MASTER={master}: engine {spec.name} knows no master")
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
        chosen["master"] = master
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
