"""A container is seen as a process is: its end, its last words, and why it was killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker.errors import APIError

from conductor.appliance.containers import Container
from conductor.processes import LOG_TAIL_LINES
from conductor.runtime import Running
from contract.errors import ServiceFailed
from tests.unit.conductor.appliance.fakes import FakeContainer, FakeEnds


class Site:
    """A container of fakes, and what the engine tells of it."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.fake, self.ends = FakeContainer("engine-spark", lines=lines), FakeEnds()
        self.log = folder / "logs" / "engine-spark.log"
        self.container = Container("spark", self.fake, self.ends, self.log)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """It runs."""
    return Site(tmp_path, "one", "", "the last words")


def test_it_is_a_service_like_any_other(site: Site) -> None:
    running: Running = site.container
    assert (running.name, running.pid, running.exit_code()) == ("spark", 4321, None)
    assert (site.container.id, site.container.container) == ("id-of-engine-spark", site.fake)


def test_its_end_is_what_the_engine_tells(site: Site) -> None:
    site.ends.ends(site.fake, 3)
    assert site.container.exit_code() == 3
    assert site.container.how_it_ended() == "ended with exit code 3"


def test_an_end_before_anybody_listened_is_known_too(tmp_path: Path) -> None:
    fake, ends = FakeContainer("engine-spark"), FakeEnds()
    fake.state |= {"Status": "exited", "ExitCode": 70, "Pid": 0}
    container = Container("spark", fake, ends, tmp_path / "log")
    assert (container.exit_code(), container.pid) == (70, 0)


def test_one_that_ran_out_of_memory_is_said_to_have_with_its_limit(site: Site) -> None:
    site.ends.ends(site.fake, 137)
    site.fake.state["OOMKilled"] = True
    assert site.container.how_it_ended() == (
        "was killed because it ran out of memory (its limit is 2048 MiB), exit code 137"
    )


def test_an_engine_that_tells_nothing_any_more_is_no_container_that_runs(site: Site) -> None:
    site.ends.lost = "it ended the connection"
    with pytest.raises(ServiceFailed, match=r"tells nothing any more: it ended the connection$"):
        site.container.exit_code()


def test_the_tail_is_the_last_lines_that_are_not_empty(tmp_path: Path) -> None:
    lines = [f"line {i}" for i in range(100)]
    site = Site(tmp_path, *(each for line in lines for each in (line, "")))
    assert site.container.log_tail() == lines[-LOG_TAIL_LINES:]
    assert site.container.log_tail(3) == lines[-3:]
    site.fake.remove(v=True, force=True)
    assert site.container.log_tail() == []


def test_its_log_is_kept_while_it_runs_and_before_it_is_taken_away(
    site: Site, tmp_path: Path
) -> None:
    site.container.keep_log(tmp_path / "runs" / "1")
    assert (tmp_path / "runs" / "1" / site.log.name).read_text() == "one\n\nthe last words\n"
    site.fake.lines.append("and more")
    site.container.kill()
    assert site.log.read_text().endswith("the last words\nand more\n")
    assert site.fake.gone
    site.container.kill()
    assert site.log.read_text().endswith("and more\n"), "a log that was kept was lost"


def test_one_that_said_nothing_has_no_log(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.container.keep_log(tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []


def test_taken_away_its_log_is_left_to_who_has_it(site: Site) -> None:
    site.container.take_away()
    assert site.fake.gone and not site.log.exists()
    site.container.take_away()


def test_asked_to_stop_it_may_end_by_itself_within_its_grace(site: Site) -> None:
    site.fake.on_signal = lambda: site.ends.ends(site.fake, 5)
    assert site.container.stop(10) == 5
    assert (site.fake.signals, site.fake.gone) == (["SIGTERM"], True)


def test_what_does_not_end_within_its_grace_is_killed(site: Site) -> None:
    assert site.container.stop(0.01) is None
    assert site.fake.gone


def test_what_has_ended_is_not_asked_to(site: Site) -> None:
    site.ends.ends(site.fake, 0)
    site.container.ask_to_stop()
    assert site.fake.signals == []


def test_one_that_ends_while_it_is_asked_to_is_no_failure(site: Site) -> None:
    # the engine has not told of its end yet
    site.fake.state |= {"Status": "exited", "ExitCode": 1}
    site.container.ask_to_stop()
    assert site.fake.signals == []


def test_one_that_is_being_removed_by_somebody_else_is_as_good_as_gone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(says: str) -> None:
        def remove(**_: bool) -> None:
            raise APIError(says)

        monkeypatch.setattr(site.fake, "remove", remove)

    refuses("removal of container x is already in progress")
    site.container.take_away()
    refuses("the disk is on fire")
    with pytest.raises(ServiceFailed, match="could not be removed: the disk is on fire"):
        site.container.take_away()
