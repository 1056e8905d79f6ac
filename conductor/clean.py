"""Take away what campaigns left: abandoned folders and containers, traces, and results if asked."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.kept import noted
from conductor.appliance.old_images import remove_old_images
from conductor.appliance.project import CLUSTER, project_name
from conductor.doctor import MIB, folder_size
from conductor.home import TRACE_PREFIX, Home, abandoned_scratch
from conductor.lock import none_runs
from contract.errors import EnvironmentLacking, UsageError
from contract.results import CampaignFolder, read_json


def clean(home: Home, what: str) -> list[str]:
    """`temporary`: folders and containers whose owner is gone, traces of defects, benches that
    were not finished; `images` that this checkout does not use any more; `results`; `all`: jars,
    environment, a kept cluster too.
    """
    traces = Path(tempfile.gettempdir()).glob(f"{TRACE_PREFIX}*")
    doomed = [*abandoned_scratch(), *sorted(p for p in traces if p.is_file())]
    if what in ("results", "all"):
        doomed += _results(home)
    elif what not in ("temporary", "images"):
        raise UsageError(f"WHAT={what} cannot be; give temporary, images, results or all")
    if what == "all":
        doomed += [home.artifacts, home.path / ".venv"]
    said: list[str] = []
    with ExitStack() as alone:
        try:
            alone.enter_context(none_runs(home))
        except UsageError:
            # folders and traces that are abandoned belong to no campaign that runs
            if what != "temporary":
                raise
        else:
            said += _containers(home, everything=what == "all")
            doomed += _unfinished(home)
        if what == "images":
            said += remove_old_images(home)
        said += [_take_away(path) for path in doomed if path.exists()]
        if what != "temporary":
            for folder in (home.results / "store", home.results):
                # one that holds something of somebody else's stays
                with suppress(OSError):
                    folder.rmdir()
    return said or ["nothing to take away"]


def _containers(home: Home, everything: bool) -> list[str]:
    """Those of a campaign that was killed; a cluster that is kept is not abandoned."""
    try:
        engine = DockerEngine()
    except EnvironmentLacking:
        # nor has anything of ours a container then
        return []
    try:
        if noted(home) is not None and not everything:
            gone = engine.remove_containers(project_name(home.path), CLUSTER)
        else:
            gone = engine.take_down(project_name(home.path))
    finally:
        engine.close()
    return [f"took away {name}" for name in gone]


def _unfinished(home: Home) -> list[Path]:
    """Benches that ended without an answer, and what was stored of them: none goes on."""
    found = []
    for folder in _campaigns(home):
        with suppress(OSError, ValueError):
            campaign = CampaignFolder(folder)
            verb = read_json(campaign.conditions).get("verb")
            if verb == "bench" and not campaign.campaign_json.exists():
                found += [folder, _stored(home, folder)]
    return found


def _results(home: Home) -> list[Path]:
    """The checkout's own folder whole; of one elsewhere, which may hold more, what is ours."""
    if home.results_elsewhere is None:
        return [home.results]
    campaigns = _campaigns(home)
    stored = [_stored(home, folder) for folder in campaigns]
    return [*campaigns, *stored, *home.results.glob("engine-check-*")]


def _campaigns(home: Home) -> list[Path]:
    """Their folders; before them links to one, which end with it."""
    folders = [told.parent for told in home.results.glob("[!.]*/conditions.json")]
    return sorted(folders, key=lambda folder: not folder.is_symlink())


def _stored(home: Home, campaign: Path) -> Path:
    return home.results / "store" / campaign.name


def _take_away(path: Path) -> str:
    is_folder = path.is_dir() and not path.is_symlink()
    size = folder_size(path) if is_folder else path.lstat().st_size
    if is_folder:
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
    how = "could not take away all of" if path.exists() else "took away"
    return f"{how} {path} ({size / MIB:.0f} MiB)"
