"""What is asked of Ansible, what is heard from it, and what a user reads of it; nothing is played,
but for one look at this machine.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

from conductor import ansible
from conductor.ansible import Play, Told, play, reason
from conductor.home import Home
from conductor.hosts import ids_of, load_images, prepare_engine
from contract.errors import EnvironmentLacking, UsageError

pytestmark = pytest.mark.usefixtures("temporary")


def event(kind: str, task: str = "Do it", action: str = "command", **result: Any) -> dict[str, Any]:
    data = {"host": "alpha", "task": task, "task_action": action, "res": result}
    return {"event": kind, "event_data": data}


@pytest.fixture
def told() -> Told:
    return Told(print, dry=False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["HOST=a"], "did you mean HOSTS"),
        (["DRY=yes"], "DRY=yes cannot be; give 1 or 0"),
        (["HOSTS=nowhere.yml"], "there is no such file"),
        (["HOSTS=a,-oProxyCommand=x"], "is no host's name"),
        (["BECOME_ASK=1"], "no terminal"),
    ],
)
def test_wrong_words_start_nothing(
    words: list[str], says: str, home: Home, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match=says):
        prepare_engine(words, home, print)
    assert list(temporary.iterdir()) == []


def test_only_changes_and_what_a_playbook_says_are_told() -> None:
    said: list[str] = []
    told = Told(said.append, dry=False)
    told.hear(event("runner_on_ok"))
    told.hear(event("runner_on_skipped", "Skip"))
    told.hear(event("runner_on_ok", "Say", "ansible.builtin.debug", msg="will do it"))
    told.hear(event("runner_on_ok", "Start it", changed=True))
    packages = {"module_args": {"name": ["one", "two"]}}
    told.hear(event("runner_on_ok", "Install", changed=True, invocation=packages))
    assert said == [
        "alpha: will do it",
        "alpha: done: Start it",
        "alpha: done: Install one, two",
    ]
    assert told.changes == 2
    Told(said.append, dry=True).hear(event("runner_on_ok", "Start it", changed=True))
    assert said[-1] == "alpha: would do: Start it"


def test_a_failure_names_host_task_and_reason_and_keeps_the_words(told: Told) -> None:
    told.hear(event("runner_on_failed", msg="non-zero return code", stderr="first\nno space"))
    told.hear({"event": "playbook_on_stats", "event_data": {"failures": {"alpha": 1}}})
    with pytest.raises(EnvironmentLacking, match=r"^alpha: Do it: no space") as raised:
        ansible._judge(Play("engine.yml"), told, 2, "all words")
    (trace,) = Path(tempfile.gettempdir()).iterdir()
    assert str(trace) in str(raised.value)
    assert trace.read_text() == "all words"


def test_a_host_that_is_not_reached_is_named(told: Told) -> None:
    told.hear(event("runner_on_unreachable", msg="Host key verification failed."))
    told.hear({"event": "playbook_on_stats", "event_data": {"dark": {"alpha": 1}}})
    with pytest.raises(EnvironmentLacking, match="alpha: not reached: Host key verification"):
        ansible._judge(Play("engine.yml"), told, 4, "")


def test_what_ansible_says_before_any_host_is_the_reason(told: Told) -> None:
    with pytest.raises(EnvironmentLacking, match=r"^ansible: no such thing"):
        ansible._judge(Play("engine.yml"), told, 1, "\n[ERROR]: no such thing\n")


def test_an_inventory_without_the_group_is_a_mistake(told: Told) -> None:
    told.hear({"event": "playbook_on_no_hosts_matched", "event_data": {}})
    with pytest.raises(UsageError, match="no host in the group appliance"):
        ansible._judge(Play("engine.yml", "my.yml"), told, 0, "")


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"msg": "plain"}, "plain"),
        ({"msg": "'/usr/bin/apt-get -y install x' failed: E: no\n  such  "}, "E: no such"),
        ({"msg": "Missing sudo password"}, "sudo wants a password: say BECOME_ASK=1"),
        (
            {"msg": "MODULE FAILURE: see", "module_stderr": "sudo: a password is required\n"},
            "BECOME",
        ),
        ({"msg": "Incorrect sudo password"}, "did not take the password"),
        (
            {"msg": "MODULE FAILURE", "module_stderr": "a\n\nsudo: not found\n"},
            "there is no sudo: run it as root",
        ),
        ({}, "no reason was given"),
        ({"msg": "x" * 5000 + " it died"}, "it died"),
    ],
)
def test_a_reason_is_one_line(result: dict[str, Any], says: str) -> None:
    text = reason(result)
    assert says in text
    assert "\n" not in text
    assert len(text) < 500


def test_nothing_of_the_user_s_ansible_is_seen(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("CONFIG", "STDOUT_CALLBACK", "CALLBACK_PLUGINS", "BECOME_EXE", "SSH_ARGS"):
        monkeypatch.setenv(f"ANSIBLE_{name}", "/of/the/user")
    monkeypatch.setenv("PYTHONPATH", "/of/the/user")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("https_proxy", "a-proxy")
    before = dict(os.environ)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    config = ansible._configure(Play("engine.yml", "alpha,localhost", dry=True), home, scratch)
    assert dict(os.environ) == before
    assert "/of/the/user" not in " ".join(config.env.values())
    assert config.env["ANSIBLE_CONFIG"] == str(home.path / "hosts" / "ansible.cfg")
    assert config.env["ANSIBLE_HOST_KEY_CHECKING"] == "True"
    assert config.env["LC_ALL"] == "C.UTF-8"
    assert config.env["https_proxy"] == "a-proxy"
    assert "--check" in config.command
    assert any(str(scratch) in word for word in config.command)
    given = json.loads((scratch / "inventory.json").read_text())["appliance"]["hosts"]
    assert given["alpha"] == {}
    assert given["localhost"]["ansible_connection"] == "local"


def bundle_of(place: Path, files: dict[str, Any]) -> Path:
    path = place / "bundle.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, value in files.items():
            data = json.dumps(value).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_a_bundle_tells_names_and_ids(tmp_path: Path) -> None:
    one, two, manifest = "1" * 64, "2" * 64, f"sha256:{'3' * 64}"
    images = [
        {"Config": f"{one}.json", "RepoTags": ["tollgate/one:1"]},
        {"Config": f"blobs/sha256/{two}", "RepoTags": ["tollgate/two:1", "two:1"]},
        {"Config": f"{one}.json", "RepoTags": None},
    ]
    named = {"io.containerd.image.name": "docker.io/library/two:1"}
    index = {"manifests": [{"digest": manifest, "annotations": named}, {"digest": manifest}]}
    bundle = bundle_of(tmp_path, {"manifest.json": images, "index.json": index, "a/x.json": []})
    assert ids_of(bundle) == {
        "tollgate/one:1": {f"sha256:{one}"},
        "tollgate/two:1": {f"sha256:{two}"},
        "two:1": {f"sha256:{two}", manifest},
    }


def test_what_is_no_bundle_is_refused(tmp_path: Path, home: Home) -> None:
    other = tmp_path / "other"
    other.write_text("text")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for bundle, says in (
        (tmp_path / "none", "cannot be read: No such file"),
        (other, "is no bundle"),
        (bundle_of(tmp_path / "a", {"repositories": {}}), "is no bundle"),
        (bundle_of(tmp_path / "b", {"manifest.json": []}), "names no image"),
    ):
        with pytest.raises(UsageError, match=says):
            load_images(bundle, Play("load.yml"), home, print)


def test_ansible_is_heard_and_nothing_of_it_stays(home: Home, temporary: Path) -> None:
    """A host that cannot be: ssh neither asks nor waits for it."""
    with pytest.raises(EnvironmentLacking, match=r"not-there\.invalid: not reached: ") as raised:
        play(Play("engine.yml", "not-there.invalid", dry=True), home, print)
    (trace,) = temporary.iterdir()
    assert str(trace) in str(raised.value)
