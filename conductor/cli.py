"""The command line of `tollgate`; the one place where any exception becomes a sentence."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from conductor.home import TRACE_PREFIX, Home
from conductor.interrupts import listen
from contract.errors import EnvironmentLacking, ExitCode, TollgateError, unknown_name

if TYPE_CHECKING:
    from conductor.asked import Asked

USAGE = """usage: ./tollgate VERB [NAME=value …]

  bench         run a stage and the one before it, and say what the stage costs
  reproduce     put the paper's claims to the test     QUICK=1 for a first look, MINUTES= FRESH=1
  engine-check  give an engine the conformance test
  doctor        say what this machine has, what a campaign costs, what would stop it
  report        write a campaign's report anew, and its pictures     CAMPAIGN= FIGURES=folder
  verify        rebuild a campaign, or an archive of one, from its topics and samples
                CAMPAIGN=results/latest STORE=
  archive       pack a campaign into one file to publish, SLIM=1 without its topics
                CAMPAIGN=results/latest ARCHIVE=file STORE=
  compare       run engines side by side               ENGINES=spark,flink STAGE=all REPEAT=3
                or set two campaigns side by side      A=first B=results/latest JSON=1
  clean         take away what was left behind         WHAT=temporary|images|results|all
  images        build the images of RUNTIME=docker that are lacking, and say what each weighs
  engine        install and start a Docker engine      DRY=1 HOSTS=
  up, down      keep a cluster in containers between campaigns; leave nothing behind
  bundle, load  all images in one file, for where there is no network     BUNDLE=file HOSTS=

settings of bench, reproduce (all but STAGE and ALONE), compare ENGINES= and doctor, with bench's
defaults:
  STAGE=join            ingest parse join tumbling sliding, all; also baseline aggregate window 0–4
  ALONE=0               1: only the asked stage, not the one before it
  REPEAT=1              runs of each stage; of reproduce 5, of compare 3
  QUICK=0               of reproduce: one short run each
  FRESH=0 MINUTES=      of both: begin anew whatever was interrupted; refuse what takes longer
  RATE=2000             observations a second, flow and speed together
  DURATION=35 WARMUP=10 COOLDOWN=4                       seconds
  ENGINE=spark          a folder of images/engines (spark, flink), or a path to one
  ENGINES=              of compare: several, each with :mode/dialect behind it or without
  ENGINE_IMAGE=         any image that obeys the engine contract, in its place
  MODE= DIALECT=        spark: real-time eager; micro-batch windowed; micro-batch eager
                        flink: streaming eager; streaming windowed
  ENGINE_SETTINGS=      name=value,… as its engine.toml declares; engine.name=value for one of two
  CHECKPOINT=10         seconds between two checkpoints
  BROKERS=              5 in containers, 3 otherwise
  PARTITIONS=2 PARALLELISM=2 INSTANCES=1 SEED=1
  SPARK_MASTER=local    cluster: a master and INSTANCES workers; or an existing one's address
  TEMPORAL_SCALE=60     seconds of data a second; a slot is a minute of data
  ARRIVAL=adjacent      or spread: a location's records over the whole slot
  SOURCE=network        or a file or folder of recorded lines
  RESULTS=results       where campaigns are kept
  STORE=                where topics and verdicts are kept: RESULTS/store, and HDFS in containers
  RUNTIME=auto          docker where an engine answers, otherwise embedded
"""


def main(words: list[str]) -> int:
    """Run a verb; every failure ends here with one sentence and its exit code."""
    listen()
    try:
        return _dispatch(words)
    except TollgateError as error:
        print(f"tollgate: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("tollgate: interrupted; nothing is left running", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.FAILURE
    except Exception as error:  # the edge: a defect of ours, said as such, with its trace kept
        print(f"tollgate: a defect: {error!r}; {_keep_trace()}", file=sys.stderr)
        return ExitCode.FAILURE


def _keep_trace() -> str:
    """Write the trace to a file; a full disk may be what it is about."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix=TRACE_PREFIX, delete=False) as trace:
            traceback.print_exc(file=trace)
    except OSError as error:
        return f"its trace could not be kept: {error}"
    return f"the trace is in {trace.name}"


def _dispatch(words: list[str]) -> int:
    verbs: dict[str, Callable[[list[str]], int]] = {
        "bench": _bench,
        "reproduce": _reproduce,
        "engine-check": _engine_check,
        "doctor": _doctor,
        "report": lambda given: _evaluator("report", given),
        "verify": lambda given: _evaluator("verify", given),
        "compare": _compare,
        "archive": lambda given: _evaluator("archive", given),
        "clean": _clean,
        "images": _images,
        "engine": _engine,
        "up": _up,
        "down": _down,
        "bundle": _bundle,
        "load": _load,
    }
    if not words or words[0] == "help" or {"-h", "--help"} & set(words):
        print(USAGE, end="")
        return ExitCode.VALID
    if words[0] not in verbs:
        raise unknown_name("verb", words[0], verbs)
    if words[0] in ("bench", "reproduce", "compare", "doctor", "engine-check"):
        _warn_of_environment(words[1:])
    return verbs[words[0]](words[1:])


