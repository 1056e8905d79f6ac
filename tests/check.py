"""`make check` and `make test`: lint, format, types, then the tests; pytest's line comes last."""

from __future__ import annotations

import subprocess
import sys

PLACES = ["contract", "publisher", "pipeline", "evaluator", "conductor", "images", "tests"]


def steps(everything: bool) -> list[list[str]]:
    """The commands, in order; the first that fails ends it."""
    python = [sys.executable, "-m"]
    tests = [*python, "pytest", "-q"]
    if not everything:
        tests += ["-m", "not brokers and not spark"]
    return [
        [*python, "ruff", "check", "--quiet", *PLACES, "tollgate"],
        [*python, "ruff", "format", "--quiet", "--check", *PLACES, "tollgate"],
        [*python, "mypy", "--no-error-summary", *(p for p in PLACES if p != "images")],
        tests,
    ]


def main() -> int:
    """Run them."""
    for step in steps("--all" in sys.argv[1:]):
        print("$", " ".join(["python", *step[1:]]), flush=True)
        done = subprocess.run(step, check=False)
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
