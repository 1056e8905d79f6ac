"""A reproduction on real brokers: interrupted, gone on with, verified, packed, compared."""

from __future__ import annotations

import signal

import pytest

from contract.claims import papers_on
from contract.errors import ExitCode
from contract.results import read_json
from tests.system.tollgate import SHORT, Tollgate

pytestmark = pytest.mark.brokers

#: the example engine runs two stages and starts at once: what Spark does others test
WORDS = ["ENGINE=example", "QUICK=1", "REPEAT=2", *SHORT]


def test_a_reproduction_is_interrupted_goes_on_and_is_checked_by_somebody_else(
    tollgate: Tollgate,
) -> None:
    first = tollgate.start("reproduce", *WORDS)
    tollgate.wait_until(first, lambda: "run 3/4" in tollgate.said(first))
    first.send_signal(signal.SIGINT)
    stopped = tollgate.end(first)
    assert stopped.code == ExitCode.INTERRUPTED, stopped
    assert "the same command goes on where this one stopped" in stopped.err
    assert tollgate.left_behind() == []
    (folder,) = tollgate.campaigns()
    before = read_json(folder / "conditions.json")
    ended = [run["path"] for run in before["runs"] if run["ended"] in ("valid", "invalid")]
    assert ended, before

    second = tollgate.run("reproduce", *WORDS)
    assert second.code in (ExitCode.VALID, ExitCode.INVALID), second
    assert f"going on with {folder.name}, which has {len(ended)} of 4 runs" in second.err
    assert tollgate.campaigns() == [folder], "nothing begins anew"
    campaign = tollgate.campaign()
    assert campaign["complete"] and len(campaign["interruptions"]) == 1
    assert all(run["outputs"]["expected"] == run["outputs"]["correct"] > 0
               for run in tollgate.runs())  # fmt: skip
    for claim in papers_on("traffic")[0].claims:
        assert claim.says in second.out
    assert "preliminary" in second.out
    assert [run["repetition"] for run in campaign["runs"]] == [1, 1, 2, 2]

    verified = tollgate.run("verify")
    assert verified.code == second.code, verified
    packed = tollgate.run("archive", f"ARCHIVE={tollgate.results}/it.tar")
    assert packed.code == ExitCode.VALID, packed
    again = tollgate.run("verify", str(tollgate.results / "it.tar"))
    assert again.code == second.code, again
    itself = tollgate.run("compare", "A=latest", "B=latest")
    assert itself.code == ExitCode.USAGE, itself