def _warn_of_environment(words: list[str]) -> None:
    """Settings are words: one before `make` is in the environment only, and must not seem heard."""
    from conductor.asked import KNOWN
    from conductor.contest import OWN as CONTEST
    from conductor.reproduction import OWN as REPRODUCTION

    given = {word.partition("=")[0] for word in words}
    for name in dict.fromkeys((*KNOWN, *CONTEST, *REPRODUCTION)):
        if name in os.environ and name not in given:
            print(
                f"tollgate: {name}={os.environ[name]} of the environment is not read; "
                f"a setting is written behind the verb",
                file=sys.stderr,
            )


def _bench(words: list[str]) -> int:
    from conductor.asked import understand
    from conductor.home import this_checkout

    home = this_checkout(words)
    return _campaign(understand(words, home), home, ["tollgate", "bench", *words])


def _reproduce(words: list[str]) -> int:
    from conductor.home import this_checkout
    from conductor.reproduction import understand_reproduction

    home = this_checkout(words)
    command = ["tollgate", "reproduce", *words]
    return _campaign(understand_reproduction(words, home), home, command)


def _campaign(asked: Asked, home: Home, command: list[str]) -> int:
    """Run a campaign, or what is left of one that was interrupted; print its answer."""
    from conductor.campaign import Campaign
    from conductor.class_archives import archives_folder, make_archives
    from conductor.doctor import takes_too_long
    from conductor.lock import only_one
    from conductor.progress import Progress
    from conductor.resuming import go_on
    from conductor.sources import look_at_source
    from conductor.summary import summary_lines

    progress = Progress()
    look_at_source(asked.settings, home.path)
    progress.say(f"runtime {asked.runtime_says}")
    # before waiting for another campaign's end
    if (says := takes_too_long(asked)) is not None:
        raise EnvironmentLacking(says)
    with only_one(home, progress):
        campaign = Campaign(asked, home, progress, command)
        if not asked.fresh:
            go_on(campaign, progress.say)
        result = campaign.execute()
        print("\n".join(summary_lines(result, campaign.folder)))
        print(f"report: {_shown(campaign.folder.report)}", flush=True)
        # under the lock: it would disturb the next campaign's measuring, and take its lists
        if campaign.java is not None:
            make_archives(archives_folder(home, campaign.java), campaign.java, progress.say)
    if not result["complete"]:
        print(f"tollgate: {result['says']}", file=sys.stderr)
        return ExitCode.FAILURE
    return ExitCode.VALID if result["valid"] else ExitCode.INVALID


def _engine_check(words: list[str]) -> int:
    from conductor.engine_check import engine_check
    from conductor.home import this_checkout
    from conductor.progress import Progress

    return engine_check(words, this_checkout(words), Progress())


def _doctor(words: list[str]) -> int:
    from conductor.asked import understand
    from conductor.contest import is_contest, understand_contest
    from conductor.doctor import examine
    from conductor.home import this_checkout
    from conductor.reproduction import understand_reproduction

    home = this_checkout(words)
    of = {"reproduce": understand_reproduction, "compare": understand_contest}
    if words and words[0] in of:
        asked = of[words[0]](words[1:], home)
    else:
        asked = (understand_contest if is_contest(words) else understand)(words, home)
    lines, stopped = examine(asked, home)
    print("\n".join(lines))
    return ExitCode.FAILURE if stopped else ExitCode.VALID


def _evaluator(verb: str, words: list[str]) -> int:
    from conductor.home import this_checkout
    from conductor.judging import have_judged

    return have_judged(verb, words, this_checkout(words))


def _compare(words: list[str]) -> int:
    from conductor.comparing import compare
    from conductor.contest import is_contest, understand_contest
    from conductor.home import this_checkout

    home = this_checkout(words)
    if not is_contest(words):
        return compare(words, home)
    return _campaign(understand_contest(words, home), home, ["tollgate", "compare", *words])


def _clean(words: list[str]) -> int:
    from conductor.asked import read_words
    from conductor.clean import clean
    from conductor.home import this_checkout

    given = read_words(words, ["WHAT", "RESULTS"])
    print("\n".join(clean(this_checkout(words), given.get("WHAT", "temporary"))))
    return ExitCode.VALID


def _images(words: list[str]) -> int:
    from conductor.appliance.commands import make_images
    from conductor.asked import read_words
    from conductor.home import this_checkout
    from conductor.progress import Progress

    read_words(words, [])
    return make_images(this_checkout(), Progress())


def _engine(words: list[str]) -> int:
    from conductor.home import this_checkout
    from conductor.hosts import prepare_engine
    from conductor.progress import Progress

    return prepare_engine(words, this_checkout(), Progress().say)


def _up(words: list[str]) -> int:
    from conductor.appliance.commands import up
    from conductor.asked import read_words
    from conductor.home import this_checkout
    from conductor.progress import Progress

    return up(this_checkout(), read_words(words, ["BROKERS"]), Progress())


def _down(words: list[str]) -> int:
    from conductor.appliance.commands import down
    from conductor.asked import read_words
    from conductor.home import this_checkout
    from conductor.progress import Progress

    read_words(words, [])
    return down(this_checkout(), Progress())


def _bundle(words: list[str]) -> int:
    from conductor.appliance.bundle import make_bundle
    from conductor.asked import read_words
    from conductor.home import this_checkout
    from conductor.progress import Progress

    return make_bundle(this_checkout(), read_words(words, ["BUNDLE"]), Progress())


def _load(words: list[str]) -> int:
    from conductor.appliance.bundle import load_bundle
    from conductor.home import this_checkout
    from conductor.progress import Progress

    return load_bundle(this_checkout(), words, Progress())


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
