"""`make check` and `make test`: lint, format, types, then the tests; pytest's line comes last."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
SHELL = [
    ".ci/run",
    "images/hadoop/entrypoint",
    "images/kafka/entrypoint",
    "images/kafka/topics",
    "images/engines/example/entrypoint",
    "images/engines/flink/entrypoint",
    "images/engines/flink/prepare",
    "images/engines/spark/entrypoint",
]
PLAYBOOKS = ["hosts/engine.yml", "hosts/load.yml", "hosts/inventory.yml"]
PLACES = ["contract", "publisher", "pipeline", "evaluator", "conductor", "images", "tests"]


def steps(everything: bool) -> list[list[str]]:
    """The commands, in order; the first that fails ends it."""
    python = [sys.executable, "-m"]
    tests = [*python, "pytest", "-q"]
    # what takes the time of all tests is to be seen where it takes it
    tests += ["--durations=20"] if everything else ["-m", "not brokers and not spark"]
    return [
        [*python, "ruff", "check", "--quiet", *PLACES, "tollgate"],
        [*python, "ruff", "format", "--quiet", "--check", *PLACES, "tollgate"],
        [*python, "mypy", "--no-error-summary", *(p for p in PLACES if p != "images")],
        [_program("hadolint"), *sorted(map(str, dockerfiles()))],
        [_program("shellcheck"), *SHELL],
        [*python, "yamllint", "--strict", "-c", "hosts/.yamllint", "hosts", "compose"],
        [_program("ansible-lint"), "--offline", "-q", "--profile", "production", *PLAYBOOKS],
        tests,
    ]


def dockerfiles() -> list[Path]:
    """All there are."""
    return [path.relative_to(HOME) for path in (HOME / "images").glob("**/Dockerfile")]


def _program(name: str) -> str:
    """A program of this environment."""
    return str(Path(sys.executable).with_name(name))


def main() -> int:
    """Run them."""
    with tempfile.TemporaryDirectory() as place:
        # ansible-lint starts programs of its own environment, and writes to a home of its own
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        env = {**os.environ, "PATH": path, "ANSIBLE_HOME": place}
        for step in steps("--all" in sys.argv[1:]):
            print("$", " ".join([Path(step[0]).name, *step[1:]]), flush=True)
            done = subprocess.run(step, check=False, cwd=HOME, env=env)
            if done.returncode != 0:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
