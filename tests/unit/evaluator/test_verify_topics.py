"""verify judges a campaign again from its topics, wherever they are, or says that it cannot."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from contract.errors import ExitCode
from contract.results import BESIDE, read_json, write_json
from evaluator.rebuild import places
from evaluator.verify import verify
from tests.unit.evaluator.judged import make_judged_campaign, retold


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged")
    make_judged_campaign(root)
    return root


@pytest.fixture
def campaign(judged: Path, tmp_path: Path) -> Path:
    """A copy of the campaign with its topics beside it; where it was made nothing is left."""
    shutil.copytree(judged, tmp_path / "moved")
    folder = tmp_path / "moved" / "c"
    return retold(folder, store="file:/nowhere/store")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def beside(_: Path, __: Path) -> dict[str, Any]:
    return {}


def kept(_: Path, topics: Path) -> dict[str, Any]:
    topics.parent.rename(topics.parents[2] / "kept")
    return {
        "store_kept": f"file:{topics.parents[2]}/kept",
        "store": "hdfs://namenode:8020/tollgate",
    }


def as_written(_: Path, topics: Path) -> dict[str, Any]:
    topics.parent.rename(topics.parents[2] / "away")
    return {"store": f"file://{topics.parents[2]}/away"}


@pytest.mark.parametrize("put", [beside, kept, as_written])
def test_the_topics_are_found_where_they_are_said_to_be(
    campaign: Path,
    put: Callable[[Path, Path], dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    retold(campaign, **put(campaign, campaign.parent / "store" / "c"))
    assert verify(campaign) == ExitCode.VALID, said(capsys)
    told = said(capsys)
    assert "864 verdicts on outputs are the topics', and the campaign is valid." in told
    assert "Not re-checked" not in told


def test_a_place_that_is_named_is_the_only_one(
    campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (campaign.parent / "store").rename(tmp_path / "other")
    for address in (f"{tmp_path}/other", f"file:{tmp_path}/other", f"{tmp_path}/other/c"):
        assert verify(campaign, address) == ExitCode.VALID
        assert "Not re-checked" not in said(capsys)
    (tmp_path / "other").rename(campaign.parent / "store")
    assert verify(campaign, f"{tmp_path}/other") == ExitCode.VALID
    assert "Not re-checked" in said(capsys)


def test_what_cannot_be_re_checked_is_said_and_the_rest_is_checked(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(campaign.parent / "store" / "c" / "2-join" / "outputs")
    assert verify(campaign) == ExitCode.VALID
    told = said(capsys)
    assert (
        "Not re-checked: the topics of runs/2-join cannot be read here, so the verdicts on their "
        "outputs, and what stalls are, were taken as found." in told
    )
    assert told.endswith("and the campaign is valid; the verdicts of 1 run were not re-checked.\n")
    shutil.rmtree(campaign.parent / "store")
    assert verify(campaign) == ExitCode.VALID
    assert "Not re-checked: the topics of runs/1-parse, runs/2-join cannot" in said(capsys)


def test_a_tampered_topic_is_a_difference(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = campaign.parent / "store" / "c" / "1-parse" / "outputs"
    (path,) = folder.glob("*.parquet")
    pq.write_table(pq.read_table(path).slice(1), path)
    assert verify(campaign) == ExitCode.FAILURE
    told = said(capsys)
    assert "1-parse topics: " in told and "does not match" in told.splitlines()[-1]


def test_a_run_of_which_nothing_was_collected_cannot_be_valid(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = campaign / "runs" / "1-parse" / "run.json"
    run = read_json(path)
    write_json(path, run | {"outputs": dict.fromkeys(run["outputs"])})
    retold(campaign)
    assert verify(campaign) == ExitCode.FAILURE
    told = said(capsys)
    assert "1-parse valid, though nothing was collected" in told
    assert "of runs/1-parse no topics were collected" in told


@pytest.mark.parametrize("schema", [1, 3, None])
def test_another_schema_is_one_sentence(
    campaign: Path, schema: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    retold(campaign, schema=schema)
    assert verify(campaign) == ExitCode.FAILURE
    assert said(capsys) == f"this campaign is of schema {schema}, this Tollgate reads 2\n"


PIN_EDITS: dict[str, Any] = {
    "requirements_lock_sha256": "ab",
    "artifacts_lock_sha256": None,
    "git_commit": "main",
    "packages": {"numpy": 2},
    "tollgate": None,
    "sources_sha256": "x",
}


@pytest.mark.parametrize("pin", PIN_EDITS)
def test_pins_are_well_formed(campaign: Path, pin: str, capsys: pytest.CaptureFixture[str]) -> None:
    pins = read_json(campaign / "campaign.json")["pins"]
    retold(campaign, pins=pins | {pin: PIN_EDITS[pin]})
    assert verify(campaign) == ExitCode.FAILURE
    assert f"campaign.json pins {pin}: " in said(capsys)


def test_a_folder_that_is_no_runs_is_said(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (campaign / "runs" / "a-b").mkdir()
    assert verify(campaign) == ExitCode.FAILURE
    assert said(capsys).endswith("runs/ holds a folder that is no run's\n")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden"])
def test_no_name_leads_out_of_the_store(tmp_path: Path, name: str) -> None:
    assert places(tmp_path, {"campaign_id": name, "store": "file:/x"}, None) == []


def test_the_nearest_topics_are_looked_at_first(tmp_path: Path) -> None:
    told = {"campaign_id": "c", "store": "hdfs://n/x", "store_kept": "file:/kept"}
    nearest = [tmp_path / "c" / "store", tmp_path / "store" / "c"]
    assert places(tmp_path / "c", told, None) == [*nearest, Path("/kept/c")]
    told["store"] = "file:///first"
    assert places(tmp_path / "c", told, None)[2:] == [Path("/kept/c"), Path("/first/c")]
    assert places(tmp_path / "c", told, "file:/y") == [Path("/y/c"), Path("/y")]
    told = {"campaign_id": "c", "store": BESIDE}
    assert places(tmp_path / "c", told, None)[2:] == [tmp_path / "c" / ".." / "store" / "c"]
