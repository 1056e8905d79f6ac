"""Check a finished campaign by its stored samples: no Kafka, no Spark, a second implementation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract.errors import ExitCode
from contract.results import CampaignFolder, read_json, sha256_of
from evaluator.report import render
from evaluator.report.material import read_campaign
from evaluator.verify_campaign import check_campaign
from evaluator.verify_parts import Check
from evaluator.verify_run import check_run

DIFFERENCES_SHOWN = 5


def verify(campaign_dir: Path) -> int:
    """Recompute, compare, print what was checked; the exit code says what came of it."""
    folder = CampaignFolder(campaign_dir)
    if not folder.campaign_json.is_file():
        print(f"{campaign_dir} is no campaign: it holds no campaign.json")
        return ExitCode.USAGE
    try:
        campaign = read_json(folder.campaign_json)
    except ValueError as error:
        print(f"{folder.campaign_json} is not JSON: {error}")
        return ExitCode.FAILURE
    if not isinstance(campaign, dict):
        print(f"{campaign_dir} is no campaign: campaign.json holds no object")
        return ExitCode.USAGE
    groups = [("files", list(_files(folder, campaign)))]
    runs: dict[str, dict[str, Any]] = {}
    for run_folder in folder.runs():
        run, checks = check_run(run_folder)
        runs[run_folder.path.name] = run
        groups.append((f"runs/{run_folder.path.name}", checks))
    groups.append(("figures and prices", list(check_campaign(folder, campaign, runs))))
    if all(check.agrees for _, checks in groups for check in checks):
        # of samples that were changed no report can be expected to be drawn
        groups.append(("report.html", [_report(folder)]))
    _print_table(groups)
    return _conclude(campaign, [c for _, checks in groups for c in checks])


def _conclude(campaign: dict[str, Any], checks: list[Check]) -> int:
    """The last sentence, and the exit code that belongs to it."""
    differing = [c for c in checks if not c.agrees]
    if differing:
        for check in differing[:DIFFERENCES_SHOWN]:
            print(f"  {check.where}: {check.says()}")
        more = len(differing) - DIFFERENCES_SHOWN
        if more > 0:
            print(f"  and {more} more")
        print(f"The campaign does not match its samples: {len(differing)} of {len(checks)} differ.")
        return ExitCode.FAILURE
    if campaign.get("valid") is True:
        print(f"All {len(checks)} figures and hashes match, and the campaign is valid.")
        return ExitCode.VALID
    print(f"All {len(checks)} figures and hashes match, but the campaign is invalid.")
    return ExitCode.INVALID


def _print_table(groups: list[tuple[str, list[Check]]]) -> None:
    width = max(len(name) for name, _ in groups)
    print(f"{'':{width}}  checked  differ")
    for name, checks in groups:
        differ = sum(not c.agrees for c in checks)
        print(f"{name:{width}}  {len(checks):7d}  {differ or '-':>6}")


def _report(folder: CampaignFolder) -> Check:
    """The report says what the samples give: it is drawn again and must be the same."""
    drawn = hashlib.sha256(render(read_campaign(folder.path)).encode()).hexdigest()
    there = sha256_of(folder.report) if folder.report.is_file() else "missing"
    return Check("report.html (make report draws it anew)", there, drawn)


def _files(folder: CampaignFolder, campaign: dict[str, Any]) -> Iterator[Check]:
    """Every listed file is there and unchanged, and there is no other."""
    listed = campaign.get("files")
    if not isinstance(listed, dict):
        yield Check("campaign.json files", None, "no list of hashes")
        return
    for name, told in sorted(listed.items()):
        path = folder.path / name
        if not path.resolve().is_relative_to(folder.path.resolve()):
            yield Check(name, told, "lies outside the campaign")
        else:
            yield Check(name, told, sha256_of(path) if path.is_file() else "missing")
    own = (folder.campaign_json, folder.report)
    for path in sorted(folder.path.rglob("*")):
        name = path.relative_to(folder.path).as_posix()
        there = (path.is_file() or path.is_symlink()) and path not in own
        if there and not path.name.startswith(".") and name not in listed:
            yield Check(name, "not listed", "there")
