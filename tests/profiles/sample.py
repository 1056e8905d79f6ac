"""Sample the engine's JVMs: `./tollgate python -m tests.profiles.sample 20 FILE`, amid a run.

Looks for processes that were started as an engine's service (SERVICE and RUN_ID in their
environment), has async-profiler, which is among Flink's jars, loaded into each JVM of theirs by
`jcmd` (it comes with a JDK), and writes their stacks, with the threads' names, to one file.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import psutil

HOME = Path(__file__).resolve().parents[2]
INTERVAL = "1ms"
OUR_OWN = ("publisher", "evaluator")
_FOLDERS = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}


def agent(folder: Path) -> Path:
    """The profiler's library, taken out of its jar."""
    (jar,) = (HOME / ".artifacts" / "flink").glob("async-profiler-*.jar")
    name = f"{_FOLDERS[platform.machine()]}/libasyncProfiler.so"
    with zipfile.ZipFile(jar) as opened:
        return Path(opened.extract(name, folder))


def engine_jvms() -> dict[int, str]:
    """Process → the service that it is, of the run that goes on."""
    found: dict[int, str] = {}
    for process in psutil.process_iter(["name"]):
        if process.info["name"] != "java":
            continue
        try:
            env = process.environ()
        except psutil.Error:
            continue
        if "RUN_ID" in env and env.get("SERVICE") not in (None, *OUR_OWN):
            found[process.pid] = env["SERVICE"]
    return found


def tell(pid: int, library: Path, command: str) -> None:
    """Have the profiler in a JVM do something."""
    jcmd = shutil.which("jcmd")
    if jcmd is None:
        sys.exit("there is no jcmd on the path: it comes with a JDK")
    words = [jcmd, str(pid), "JVMTI.agent_load", str(library), f'"{command}"']
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0 or "return code: 0" not in done.stdout:
        sys.exit(f"process {pid}: {done.stdout.strip()} {done.stderr.strip()}")


def main(seconds: float, target: Path) -> None:
    """Sample for so long, then write `service;thread;frame;… samples` lines."""
    jvms = engine_jvms()
    if not jvms:
        sys.exit("no engine's JVM runs here: start a campaign first")
    with tempfile.TemporaryDirectory() as scratch:
        library = agent(Path(scratch))
        for pid in jvms:
            tell(pid, library, f"start,event=itimer,interval={INTERVAL},threads")
        used = {pid: sum(psutil.Process(pid).cpu_times()[:2]) for pid in jvms}
        time.sleep(seconds)
        lines: list[str] = []
        for pid, service in jvms.items():
            spent = sum(psutil.Process(pid).cpu_times()[:2]) - used[pid]
            written = Path(scratch, f"{pid}.collapsed")
            tell(pid, library, f"stop,file={written},collapsed,threads")
            lines += [f"{service};{line}" for line in written.read_text().splitlines()]
            print(f"{service} (process {pid}): {spent / seconds:.3f} cores over {seconds:g} s")
        target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(float(sys.argv[1]), Path(sys.argv[2]))
