"""Have hosts prepared: a Docker engine and a compose, or a bundle's images; measures nothing."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from conductor.ansible import Play, Say, Told, play
from conductor.asked import read_words
from conductor.home import Home
from contract.errors import ExitCode, UsageError

WORDS = ("HOSTS", "DRY", "BECOME_ASK")
_LISTS = ("manifest.json", "index.json")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def prepare_engine(words: list[str], home: Home, say: Say) -> int:
    """`tollgate engine`: a Docker engine and a compose on every host."""
    play(play_of("engine.yml", read_words(words, WORDS)), home, say)
    return ExitCode.VALID


def load_images(bundle: Path, how: Play, home: Home, say: Say) -> Told:
    """Have the images of the bundle on every host; one that has them already is left alone."""
    ids = ids_of(bundle)
    images = {
        "bundle": str(bundle),
        "image_names": sorted(ids),
        "image_lines": [f"{name} {i}" for name in sorted(ids) for i in sorted(ids[name])],
    }
    return play(replace(how, variables=images | how.variables), home, say)


def play_of(playbook: str, given: Mapping[str, str]) -> Play:
    """What the words of a verb ask for."""
    for name in ("DRY", "BECOME_ASK"):
        if given.get(name, "0") not in ("0", "1"):
            raise UsageError(f"{name}={given[name]} cannot be; give 1 or 0")
    dry, ask = (given.get(name) == "1" for name in ("DRY", "BECOME_ASK"))
    return Play(playbook, given.get("HOSTS", ""), dry=dry, become_ask=ask)


def ids_of(bundle: Path) -> dict[str, set[str]]:
    """Names of a bundle's images, each with the ids that an engine may give it.

    An engine's own store calls an image by its configuration, containerd's by its manifest.
    """
    try:
        texts: dict[str, bytes] = {}
        with tarfile.open(bundle, "r:*") as tar:
            # read on the way: to go back in a compressed file is to unpack it again
            for member in tar:
                file = tar.extractfile(member) if member.name in _LISTS else None
                if file is not None:
                    texts[member.name] = file.read()
        ids: dict[str, set[str]] = {}
        for image in json.loads(texts["manifest.json"]):
            digest = _DIGEST.search(image["Config"])
            for name in image["RepoTags"] or ():
                ids.setdefault(name, set()).update({f"sha256:{digest[0]}"} if digest else ())
        index = json.loads(texts.get("index.json", b"{}"))
        for entry in index.get("manifests", ()):
            name = entry.get("annotations", {}).get("io.containerd.image.name", "")
            name = name.removeprefix("docker.io/").removeprefix("library/")
            if name in ids:
                ids[name].add(entry["digest"])
    except OSError as error:
        raise UsageError(f"the bundle {bundle} cannot be read: {error.strerror or error}") from None
    except (tarfile.TarError, EOFError, KeyError, TypeError, ValueError):
        raise UsageError(f"{bundle} is no bundle: `docker save` has not written it") from None
    if not ids:
        raise UsageError(f"the bundle {bundle} names no image")
    return ids
