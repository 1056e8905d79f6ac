"""A campaign is packed whole or not at all, twice the same, and unpacked only where it may be."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.errors import EnvironmentLacking, ExitCode, TollgateError, UsageError
from contract.results import read_json, write_json
from evaluator.archive import archive, pack, papers, unpack, unpacked
from evaluator.report import write_report
from evaluator.verify import verify
from tests.unit.evaluator.campaigns import Plan, make_campaign
from tests.unit.evaluator.judged import make_judged_campaign, retold

HOME = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked in these tests; it is empty after each."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged")
    make_judged_campaign(root)
    (root / "store" / "c" / "1-parse" / "inputs" / ".part-0.parquet.crc").touch()
    return root


@pytest.fixture
def campaign(judged: Path, tmp_path: Path) -> Path:
    """A copy, with its topics beside it; where it was made nothing is left."""
    shutil.copytree(judged, tmp_path / "results")
    return retold(tmp_path / "results" / "c", store="file:/nowhere/store")


@pytest.fixture
def slim(tmp_path: Path) -> Path:
    """A campaign whose topics are nowhere."""
    folder = make_campaign(tmp_path / "c", Plan())
    write_report(folder)
    return folder


@pytest.mark.parametrize("leaving_out", [False, True])
def test_an_archive_is_verified_wherever_it_is_and_leaves_nothing(
    campaign: Path,
    tmp_path: Path,
    temporary: Path,
    leaving_out: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert archive(campaign, slim=leaving_out) == ExitCode.VALID
    packed = campaign.parent / ("c-slim.tar" if leaving_out else "c.tar")
    told = capsys.readouterr().out
    assert told.startswith(f"{packed}: ") and f"verify it with: ./tollgate verify {packed}" in told
    elsewhere = packed.rename(tmp_path / "elsewhere.tar")
    shutil.rmtree(campaign.parent)
    before = sorted(p.name for p in tmp_path.iterdir())
    assert verify(elsewhere) == ExitCode.VALID
    told = capsys.readouterr().out
    assert ("verdicts on outputs are the topics'" in told) is not leaving_out
    assert ("Not re-checked: the topics of runs/1-parse, runs/2-join" in told) is leaving_out
    assert list(temporary.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_an_archive_unpacked_by_hand_is_a_campaign_and_its_manifest_holds(
    campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive(campaign, tmp_path / "packed.tar")
    shutil.rmtree(campaign.parent)
    subprocess.run(["tar", "xf", "packed.tar"], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"], cwd=tmp_path / "c"
    )
    assert done.returncode == 0
    listed = {line[66:] for line in (tmp_path / "c" / "MANIFEST.sha256").read_text().splitlines()}
    there = {str(p.relative_to(tmp_path / "c")) for p in (tmp_path / "c").rglob("*") if p.is_file()}
    assert listed == there - {"MANIFEST.sha256"}
    kinds = {"/".join(name.split("/")[2:3]) for name in listed if name.startswith("store/")}
    assert kinds == {"inputs", "outputs", "verdicts"} and not any(".crc" in name for name in listed)
    assert verify(tmp_path / "c") == ExitCode.VALID
    (tmp_path / "c" / "README.md").write_text("nothing to see")
    (tmp_path / "c" / "store" / "more").touch()
    assert verify(tmp_path / "c") == ExitCode.FAILURE
    told = capsys.readouterr().out
    assert "MANIFEST.sha256 README.md" in told and "MANIFEST.sha256 store/more: " in told


def test_what_was_unpacked_is_packed_again_as_it_was(campaign: Path, tmp_path: Path) -> None:
    archive(campaign, tmp_path / "c.tar")
    shutil.rmtree(campaign.parent)
    (tmp_path / "again").mkdir()
    subprocess.run(["tar", "xf", "../c.tar"], cwd=tmp_path / "again", check=True)
    archive(tmp_path / "again" / "c")
    assert (tmp_path / "again" / "c.tar").read_bytes() == (tmp_path / "c.tar").read_bytes()


def test_packing_twice_gives_the_same_bytes(campaign: Path, tmp_path: Path) -> None:
    digests = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / f"{folder}.tar"
        archive(campaign, path)
        digests.append(hashlib.sha256(path.read_bytes()).digest())
        for path in campaign.rglob("*"):
            os.utime(path, (1, 1))
            path.chmod(0o755)
    assert digests[0] == digests[1]


def test_topics_that_are_not_there_are_said_and_slim_does_without(
    campaign: Path, tmp_path: Path
) -> None:
    topics = (campaign.parent / "store").rename(tmp_path / "other")
    retold(campaign, store="hdfs://namenode:8020/x")
    with pytest.raises(TollgateError, match="topics of runs/1-parse cannot be read here; STORE="):
        archive(campaign)
    assert sorted(p.name for p in campaign.parent.iterdir()) == ["c"]
    archive(campaign, store=str(topics))
    archive(campaign, slim=True)
    assert sorted(p.name for p in campaign.parent.iterdir()) == ["c", "c-slim.tar", "c.tar"]


def _changed(folder: Path) -> None:
    (folder / "runs" / "1-parse" / "logs" / "engine.log").write_text("nothing happened\n")


def _removed(folder: Path) -> None:
    (folder / "runs" / "1-parse" / "slots.parquet").unlink()


def _added(folder: Path) -> None:
    (folder / "notes.txt").touch()


def _linked(folder: Path) -> None:
    (folder / "link").symlink_to("/etc/hostname")


def _said(folder: Path, **told: Any) -> None:
    campaign = read_json(folder / "campaign.json")
    write_json(folder / "campaign.json", campaign | told)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (_changed, "runs/1-parse/logs/engine.log is not as campaign.json says, written"),
    "removed": (_removed, "runs/1-parse/slots.parquet is not as.*found missing"),
    "added": (_added, "notes.txt is not as campaign.json says, written not listed"),
    "linked": (_linked, "link is not as campaign.json says, written not listed"),
    "incomplete": (lambda f: _said(f, complete=False, says="it rained"), "not complete.*it rained"),
    "schema": (lambda f: _said(f, schema=1), "of schema 1, this Tollgate reads 2"),
    "no report": (lambda f: (f / "report.html").unlink(), "report draws it anew.*written missing"),
    "another report": (lambda f: (f / "report.html").write_text("x"), "make report draws it anew"),
    "no JSON": (lambda f: (f / "campaign.json").write_text("{"), "is not JSON"),
    "no campaign": (lambda f: (f / "campaign.json").unlink(), "is no finished campaign"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_sound_is_not_packed(slim: Path, name: str) -> None:
    damage, says = REFUSED[name]
    damage(slim)
    with pytest.raises(TollgateError, match=says):
        archive(slim, slim=True)
    assert not [p for p in slim.parent.iterdir() if "tar" in p.name]


def test_what_is_there_already_stays_as_it_is(slim: Path, tmp_path: Path) -> None:
    target = tmp_path / "c.tar"
    target.write_text("precious")
    with pytest.raises(UsageError, match=r"c\.tar is there already"):
        archive(slim, target, slim=True)
    assert target.read_text() == "precious"
    with pytest.raises(UsageError, match="there is no folder"):
        archive(slim, tmp_path / "nowhere" / "c.tar", slim=True)
    with pytest.raises(UsageError, match="lies within the campaign"):
        archive(slim, slim / "c.tar", slim=True)


def test_a_short_disk_is_said_before_and_while_packing(
    slim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = SimpleNamespace(free=1000)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: full)
        with pytest.raises(EnvironmentLacking, match="0 MB free; ARCHIVE=file"):
            archive(slim, slim=True)

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pack, "_add", fails)
    with pytest.raises(EnvironmentLacking, match="is full"):
        archive(slim, slim=True)
    assert not [p for p in slim.parent.iterdir() if "tar" in p.name]


def test_what_goes_along_can_be_read_by_people_and_programs(slim: Path) -> None:
    campaign = read_json(slim / "campaign.json") | {"question": 'What does "join" cost?'}
    cited = papers.citation(campaign)
    assert 'title: "What does \\"join\\" cost? Tollgate campaign c"' in cited
    assert 'date-released: "2026-11-18"' in cited and f'name: "{papers.AUTHORS}"' in cited
    told = papers.machine(campaign)
    assert "AMD EPYC 7B13, 2 cores" in told and "packages: pyspark 4.3.0, " in told
    assert papers.machine({"campaign_id": "c"}).count("unknown") > 5
    for slim_too in (False, True):
        text = papers.readme(campaign, "c.tar", slim=slim_too)
        assert "./tollgate verify c.tar" in text and ("left out" in text) is slim_too


def test_the_checkout_is_cited_with_the_same_paper() -> None:
    text = (HOME / "CITATION.cff").read_text()
    assert text.endswith(papers.METHOD) and "license: Apache-2.0" in text
    assert f'name: "{papers.AUTHORS}"' in text


def _tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


UNSAFE: dict[str, list[tarfile.TarInfo]] = {
    "absolute": [_member("/c/x")],
    "above": [_member("c/../../x")],
    "above at once": [_member("../c/x")],
    "a link": [_member("c/x", tarfile.SYMTYPE, "/etc/passwd"), _member("c/x/y")],
    "a hard link": [_member("c/x", tarfile.LNKTYPE, "c/y")],
    "a device": [_member("c/x", tarfile.CHRTYPE)],
    "a pipe": [_member("c/x", tarfile.FIFOTYPE)],
    "twice": [_member("c/x"), _member("c/./x")],
    "a file as a folder": [_member("c/x"), _member("c/x/y")],
    "a folder as a file": [_member("c/x/y"), _member("c/x")],
    "no folder": [_member("x")],
}


@pytest.mark.parametrize("name", UNSAFE)
def test_nothing_unsafe_is_unpacked(name: str, tmp_path: Path, temporary: Path) -> None:
    path = _tar(tmp_path / "c.tar", (_member("c/campaign.json"), b"{}"))
    with tarfile.open(path, "a") as tar:
        for member in UNSAFE[name]:
            tar.addfile(member)
    with pytest.raises(unpack.UnsafeArchive), unpacked(path):
        pass
    assert list(temporary.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.tar", "temporary"]


@given(st.lists(st.sampled_from(["..", ".", "", "c", "x", "/"]), min_size=1, max_size=6))
def test_no_name_leads_out_of_the_temporary_folder(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = _tar(root / "c.tar", (_member("/".join(parts) + "/y"), b"y"))
        try:
            with unpacked(path) as campaign:
                found = Path(tempfile.gettempdir()).rglob("y")
                assert all(p.is_relative_to(campaign) for p in found)
        except TollgateError:
            pass
        assert [p.name for p in root.iterdir()] == ["c.tar"]


def test_what_is_no_archive_is_the_users_mistake(tmp_path: Path, temporary: Path) -> None:
    text = tmp_path / "c.tar"
    text.write_text("no archive")
    two = _tar(tmp_path / "two.tar", (_member("a/x"), b""), (_member("b/x"), b""))
    cut = _tar(tmp_path / "cut.tar", (_member("c/campaign.json"), b"{}" * 4000))
    cut.write_bytes(cut.read_bytes()[:2000])
    empty = _tar(tmp_path / "empty.tar")
    for path in (text, two, cut, empty):
        with pytest.raises(UsageError, match="is no archive of a campaign"), unpacked(path):
            pass
    other = _tar(tmp_path / "other.tar", (_member("c/x"), b""))
    assert verify(other) == ExitCode.USAGE
    assert list(temporary.iterdir()) == []


def test_more_than_the_disk_holds_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    path = _tar(tmp_path / "c.tar", (_member("c/x"), b"x" * 5000))
    full = SimpleNamespace(free=unpack.FREE_BYTES_MIN + 4000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    with pytest.raises(EnvironmentLacking, match="TMPDIR=folder"), unpacked(path):
        pass
    assert list(temporary.iterdir()) == []


def test_an_archive_without_its_manifest_does_not_match(
    slim: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.tar"
    with tarfile.open(path, "w") as tar:
        tar.add(slim, "c")
    assert verify(path) == ExitCode.FAILURE
    assert "MANIFEST.sha256: written there, found missing" in capsys.readouterr().out
