"""The evaluator's command line: `serve`, and `report`, `verify`, `compare` of campaigns."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from contract.errors import ExitCode, TollgateError, UsageError


def main(arguments: list[str]) -> int:
    """Do what is asked; only `serve` starts Spark."""
    match arguments:
        case ["serve"]:
            from evaluator.serve import serve

            return serve()
        case ["report", folder]:
            from evaluator.report import write_report

            print(write_report(Path(folder)))
            return 0
        case ["verify", folder]:
            from evaluator.verify import verify

            return verify(Path(folder))
        case ["compare", a, b, *form] if form in ([], ["json"]):
            from evaluator.compare import compare

            return compare(a, b, as_json=bool(form))
    raise UsageError(
        "say `serve`, `report <campaign folder>`, `verify <campaign folder>` or "
        "`compare <campaign folder>[:variant] <campaign folder>[:variant] [json]`"
    )


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except TollgateError as error:
        print(error, file=sys.stderr)
        code = int(error.exit_code)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except Exception:
        traceback.print_exc()
        code = 1
    sys.exit(code)
