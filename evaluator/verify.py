"""Check a finished campaign by its samples and topics: no Kafka, no Spark, a second implementation.

Figures are computed again from the samples of each run, and the samples, with the verdicts on
outputs, from the topics as they were collected, where those can be read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contract.errors import ExitCode
from contract.results import SCHEMA, CampaignFolder, read_json
from evaluator.archive import unpacked
from evaluator.rebuild import Again, rebuild_campaign
from evaluator.verify_campaign import check_campaign
from evaluator.verify_files import check_files, check_manifest
from evaluator.verify_parts import Check
from evaluator.verify_pins import check_pins, other_locks
from evaluator.verify_plan import check_plan
from evaluator.verify_report import check_report, drawn_here
from evaluator.verify_run import check_run

DIFFERENCES_SHOWN = 5
RUNS_NAMED = 5


def verify(campaign: Path, store: str | None = None) -> int:
    """Recompute, compare, print what was checked; the exit code says what came of it.

    `campaign` is a campaign's folder or an archive of it; `store` is where its topics are, if
    they are not where they are looked for.
    """
    if campaign.is_file():
        with unpacked(campaign) as folder:
            return _verify(CampaignFolder(folder), campaign, store, archived=True)
    return _verify(CampaignFolder(campaign), campaign, store, archived=False)


def _verify(folder: CampaignFolder, asked: Path, store: str | None, *, archived: bool) -> int:
    if not folder.campaign_json.is_file():
        print(f"{asked} is no campaign: it holds no campaign.json")
        return ExitCode.USAGE
    try:
        campaign = read_json(folder.campaign_json)
    except (ValueError, RecursionError) as error:
        print(f"{asked}: campaign.json is not JSON: {error}")
        return ExitCode.FAILURE
    if not isinstance(campaign, dict):
        print(f"{asked} is no campaign: campaign.json holds no object")
        return ExitCode.USAGE
    if campaign.get("schema") != SCHEMA:
        print(f"this campaign is of schema {campaign.get('schema')}, this Tollgate reads {SCHEMA}")
        return ExitCode.FAILURE
    try:
        run_folders = folder.runs()
    except ValueError:
        print(f"{asked}: runs/ holds a folder that is no run's")
        return ExitCode.FAILURE
    files = [*check_files(folder, campaign), *check_manifest(folder.path, needed=archived)]
    checked = {run.path.name: check_run(run) for run in run_folders}
    runs = {name: run for name, (run, _) in checked.items()}
    again = rebuild_campaign(folder, campaign, runs, store)
    groups = [("files", files)]
    for name, (_, checks) in checked.items():
        groups.append((f"runs/{name}", checks))
        if name in again.checks:
            groups.append(("  its topics", again.checks[name]))
    groups.append(("figures and prices", _figures(folder, campaign, runs)))
    if drawn_here(campaign) and all(c.agrees for _, checks in groups for c in checks):
        groups.append(("report.html", [check_report(folder)]))
    _print_table(groups)
    _print_notes(campaign, again)
    return _conclude(campaign, [c for _, checks in groups for c in checks], again)


def _figures(
    folder: CampaignFolder, campaign: dict[str, Any], runs: dict[str, dict[str, Any]]
) -> list[Check]:
    try:
        return [
            *check_plan(folder, campaign, runs),
            *check_campaign(folder, campaign, runs),
            *check_pins(campaign),
        ]
    except (ValueError, OSError, LookupError, TypeError, AttributeError) as error:
        # as of a run: what was cut or changed may be wrong in any way
        says = next(iter(str(error).splitlines()), type(error).__name__)
        return [Check("campaign.json figures and prices", "readable", says)]


def _conclude(campaign: dict[str, Any], checks: list[Check], again: Again) -> int:
    """The last sentence, and the exit code that belongs to it."""
    differing = [c for c in checks if not c.agrees]
    if differing:
        for check in differing[:DIFFERENCES_SHOWN]:
            print(f"  {check.where}: {check.says()}")
        more = len(differing) - DIFFERENCES_SHOWN
        if more > 0:
            print(f"  and {more} more")
        # one that is looked at twice is one file
        gone = {check.where for check in differing if check.found == "missing"}
        if gone:
            print(f"Of these, {len(gone):,} are files that are not here.")
        print(f"The campaign does not match its samples: {len(differing)} of {len(checks)} differ.")
        if not drawn_here(campaign):
            commit = (campaign.get("pins") or {}).get("git_commit") or "that it was made with"
            print(f"Its sources are not this checkout's: see what those of commit {commit} say.")
        return ExitCode.FAILURE
    verdicts = f", {again.verdicts:,} verdicts on outputs are the topics'" if again.verdicts else ""
    told = f"All {len(checks):,} figures and hashes match{verdicts}"
    lacking = f"{len(again.lacking)} run{'s' * (len(again.lacking) > 1)}"
    rest = f"; the verdicts of {lacking} were not re-checked" if again.lacking else ""
    if not drawn_here(campaign):
        rest += "; report.html was not compared"
    if campaign.get("valid") is True:
        print(f"{told}, and the campaign is valid{rest}.")
        return ExitCode.VALID
    print(f"{told}, but the campaign is invalid{rest}.")
    return ExitCode.INVALID


def _print_table(groups: list[tuple[str, list[Check]]]) -> None:
    width = max(len(name) for name, _ in groups)
    print(f"{'':{width}}  checked  differ")
    for name, checks in groups:
        differ = sum(not c.agrees for c in checks)
        print(f"{name:{width}}  {len(checks):7d}  {differ or '-':>6}")


def _print_notes(campaign: dict[str, Any], again: Again) -> None:
    """What could not be checked, and what is no difference but should be known."""
    if again.lacking:
        print(
            f"Not re-checked: the topics of {_named(again.lacking)} cannot be read here, so the "
            f"verdicts on their outputs, and what stalls are, were taken as found."
        )
    if again.never_collected:
        print(f"Nothing to re-check: of {_named(again.never_collected)} no topics were collected.")
    if others := other_locks(campaign):
        print(
            f"Note: {' and '.join(others)} of this checkout "
            f"{'is' if len(others) == 1 else 'are'} not what the campaign was made with."
        )
    if not drawn_here(campaign):
        print(
            "Note: the campaign was made with other sources than this checkout's, which may draw "
            "its report otherwise: report.html was not compared (make report draws it anew)."
        )


def _named(runs: list[str]) -> str:
    """The runs by name, or how many where they are many."""
    if len(runs) <= RUNS_NAMED:
        return ", ".join(f"runs/{run}" for run in runs)
    return f"{len(runs)} runs (runs/{runs[0]} to runs/{runs[-1]})"
