"""What may be taken away is taken away and said; all else stays."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest

from conductor.appliance.kept import KeptCluster, note_kept
from conductor.appliance.project import project_name
from conductor.clean import clean
from conductor.home import Home
from conductor.lock import only_one
from conductor.progress import Progress
from contract.errors import EnvironmentLacking, UsageError
from contract.results import CampaignFolder, write_json
from tests.unit.conductor.appliance.fakes import FakeContainer, FakeEngine
from tests.unit.conductor.fakes import NO_PID


class Containers(FakeEngine):
    """An engine with what a campaign left in it."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = False

    def open(self) -> Containers:
        if not self.answers:
            raise EnvironmentLacking("no Docker engine answers")
        return self

    def take_down(self, project: str) -> list[str]:
        super().take_down(project)
        gone, self.there = self.there, []
        return [*(f"container {c.name}" for c in gone), f"network {project}_bench"]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Containers:
    """By itself it does not answer."""
    engine = Containers()
    monkeypatch.setattr("conductor.clean.DockerEngine", engine.open)
    return engine


@pytest.fixture
def checkout(tmp_path: Path, temporary: Path, engine: Containers) -> Home:
    """A checkout with results, jars and an environment, and two scratch folders elsewhere."""
    assert not engine.answers
    home = Home(tmp_path / "checkout")
    for folder in (home.results, home.artifacts, home.path / ".venv", home.path / "conductor"):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x" * 3 * 1024**2)
    for name, owner in (("tollgate-gone", NO_PID), ("tollgate-busy", os.getpid())):
        (temporary / name).mkdir()
        (temporary / name / "owner").write_text(str(owner))
    return home


def left(home: Home, temporary: Path) -> set[str]:
    return {p.name for folder in (home.path, temporary) for p in folder.iterdir()}


ALL = {"results", ".artifacts", ".venv", "conductor", "tollgate-gone", "tollgate-busy"}


@pytest.mark.parametrize(
    ("what", "goes"),
    [
        ("temporary", {"tollgate-gone"}),
        ("results", {"tollgate-gone", "results"}),
        ("all", {"tollgate-gone", "results", ".artifacts", ".venv"}),
    ],
)
def test_each_word_takes_away_what_it_says_and_no_more(
    what: str, goes: set[str], checkout: Home, temporary: Path
) -> None:
    said = clean(checkout, what)
    assert left(checkout, temporary) == ALL - goes
    assert {Path(line.split()[2]).name for line in said} == goes


def test_sizes_are_said(checkout: Home) -> None:
    assert f"took away {checkout.results} (3 MiB)" in clean(checkout, "results")


def test_traces_of_defects_are_taken_away(checkout: Home, temporary: Path) -> None:
    trace = temporary / "tollgate-error-abc"
    trace.write_text("Traceback")
    assert f"took away {trace} (0 MiB)" in clean(checkout, "temporary")
    assert not trace.exists()


def test_containers_of_a_campaign_that_was_killed_are_taken_away(
    checkout: Home, engine: Containers
) -> None:
    engine.answers = True
    engine.there = [FakeContainer("broker-1")]
    said = clean(checkout, "temporary")
    project = project_name(checkout.path)
    assert said[:2] == [
        "took away container tollgate-0_broker-1_1",
        f"took away network {project}_bench",
    ]
    assert engine.happened == [f"take down {project}"]
    assert engine.closed


def test_containers_of_a_campaign_that_runs_stay(checkout: Home, engine: Containers) -> None:
    engine.answers = True
    engine.there = [FakeContainer("broker-1")]
    with only_one(checkout, Progress(io.StringIO())):
        clean(checkout, "temporary")
    assert (engine.happened, len(engine.there)) == ([], 1)


@pytest.mark.parametrize("what", ["temporary", "results", "all"])
def test_of_a_kept_cluster_only_all_takes_anything_away(
    what: str, checkout: Home, engine: Containers
) -> None:
    engine.answers = True
    engine.there = [FakeContainer("broker-1"), FakeContainer("publisher")]
    note_kept(checkout, KeptCluster(project_name(checkout.path), 1, {}))
    said = clean(checkout, what)
    assert "took away container tollgate-0_publisher_1" in said
    assert ("took away container tollgate-0_broker-1_1" in said) == (what == "all")
    if what != "all":
        assert [c.gone for c in engine.there] == [False, True]


@pytest.mark.parametrize(
    ("verb", "ended", "goes"),
    [
        ("bench", False, True),
        ("bench", True, False),
        # the same command goes on with these
        ("reproduce", False, False),
        ("compare", False, False),
    ],
)
def test_a_bench_that_was_not_finished_is_of_no_use_to_anybody(
    verb: str, ended: bool, goes: bool, checkout: Home
) -> None:
    campaign = CampaignFolder(checkout.results / "some-bench")
    stored = checkout.results / "store" / "some-bench"
    stored.mkdir(parents=True)
    campaign.path.mkdir()
    write_json(campaign.conditions, {"verb": verb})
    if ended:
        write_json(campaign.campaign_json, {"verb": verb})
    with only_one(checkout, Progress(io.StringIO())):
        clean(checkout, "temporary")
    assert campaign.path.exists() and stored.exists(), "it may be the one that runs"
    clean(checkout, "temporary")
    assert (campaign.path.exists(), stored.exists()) == (not goes, not goes)


