"""Play a playbook of `hosts/` by Ansible: told line by line, and ended in any case.

Ansible's workers lead sessions of their own, and would outlive it.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner
import psutil

from conductor.home import TRACE_PREFIX, Home, make_scratch, path_of
from conductor.interrupts import held
from contract.errors import EnvironmentLacking, TookTooLong, UsageError

Say = Callable[[str], None]

#: packages from a slow mirror, or a bundle of gigabytes to several hosts
PLAY_S_MAX = 3600.0
#: apt finishes the package that it is at; only then it heeds an interruption
END_S_MAX = 60.0
REASON_LENGTH_MAX = 400
#: what of the user's environment Ansible sees: none of its own settings
INHERITED = ("HOME", "USER", "LOGNAME", "PATH", "SSH_AUTH_SOCK", "SUDO_USER", "TMPDIR", "TZ")
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
#: what is seen of sudo, and what it means
_SUDO = {
    "Missing sudo password": "sudo wants a password: say BECOME_ASK=1 to be asked for it",
    "password is required": "sudo wants a password: say BECOME_ASK=1 to be asked for it",
    "Incorrect sudo password": "sudo did not take the password",
    "Duplicate become password prompt": "sudo did not take the password",
    "sudo: not found": "this needs root, and there is no sudo: run it as root",
}
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:@\[\]-]*")
#: as in hosts/inventory.yml
_LOCAL = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "ansible_remote_tmp": "{{ scratch }}",
}


@dataclass(frozen=True, slots=True)
class Play:
    """A playbook of `hosts/`, on which hosts, and how."""

    playbook: str
    hosts: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    dry: bool = False
    become_ask: bool = False


@dataclass(slots=True)
class Told:
    """What Ansible has told: changes, failures, and its counts by host."""

    say: Say
    dry: bool
    changes: int = 0
    nobody: bool = False
    failures: dict[str, str] = field(default_factory=dict)
    stats: dict[str, dict[str, int]] = field(default_factory=dict)

    def hear(self, event: dict[str, Any]) -> bool:
        """One event of the runner's; none has to be kept."""
        data = event.get("event_data", {})
        match event.get("event"):
            case "runner_on_ok":
                self._done(data, data.get("res", {}))
            case "runner_on_failed" if not data.get("ignore_errors"):
                self.failures[data["host"]] = f"{data['task']}: {reason(data.get('res', {}))}"
            case "runner_on_unreachable":
                self.failures[data["host"]] = f"not reached: {reason(data.get('res', {}))}"
            case "playbook_on_no_hosts_matched":
                self.nobody = True
            case "playbook_on_stats":
                self.stats = {k: data[k] for k in ("changed", "failures", "dark") if k in data}
        return False

    def _done(self, data: dict[str, Any], result: dict[str, Any]) -> None:
        """Tell of what was changed, and of what a playbook says by itself; of nothing else."""
        host, task = data["host"], data["task"]
        if data["task_action"].endswith("debug"):
            self.say(f"{host}: {result.get('msg')}")
        elif result.get("changed"):
            self.changes += 1
            names = result.get("invocation", {}).get("module_args", {}).get("name")
            what = f" {', '.join(names)}" if isinstance(names, list) else ""
            self.say(f"{host}: {'would do' if self.dry else 'done'}: {task}{what}")


def play(asked: Play, home: Home, say: Say) -> Told:
    """Play it to the end; what it left is taken away whatever happens."""
    with ExitStack() as stack:
        with held():
            scratch = make_scratch()
            stack.callback(_take_away, scratch)
        told = Told(say, asked.dry)
        config = _configure(asked, home, scratch)
        code = _run(config, told)
        words = Path(config.artifact_dir) / "stdout"
        _judge(asked, told, code, words.read_text(encoding="utf-8", errors="replace"))
    if asked.dry:
        say("DRY=1: nothing was changed")
    else:
        say(f"changes: {told.changes}" if told.changes else "nothing had to be changed")
    return told


def _take_away(scratch: Path) -> None:
    with held():
        _end(scratch)
        shutil.rmtree(scratch, ignore_errors=True)


def _configure(asked: Play, home: Home, scratch: Path) -> Any:
    """The runner's configuration, made where no setting of the user's can be seen."""
    environment = {
        "ANSIBLE_CONFIG": str(home.path / "hosts" / "ansible.cfg"),
        "ANSIBLE_HOME": str(scratch / "ansible"),
        # the runner would turn it off
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "LC_ALL": "C.UTF-8",
    }
    options = {"--check": asked.dry, "--ask-become-pass": asked.become_ask}
    passwords = {r"BECOME password.*:\s*$": _password()} if asked.become_ask else None
    inventory = _inventory(asked.hosts, home, scratch)
    with _little_environment():
        config = ansible_runner.RunnerConfig(
            private_data_dir=str(scratch),
            project_dir=str(home.path / "hosts"),
            playbook=asked.playbook,
            inventory=str(inventory),
            # in every command line of ours: by it they are found and ended
            extravars={"scratch": str(scratch), **asked.variables},
            envvars=environment,
            passwords=passwords,
            cmdline=" ".join(o for o, wanted in options.items() if wanted) or None,
            quiet=True,
        )
        config.prepare()
    return config


