"""Answer one JSON line for each that is asked: run, evaluate, campaign."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

from contract.errors import TollgateError, unknown_name
from evaluator.campaign import finish_campaign
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop


def serve() -> int:
    """Read orders from stdin until its end; nothing but answers reaches stdout."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # whatever a library or a JVM prints belongs to stderr
    os.dup2(2, 1)
    hadoop = Hadoop()
    for line in sys.stdin:
        if line.strip():
            _answer(answers, obey(hadoop, line))
    hadoop.close()
    return 0


def _answer(answers: TextIO, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value, allow_nan=False) + "\n")
    answers.flush()


def obey(hadoop: Hadoop, line: str) -> dict[str, Any]:
    """Do what a line asks; a failure is said in a sentence, its trace goes to stderr."""
    try:
        return _do(hadoop, json.loads(line))
    except TollgateError as error:
        traceback.print_exc()
        return {"ok": False, "says": str(error)}
    except Exception as error:  # the edge: the conductor must get an answer
        traceback.print_exc()
        says = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"[:300]
        return {"ok": False, "says": says}


def _do(hadoop: Hadoop, order: dict[str, Any]) -> dict[str, Any]:
    asked = order["do"]
    if asked in ("run", "evaluate"):
        valid, phases_s = evaluate_run(
            hadoop,
            Path(order["run_dir"]),
            order["store"],
            order["campaign_id"],
            collecting=asked == "run",
            kept=order.get("kept"),
        )
        return {"ok": True, "valid": valid, "phases_s": phases_s}
    if asked == "campaign":
        valid, report = finish_campaign(Path(order["campaign_dir"]))
        return {"ok": True, "valid": valid, "report": str(report)}
    raise unknown_name("order", str(asked), ["run", "evaluate", "campaign"])
