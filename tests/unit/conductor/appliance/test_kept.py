"""A cluster that was left running is used if it runs and fits; otherwise that is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.appliance.kept import KeptCluster, forget_kept, note_kept, noted, read_kept
from conductor.appliance.project import MONITORING, STORAGE, project_name
from conductor.home import Home
from contract.errors import UsageError
from tests.unit.conductor.appliance.fakes import FakeContainer, FakeEngine

IMAGES = {"kafka": "k:1", "hadoop": "h:1", "influxdb": "i:1", "cadvisor": "c:1"}
SERVICES = ("broker-1", "broker-2", *STORAGE, *MONITORING)


class Kept:
    """A checkout whose cluster of two brokers was left running."""

    def __init__(self, folder: Path) -> None:
        self.home, self.engine = Home(folder), FakeEngine()
        self.cluster = KeptCluster(project_name(folder), 2, dict(IMAGES))
        self.engine.there = [FakeContainer(service) for service in SERVICES]
        self.home.artifacts.mkdir()
        note_kept(self.home, self.cluster)

    def read(self, brokers: int = 2, images: Mapping[str, str] = IMAGES) -> KeptCluster | None:
        # a campaign has images beside the cluster's
        mine = {"tollgate": "t:1", "engine": "e:1", **images}
        return read_kept(self.home, self.engine, brokers, mine)

    def stop(self, service: str) -> None:
        for container in self.engine.there:
            if container.labels["com.docker.compose.service"] == service:
                container.status = "exited"


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """It runs and fits."""
    return Kept(tmp_path)


def test_a_cluster_that_runs_and_fits_is_used(kept: Kept) -> None:
    assert kept.read() == kept.cluster
    assert kept.engine.happened == [f"containers of {kept.cluster.project}"]
    assert noted(kept.home) == kept.cluster


def test_where_none_was_kept_nobody_is_asked(tmp_path: Path) -> None:
    engine = FakeEngine()
    assert read_kept(Home(tmp_path), engine, 2, IMAGES) is None
    assert engine.happened == []


def test_it_is_forgotten_when_it_is_taken_down(kept: Kept) -> None:
    forget_kept(kept.home)
    assert (noted(kept.home), kept.read()) == (None, None)
    forget_kept(kept.home)


@pytest.mark.parametrize("there", [True, False])
def test_one_of_which_nothing_runs_any_more_is_forgotten(there: bool, kept: Kept) -> None:
    for service in SERVICES:
        kept.stop(service)
    if not there:
        kept.engine.there = []
    assert kept.read() is None
    assert noted(kept.home) is None
    assert kept.read(brokers=5) is None, "what is not there cannot be in the way"


@pytest.mark.parametrize("service", SERVICES)
def test_one_of_which_something_does_not_run_any_more_is_refused_and_left_as_it_is(
    service: str, kept: Kept
) -> None:
    kept.stop(service)
    with pytest.raises(
        UsageError, match=rf"^the cluster that `make up` keeps has lost {service}; `make down` f"
    ):
        kept.read()
    assert noted(kept.home) == kept.cluster
    assert not any(container.gone for container in kept.engine.there)


def test_all_that_it_has_lost_is_named_though_other_brokers_are_asked_for(kept: Kept) -> None:
    for service in ("namenode", "broker-2"):
        kept.stop(service)
    kept.engine.there.append(FakeContainer("broker-3"))
    with pytest.raises(UsageError, match="has lost broker-2, namenode; `make down` first"):
        kept.read(brokers=5)


def test_one_of_other_brokers_is_refused_and_left_as_it_is(kept: Kept) -> None:
    with pytest.raises(UsageError) as refusal:
        kept.read(brokers=5)
    says = str(refusal.value)
    assert "keeps a cluster of 2 brokers and 5 are asked for" in says
    assert "BROKERS=2" in says and "`make down`" in says
    assert noted(kept.home) == kept.cluster
    assert not any(container.gone for container in kept.engine.there)


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_one_of_older_images_is_refused(name: str, kept: Kept) -> None:
    with pytest.raises(UsageError, match=r"older images than this checkout's; `make down` first"):
        kept.read(images={**IMAGES, name: "newer:2"})
    assert noted(kept.home) == kept.cluster


def test_the_images_of_a_campaign_alone_are_no_matter(kept: Kept) -> None:
    assert kept.read(images={**IMAGES, "tollgate": "t:2", "engine": "e:2"}) == kept.cluster


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"project": "x"}', '{"of": "another version"}'])
def test_a_note_that_cannot_be_read_is_none(text: str, kept: Kept) -> None:
    (path,) = kept.home.artifacts.iterdir()
    path.write_text(text)
    assert (noted(kept.home), kept.read()) == (None, None)
    assert not path.exists()


def test_what_is_noted_is_read_back(kept: Kept) -> None:
    other = replace(kept.cluster, brokers=9)
    note_kept(kept.home, other)
    assert noted(kept.home) == other