@contextmanager
def _little_environment() -> Iterator[None]:
    """The runner starts from this process's environment; let that be little meanwhile."""
    before = dict(os.environ)
    proxies = {*PROXIES, *(name.upper() for name in PROXIES)}
    little = {k: v for k, v in before.items() if k in INHERITED or k in proxies}
    little["PATH"] = f"{Path(sys.executable).parent}:{before.get('PATH', os.defpath)}"
    os.environ.clear()
    os.environ.update(little)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _password() -> str:
    if not sys.stdin.isatty():
        raise UsageError("BECOME_ASK=1 asks for sudo's password, and there is no terminal to ask")
    return getpass.getpass("password for sudo: ")


def _inventory(hosts: str, home: Home, scratch: Path) -> Path:
    """The file that names the hosts: the checkout's, the user's, or one for a list of names."""
    if not hosts:
        return home.path / "hosts" / "inventory.yml"
    if "/" in hosts or hosts.endswith((".yml", ".yaml", ".ini")):
        file = path_of(hosts)
        if not file.is_file():
            raise UsageError(f"HOSTS={hosts}: there is no such file")
        return file
    names = [name for name in hosts.replace(",", " ").split() if name]
    for name in names:
        if not _HOST.fullmatch(name):
            raise UsageError(f"HOSTS: {name!r} is no host's name")
    entries = {name: _LOCAL if name == "localhost" else {} for name in names}
    file = scratch / "inventory.json"
    file.write_text(json.dumps({"appliance": {"hosts": entries}}))
    return file


def _run(config: Any, told: Told) -> int:
    """Run it in this thread; an interruption is heard once Ansible has been forked."""
    deadline = time.monotonic() + PLAY_S_MAX
    with ExitStack() as forking:

        def heard(event: dict[str, Any]) -> bool:
            forking.close()
            return told.hear(event)

        def late() -> bool:
            forking.close()
            if time.monotonic() > deadline:
                # told to cancel, the runner kills the process that it started, and no worker
                raise TimeoutError
            return False

        runner = ansible_runner.Runner(config, event_handler=heard, cancel_callback=late)
        forking.enter_context(held())
        try:
            runner.run()
        except ansible_runner.CallbackError:
            raise TookTooLong(f"ansible has not ended within {PLAY_S_MAX:.0f} s") from None
    return int(runner.rc)


def _judge(asked: Play, told: Told, code: int, words: str) -> None:
    """Raise what went wrong as one sentence; Ansible's own words are kept then."""
    if told.nobody:
        raise UsageError(f"HOSTS={asked.hosts} has no host in the group appliance")
    failed = {*told.stats.get("failures", ()), *told.stats.get("dark", ())}
    sentences = [f"{h}: {told.failures.get(h, 'failed')}" for h in sorted(failed)]
    if not sentences and code != 0:
        errors = [line for line in words.splitlines() if "ERROR" in line]
        last = errors[-1].partition(": ")[2] if errors else f"ended with exit code {code}"
        sentences = [f"ansible: {_condensed(last)}"]
    if not sentences:
        return
    with tempfile.NamedTemporaryFile("w", prefix=TRACE_PREFIX, delete=False) as trace:
        trace.write(words)
    raise EnvironmentLacking(f"{'; '.join(sentences)} (all that ansible said: {trace.name})")


def reason(result: dict[str, Any]) -> str:
    """Why a task failed, in a line."""
    said = str(result.get("msg") or "")
    errors = str(result.get("stderr") or result.get("module_stderr") or result.get("stdout") or "")
    if errors.strip() and (not said or said.startswith(("non-zero return code", "MODULE FAILURE"))):
        said = errors.strip().splitlines()[-1]
    for sign, sentence in _SUDO.items():
        if sign in said:
            return sentence
    # apt says its whole command first
    return _condensed(re.sub(r"^'[^']*' failed: ", "", said)) or "no reason was given"


def _condensed(text: str) -> str:
    """One line; of a long one the ends, for a log says last what it died of."""
    line = " ".join(text.split())
    if len(line) <= REASON_LENGTH_MAX:
        return line
    third = REASON_LENGTH_MAX // 3
    return f"{line[:third]} … {line[-2 * third :]}"


def _end(scratch: Path) -> None:
    """End the Ansible of this folder as Ctrl-C on a terminal does, then by force."""
    ours = [p for p in psutil.Process().children() if _names(p, str(scratch))]
    family = ours + [child for p in ours for child in p.children(recursive=True)]
    for process in family:
        # apt shields dpkg from a Ctrl-C: half a package is worse than a minute
        with contextlib.suppress(psutil.Error):
            if not any(parent.name() == "apt-get" for parent in process.parents()):
                process.send_signal(signal.SIGINT)
    _, left = psutil.wait_procs(family, END_S_MAX)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, END_S_MAX)


def _names(process: psutil.Process, word: str) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(word in part for part in process.cmdline())
    return False
