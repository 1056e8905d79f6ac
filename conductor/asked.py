"""What a user asks for: NAME=value words, checked and turned into settings; starts nothing."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from conductor.appliance.presence import HDFS, what_docker_lacks
from conductor.engine_choice import Contender, EngineChoice, choose_engine, settings_asked
from conductor.home import Home, folder_of, path_of
from contract.engine import EngineSpec, engine_settings_for
from contract.errors import EnvironmentLacking, UsageError, unknown_name
from contract.settings import RUNTIMES, RunSettings
from contract.variant import Variant
from contract.workload import Workload, load_workload

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
#: of the appliance: a cluster as a paper's reviewer would have it
DOCKER_BROKERS = 5


Verb = Literal["bench", "reproduce", "compare"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A campaign that can be run: every setting checked."""

    verb: Verb
    question: str
    stages: tuple[str, ...]
    #: STAGE=all: each of them is an answer, not only the last
    all_stages: bool
    repeat: int
    #: of the last stage and the first contender
    settings: RunSettings
    contenders: tuple[Contender, ...]
    store: str
    runtime_says: str
    #: its verdicts are a first look
    preliminary: bool = False
    #: what it may take; None: as long as it takes
    minutes_max: float | None = None
    #: it begins anew, whatever was interrupted
    fresh: bool = True

    @property
    def engines(self) -> tuple[EngineChoice, ...]:
        """Each once."""
        return tuple({each.engine.spec.name: each.engine for each in self.contenders}.values())

    @property
    def runs(self) -> int:
        return self.repeat * len(self.stages) * len(self.contenders)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """What its figures are told of."""
        return tuple(each.variant for each in self.contenders)

    def contender(self, variant: Variant) -> Contender:
        """Whose figures are told as that variant's."""
        return self.contenders[self.variants.index(variant)]

    def for_run(self, stage: str, contender: Contender) -> RunSettings:
        """The settings of a run of that stage."""
        return replace(
            self.settings,
            stage=stage,
            engine=contender.engine.spec.name,
            mode=contender.execution.mode,
            dialect=contender.execution.dialect,
            engine_settings=dict(contender.settings),
        )

    def engine_settings(self, contender: Contender) -> dict[str, Any]:
        """All settings of its engine, as a run is told them."""
        return engine_settings_for(
            contender.engine.spec, self.for_run(self.settings.stage, contender)
        )


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
    spec = engine.spec
    execution = spec.choose(given.get("MODE"), given.get("DIALECT"))
    own = settings_asked(given, [spec], runtime)[spec.name]
    contenders = (Contender(engine, execution, own),)
    stages = stages_of(given, [spec], "join")
    asked = given.get("STAGE", "join")
    what = "each stage" if asked == "all" else workload.stage(asked).name
    question = f"What does {what} cost?"
    return campaign_of(
        "bench", question, given, home, (runtime, says), contenders, stages, asked == "all", 1
    )


def campaign_of(
    verb: Verb,
    question: str,
    given: dict[str, str],
    home: Home,
    runtime: tuple[str, str],
    contenders: tuple[Contender, ...],
    stages: tuple[str, ...],
    all_stages: bool,
    repeat: int,
    preliminary: bool = False,
) -> Asked:
    """What is left to be read when it is known who runs what; `runtime` is which, and why."""
    name, says = runtime
    return Asked(
        verb,
        question,
        stages,
        all_stages,
        repeat_of(given, repeat),
        settings_of(given, contenders, stages, name),
        contenders,
        store_of(given.get("STORE"), home, name),
        f"{name}: {says}",
        preliminary,
        minutes_of(given),
        fresh=verb == "bench" or yes("FRESH", given.get("FRESH", "0")),
    )


def settings_of(
    given: dict[str, str], contenders: Sequence[Contender], stages: tuple[str, ...], runtime: str
) -> RunSettings:
    """What all runs have in common, and of the last stage and first contender what it has besides.

    No contender is left to refuse it once another's runs were made.
    """
    values: dict[str, Any] = {
        field: number_of(name, given[name], kind)
        for name, (field, kind) in _RUN_SETTINGS.items()
        if name in given
    }
    if runtime == "docker":
        values.setdefault("brokers", DOCKER_BROKERS)
    found: list[RunSettings] = []
    for each in contenders:
        spec = each.engine.spec
        settings = RunSettings(
            **values,
            stage=stages[-1],
            engine=spec.name,
            mode=each.execution.mode,
            dialect=each.execution.dialect,
            runtime=runtime,
            source=_source(given.get("SOURCE", "network")),
            engine_settings=dict(each.settings),
        )
        spec.started(engine_settings_for(spec, settings), settings.instances)
        found.append(settings)
    return found[0]


def repeat_of(given: dict[str, str], default: int) -> int:
    """How often each stage is run."""
    repeat = int(number_of("REPEAT", given.get("REPEAT", str(default)), int))
    if not 1 <= repeat <= REPEAT_MAX:
        raise UsageError(f"REPEAT={repeat} cannot be; give 1 to {REPEAT_MAX}")
    return repeat


def minutes_of(given: Mapping[str, str]) -> float | None:
    """What a campaign must not exceed; None: it may take as long as it takes."""
    text = given.get("MINUTES")
    if text is None:
        return None
    minutes = float(number_of("MINUTES", text, float))
    if not 0 < minutes <= 7 * 24 * 60:
        raise UsageError(f"MINUTES={text} cannot be; give up to {7 * 24 * 60:,}")
    return minutes


def stages_of(given: dict[str, str], specs: Sequence[EngineSpec], default: str) -> tuple[str, ...]:
    """The stages that STAGE and ALONE ask for; every engine claims each of them."""
    workload = load_workload(given.get("WORKLOAD", "traffic"))
    asked = given.get("STAGE", default)
    if asked == "all":
        return _all_stages(workload, specs)
    stage = workload.stage(asked)
    alone = yes("ALONE", given.get("ALONE", "0"))
    first = () if alone or stage.predecessor is None else (stage.predecessor,)
    # the one that was asked for before the one that comes with it
    for name in (stage.name, *first):
        for spec in specs:
            spec.check_stage(workload.name, name)
    return (*first, stage.name)


def _all_stages(workload: Workload, specs: Sequence[EngineSpec]) -> tuple[str, ...]:
    """Every stage of the workload that all of these engines claim."""
    claimed = [spec.stages.get(workload.name, ()) for spec in specs]
    stages = tuple(s.name for s in workload.stages if all(s.name in each for each in claimed))
    if not stages:
        names = " and ".join(dict.fromkeys(spec.name for spec in specs))
        none = "claims no stage" if len(specs) == 1 else "claim no stage in common"
        raise UsageError(f"engine {names} {none} of {workload.name}")
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
