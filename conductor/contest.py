"""What a comparison of engines is asked: the same stages on each, interleaved; starts nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conductor.asked import KNOWN, Asked, campaign_of, choose_runtime, read_words, stages_of
from conductor.engine_choice import (
    Contender,
    EngineChoice,
    engine_named,
    engine_of_image,
    settings_asked,
)
from conductor.home import Home, path_of
from contract.chosen import Choice
from contract.engine import EngineSpec, Execution
from contract.errors import UsageError, unknown_name
from contract.settings import DIALECTS
from contract.variant import Variant

OWN = ("ENGINES", "MINUTES", "FRESH")
CONTEST_KNOWN = (*(name for name in KNOWN if name not in ("ENGINE", "MODE")), *OWN)
#: a verdict needs three runs of each
REPEAT = 3
#: as reproduce has it: micro-batches go on getting shorter for minutes
DEFAULTS = {"WARMUP": "20"}
_EXAMPLE = "ENGINES=spark,flink"


def is_contest(words: Iterable[str]) -> bool:
    """Whether `compare` is to run engines; otherwise it sets two campaigns side by side."""
    return any(word.startswith("ENGINES=") for word in words)


def understand_contest(words: Iterable[str], home: Home) -> Asked:
    """Check all that was asked for; nothing has been started when this fails."""
    words = list(words)
    for name, instead in (("ENGINE", _EXAMPLE), ("MODE", "ENGINES=spark:micro-batch/windowed,…")):
        if any(word.startswith(f"{name}=") for word in words):
            raise UsageError(f"{name}: compare takes several engines; say {instead}")
    given = {**DEFAULTS, **read_words(words, CONTEST_KNOWN)}
    runtime, says = choose_runtime(given)
    pairs = list(_pairs(given, home, runtime))
    if len(pairs) < 2:
        raise UsageError(
            f"one engine cannot be compared; name two, such as {_EXAMPLE}, or two ways of one: "
            f"ENGINES=spark:real-time/eager,spark:micro-batch/eager"
        )
    specs = [engine.spec for engine, _ in pairs]
    own = settings_asked(given, specs, runtime)
    contenders = tuple(
        Contender(engine, execution, own[engine.spec.name]) for engine, execution in pairs
    )
    _refuse_twins(contenders)
    stages = stages_of(given, specs, "all")
    names = list(dict.fromkeys(spec.name for spec in specs))
    which = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "Which way to execute"
    all_stages = given.get("STAGE", "all") == "all"
    question = f"{which}: which is faster{' at each stage' * all_stages}?"
    return campaign_of(
        "compare", question, given, home, (runtime, says), contenders, stages, all_stages, REPEAT
    )


def _pairs(
    given: dict[str, str], home: Home, runtime: str
) -> Iterator[tuple[EngineChoice, Execution]]:
    """Each word of ENGINES, an engine with or without `:mode/dialect`; then ENGINE_IMAGE."""
    dialect = given.get("DIALECT")
    if dialect not in (None, *DIALECTS):
        raise unknown_name("DIALECT", str(dialect), DIALECTS)
    known: dict[str, EngineChoice] = {}
    for word in filter(None, given.get("ENGINES", "").split(",")):
        name, choice = _read(word)
        if name not in known:
            known[name] = engine_named(name, home, runtime)
        yield known[name], _execution(known[name].spec, choice, dialect)
    if image := given.get("ENGINE_IMAGE"):
        engine = engine_of_image(image, home)
        yield engine, engine.spec.choose(None, dialect)


def _read(word: str) -> tuple[str, Choice]:
    """A folder's own name may hold a colon."""
    front, colon, back = word.rpartition(":")
    if not colon or ("/" in word and (path_of(word) / "engine.toml").exists()):
        return word, Choice()
    return front, Choice.read(back)


def _execution(spec: EngineSpec, choice: Choice, dialect: str | None) -> Execution:
    if not choice.parts:
        return spec.choose(None, dialect)
    for each in spec.executions:
        if choice.fits(Variant(spec.name, each.mode, each.dialect)):
            return each
    pairs = [f"{each.mode}/{each.dialect}" for each in spec.executions]
    raise unknown_name(f"variant of engine {spec.name}", str(choice), pairs)


def _refuse_twins(contenders: tuple[Contender, ...]) -> None:
    """Figures are told apart by variant, and images by the engine's name."""
    variants = [each.variant for each in contenders]
    for variant in variants:
        if variants.count(variant) > 1:
            raise UsageError(
                f"{variant} is named twice; a campaign holds each variant once, and tells engines "
                f"apart by the name in their engine.toml"
            )
    for one in contenders:
        for other in contenders:
            if one.engine.spec.name == other.engine.spec.name and one.engine != other.engine:
                raise UsageError(
                    f"two engines call themselves {one.engine.spec.name}; one of them must take "
                    f"another name in its engine.toml"
                )
