"""One campaign at a time in a checkout; the one that waits knows for whom."""

from __future__ import annotations

import fcntl
import io
import os
import threading
from pathlib import Path

import pytest

from conductor.home import Home
from conductor.lock import only_one
from conductor.progress import Progress
from tests.unit.conductor.fakes import until


@pytest.fixture
def checkout(tmp_path: Path) -> Home:
    """A checkout in which nobody measures: this one's lock may be held by a real campaign."""
    return Home(tmp_path / "checkout")


@pytest.mark.parametrize("results", ["results", "elsewhere"])
def test_the_second_campaign_waits_for_the_first_wherever_its_results_go(
    results: str, checkout: Home
) -> None:
    other = Home(checkout.path, checkout.path / results)
    out, inside = io.StringIO(), threading.Event()

    def second() -> None:
        with only_one(other, Progress(out)):
            inside.set()

    thread = threading.Thread(target=second, daemon=True)
    with only_one(checkout, Progress(io.StringIO())):
        thread.start()
        until(lambda: "another campaign runs in this checkout" in out.getvalue())
        assert f"(process {os.getpid()}, results in {checkout.results})" in out.getvalue()
        assert not inside.is_set()
    thread.join(30)
    assert inside.is_set()


def test_a_campaign_that_is_alone_does_not_wait_and_gives_way_however_it_ends(
    checkout: Home,
) -> None:
    out = io.StringIO()
    with pytest.raises(ZeroDivisionError), only_one(checkout, Progress(out)):
        assert is_locked(checkout)
        raise ZeroDivisionError
    assert out.getvalue() == ""
    assert not is_locked(checkout)


def is_locked(home: Home) -> bool:
    with home.campaign_lock().open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_campaigns_of_different_checkouts_do_not_wait_for_each_other(
    checkout: Home, tmp_path: Path
) -> None:
    out, other = io.StringIO(), Home(tmp_path / "another-checkout")
    with only_one(checkout, Progress(out)), only_one(other, Progress(out)):
        assert is_locked(checkout) and is_locked(other)
    assert out.getvalue() == ""
