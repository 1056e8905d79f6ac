"""The evaluator's command line: `serve`, and what is done with ended campaigns."""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

from contract.errors import ExitCode, TollgateError, UsageError, unknown_name

USAGE = (
    "say `serve`, `report <campaign> [FIGURES=folder]`, `verify <campaign or archive> "
    "[STORE=address]`, `archive <campaign> [SLIM=1] [ARCHIVE=file] [STORE=address]` or "
    "`compare <campaign>[:variant] <campaign>[:variant] [json]`"
)


def main(arguments: list[str]) -> int:
    """Do what is asked."""
    match arguments:
        case ["serve"]:
            from evaluator.serve import serve

            return serve()
        case ["report", folder, *more]:
            from evaluator.report import redraw_report, write_figures

            given = _settings(more, "FIGURES")
            print(redraw_report(Path(folder)))
            if "FIGURES" in given:
                print(*write_figures(Path(folder), Path(given["FIGURES"])), sep="\n")
            return 0
        case ["verify", campaign, *more]:
            from evaluator.verify import verify

            _listen()
            return verify(Path(campaign), _settings(more, "STORE").get("STORE"))
        case ["archive", folder, *more]:
            from evaluator.archive import archive

            _listen()
            given = _settings(more, "SLIM", "ARCHIVE", "STORE")
            target = Path(given["ARCHIVE"]) if "ARCHIVE" in given else None
            slim = given.get("SLIM") == "1"
            return archive(Path(folder), target, slim=slim, store=given.get("STORE"))
        case ["compare", a, b, *form] if form in ([], ["json"]):
            from evaluator.compare import compare

            return compare(a, b, as_json=bool(form))
    raise UsageError(USAGE)


def _settings(words: list[str], *known: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in known:
            raise unknown_name("setting", name, known)
        given[name] = value
    return given


def _listen() -> None:
    """Whoever wants this to end wants nothing left behind; once is enough."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except TollgateError as error:
        print(f"tollgate: {error}", file=sys.stderr)
        code = int(error.exit_code)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except Exception:
        traceback.print_exc()
        code = 1
    sys.exit(code)