def test_nothing_to_take_away_is_said(checkout: Home) -> None:
    clean(checkout, "temporary")
    assert clean(checkout, "temporary") == ["nothing to take away"]


def test_an_unknown_word_takes_nothing_away(checkout: Home, temporary: Path) -> None:
    with pytest.raises(UsageError, match="give temporary, images, results or all"):
        clean(checkout, "everything")
    assert left(checkout, temporary) == ALL


def test_results_that_are_elsewhere_are_the_ones_taken_away(checkout: Home, tmp_path: Path) -> None:
    elsewhere = Home(checkout.path, tmp_path / "elsewhere")
    for name in ("c1", "store/c1", "engine-check-x"):
        (elsewhere.results / name).mkdir(parents=True)
    (elsewhere.results / "c1" / "conditions.json").touch()
    (elsewhere.results / "latest").symlink_to("c1")
    clean(elsewhere, "results")
    assert not elsewhere.results.exists()
    assert (checkout.path / "results").exists()


def test_of_results_elsewhere_only_campaigns_are_taken_away(checkout: Home, tmp_path: Path) -> None:
    """RESULTS=. or RESULTS=$HOME must not cost a home."""
    elsewhere = Home(checkout.path, tmp_path / "home")
    for name in ("c1", "store/c1", "store/theirs", "letters", ".hidden"):
        (elsewhere.results / name).mkdir(parents=True)
        (elsewhere.results / name / "file").touch()
    for name in ("c1", ".hidden"):
        (elsewhere.results / name / "conditions.json").touch()
    said = clean(elsewhere, "results")
    assert len([line for line in said if str(elsewhere.results) in line]) == 2
    there = {str(p.relative_to(elsewhere.results)) for p in elsewhere.results.rglob("file")}
    assert there == {"store/theirs/file", "letters/file", ".hidden/file"}


def test_what_could_not_be_taken_away_is_not_said_to_be_gone(
    checkout: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    said = clean(checkout, "results")
    assert f"could not take away all of {checkout.results} (3 MiB)" in said
    assert not any(line.startswith("took away") for line in said)


@pytest.mark.parametrize("what", ["results", "all"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_under_a_running_campaign_nothing_is_taken_away(
    what: str, elsewhere: bool, checkout: Home, temporary: Path
) -> None:
    campaign = Home(checkout.path, checkout.path / "elsewhere" if elsewhere else None)
    progress = Progress(io.StringIO())
    with only_one(campaign, progress):
        before = left(checkout, temporary)
        with pytest.raises(
            UsageError, match=f"process {os.getpid()}, results in .*; clean when it"
        ):
            clean(checkout, what)
        assert left(checkout, temporary) == before
        assert (checkout.results / "file").exists()
    clean(checkout, what)
    assert not checkout.results.exists()


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> list[Home]:
    """An engine with one old image; gives the checkouts for which it was taken away."""
    taken: list[Home] = []

    def remove_old_images(home: Home) -> list[str]:
        taken.append(home)
        return ["took away image tollgate/kafka:1 (300 MB)"]

    monkeypatch.setattr("conductor.clean.remove_old_images", remove_old_images)
    return taken


def test_old_images_are_taken_away_when_that_is_asked_for(
    checkout: Home, images: list[Home], temporary: Path
) -> None:
    clean(checkout, "temporary")
    before = left(checkout, temporary)
    assert clean(checkout, "images") == ["took away image tollgate/kafka:1 (300 MB)"]
    assert images == [checkout]
    assert left(checkout, temporary) == before
    clean(checkout, "results")
    assert images == [checkout], "results are no images, and who has none has perhaps no engine"


def test_no_image_is_taken_from_under_a_running_campaign(
    checkout: Home, images: list[Home]
) -> None:
    # one that was just built for an engine elsewhere is none of the checkout's and not in use yet
    with only_one(checkout, Progress(io.StringIO())), pytest.raises(UsageError, match="clean when"):
        clean(checkout, "images")
    assert images == []


@pytest.mark.usefixtures("temporary")
def test_what_is_abandoned_is_taken_away_even_then(checkout: Home) -> None:
    with only_one(checkout, Progress(io.StringIO())):
        assert any(line.startswith("took away") for line in clean(checkout, "temporary"))


def test_a_checkout_without_jars_gets_no_folder_for_them(tmp_path: Path, temporary: Path) -> None:
    home = Home(tmp_path / "fresh")
    home.results.mkdir(parents=True)
    assert clean(home, "results") == [f"took away {home.results} (0 MiB)"]
    assert left(home, temporary) == set()
