"""What a reproduction is asked: every stage, mode and dialect, repeated; or a quick look."""

from __future__ import annotations

from collections.abc import Iterable

from conductor.asked import KNOWN, Asked, campaign_of, choose_runtime, read_words, stages_of, yes
from conductor.engine_choice import Contender, choose_engine, settings_asked
from conductor.home import Home
from contract.engine import EngineSpec, Execution
from contract.errors import UsageError

OWN = ("QUICK", "MINUTES", "FRESH")
REPRODUCE_KNOWN = (*(name for name in KNOWN if name not in ("STAGE", "ALONE")), *OWN)
REPEAT = 5
#: a window that holds three checkpoints, and no more than that
QUICK_SETTINGS = {"WARMUP": "8", "DURATION": "30", "COOLDOWN": "4", "REPEAT": "1"}
#: micro-batches go on getting shorter for minutes; this is where most of it is behind them
FULL_SETTINGS = {"WARMUP": "20"}


def understand_reproduction(words: Iterable[str], home: Home) -> Asked:
    """Check all that was asked for; nothing has been started when this fails."""
    words = list(words)
    for name in ("STAGE", "ALONE"):
        if any(word.startswith(f"{name}=") for word in words):
            raise UsageError(f"{name}: reproduce runs every stage; bench takes one")
    given = read_words(words, REPRODUCE_KNOWN)
    quick = yes("QUICK", given.get("QUICK", "0"))
    given = {**(QUICK_SETTINGS if quick else FULL_SETTINGS), **given}
    runtime, says = choose_runtime(given)
    engine = choose_engine(given, home, runtime)
    spec = engine.spec
    own = settings_asked(given, [spec], runtime)[spec.name]
    contenders = tuple(Contender(engine, each, own) for each in _executions(given, spec, quick))
    stages = stages_of(given, [spec], "all")
    question = "Do the paper's claims hold here?"
    return campaign_of(
        "reproduce", question, given, home, (runtime, says), contenders, stages, True, REPEAT, quick
    )


def _executions(given: dict[str, str], spec: EngineSpec, quick: bool) -> tuple[Execution, ...]:
    """Those that fit MODE and DIALECT; of a quick look the first of each mode and dialect."""
    # a wrong name is refused with the nearest one
    spec.choose(given.get("MODE"), given.get("DIALECT"))
    fitting = [
        each
        for each in spec.executions
        if given.get("MODE") in (None, each.mode) and given.get("DIALECT") in (None, each.dialect)
    ]
    if quick:
        kept: list[Execution] = []
        for name in ("mode", "dialect"):
            for each in fitting:
                if getattr(each, name) not in [getattr(one, name) for one in kept]:
                    kept.append(each)
        fitting = [each for each in fitting if each in kept]
    return tuple(fitting)
