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
            doomed += [folder for folder in _unfinished(home) if folder not in doomed]
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
    for told in home.results.glob("[!.]*/conditions.json"):
        campaign = CampaignFolder(told.parent)
        if campaign.path.is_symlink() or campaign.campaign_json.exists():
            continue
        with suppress(OSError, ValueError):
            if read_json(told).get("verb") == "bench":
                found += [campaign.path, home.results / "store" / campaign.path.name]
    return found


def _results(home: Home) -> list[Path]:
    """The checkout's own folder whole; of one elsewhere, which may hold more, what is ours."""
    if home.results_elsewhere is None:
        return [home.results]
    campaigns = [told.parent for told in home.results.glob("[!.]*/conditions.json")]
    links = [folder for folder in campaigns if folder.is_symlink()]
    own = [folder for folder in campaigns if not folder.is_symlink()]
    stored = [home.results / "store" / folder.name for folder in own]
    return [*links, *own, *stored, *home.results.glob("engine-check-*")]


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
