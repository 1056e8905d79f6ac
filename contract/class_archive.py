"""Which JVM options let a program start from an archive of classes, or note them for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

#: the folder of the archives; where it is not set, JVMs start as ever
VARIABLE = "CLASS_ARCHIVES"


def class_archive_options(program: str, instance: object, env: Mapping[str, str]) -> list[str]:
    """Start from the program's archive; where there is none yet, note the classes for it.

    It changes how fast a JVM starts and nothing else: a JVM that finds the archive unfit (another
    version, another class path) loads its classes as ever.
    """
    folder = env.get(VARIABLE)
    if not folder:
        return []
    archive = Path(folder) / f"{program}.jsa"
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off"]
    return [f"-XX:DumpLoadedClassList={Path(folder) / f'{program}-{instance}.classes'}"]


def quoted(options: Iterable[str]) -> str:
    """JVM options as the one text that Spark takes apart again: a path may hold blanks."""
    return " ".join(f'"{option}"' for option in options)


def note_class_path(program: str, env: Mapping[str, str], path_of: Callable[[], str]) -> None:
    """Leave the program's class path, which its archive is to be made with, where it is lacking."""
    folder = env.get(VARIABLE)
    if folder and not (Path(folder) / f"{program}.classpath").exists():
        (Path(folder) / f"{program}.classpath").write_text(path_of(), encoding="utf-8")
