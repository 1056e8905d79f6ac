"""A cluster that this machine has no memory for is not begun."""

from __future__ import annotations

import io
from contextlib import nullcontext
from types import SimpleNamespace

import psutil
import pytest

from conductor.appliance import commands
from conductor.doctor import GIB, cluster_bytes
from conductor.home import Home
from conductor.progress import Progress
from contract.errors import EnvironmentLacking


class Begun(Exception):
    """The engine was asked for."""


@pytest.mark.parametrize("brokers", [1, 5])
def test_a_cluster_is_begun_where_there_is_memory_for_it(
    brokers: int, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine() -> None:
        raise Begun

    def up(available: int) -> None:
        monkeypatch.setattr(
            psutil, "virtual_memory", lambda: SimpleNamespace(available=available, total=64 * GIB)
        )
        commands.up(home, {"BROKERS": str(brokers)}, Progress(io.StringIO()))

    # a campaign of this checkout may run: it is not waited for
    monkeypatch.setattr(commands, "only_one", lambda *_: nullcontext())
    monkeypatch.setattr(commands, "DockerEngine", engine)
    needed = cluster_bytes(brokers)
    with pytest.raises(Begun):
        up(needed)
    with pytest.raises(EnvironmentLacking) as refusal:
        up(needed - 1)
    assert str(refusal.value).endswith("are needed; fewer BROKERS would need less")
    assert f"about {needed / GIB:.1f} are needed" in str(refusal.value)
