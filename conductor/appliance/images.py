"""Which images there are, what each is made of, and the tag that follows; builds nothing.

An image is a folder of `images/`. Its parents are the build arguments of its FROM lines, named
after their folders; its sources are the paths of its COPY lines, counted from the checkout. The tag
is a hash of all that, so an image that is there is never older than its sources, and two checkouts
of different versions do not disturb each other.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conductor.artifacts import STAMP
from conductor.home import Home
from contract.errors import EnvironmentLacking, UsageError

#: what images/base starts from; pulled, or made by mmdebstrap
DEBIAN = "debian"
DEBIAN_RELEASE = "bookworm"
#: the host's certificates: a builder's stage needs them behind some networks, no image has them
CERTIFICATES = ".artifacts/ca-certificates.crt"
#: stages of others; nothing runs in them
BUILDERS = ("go",)
PREFIX = "tollgate"
TAG_DIGITS = 12

_FROM = re.compile(r"^FROM\s+\$\{(\w+)\}", re.MULTILINE)
_COPY = re.compile(r"^COPY\s+(.+)$", re.MULTILINE)
_STAGE = re.compile(r"^FROM\s+\S+\s+AS\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Image:
    """A folder of an image and what its Dockerfile says of it."""

    name: str
    #: what COPY lines count from: the checkout, or the folder of an engine that is elsewhere
    root: Path
    dockerfile: Path
    parents: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def repository(self) -> str:
        """Its name for Docker, without the tag."""
        name = re.sub(r"[^a-z0-9]+", "-", self.name.replace("engines/", "engine-").lower())
        return f"{PREFIX}/{name.strip('-')}"


def read_image(name: str, folder: Path, root: Path) -> Image:
    """Read a Dockerfile's FROM and COPY lines."""
    dockerfile = folder / "Dockerfile"
    try:
        text = dockerfile.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{dockerfile} cannot be read: {error.strerror}") from None
    for line in text.splitlines():
        if line.startswith(("ADD ", "COPY [")):
            raise UsageError(f"{dockerfile}: {line[:40]}… cannot be read here; write COPY a b c/")
    parents = [argument.lower() for argument in _FROM.findall(text)]
    copies = [line.split() for line in _COPY.findall(text.replace("\\\n", " "))]
    sources = [
        word
        for words in copies
        if not any(word.startswith("--from=") for word in words)
        for word in words[:-1]
        if not word.startswith("--")
    ]
    stages = set(_STAGE.findall(text))
    return Image(
        name,
        root,
        dockerfile,
        tuple(dict.fromkeys(p for p in parents if p not in stages)),
        tuple(dict.fromkeys(sources)),
    )


def read_images(home: Home) -> dict[str, Image]:
    """The images of the checkout, parents first."""
    folder = home.path / "images"
    found: dict[str, Image] = {}
    for dockerfile in sorted(folder.glob("**/Dockerfile")):
        name = str(dockerfile.parent.relative_to(folder))
        found[name] = read_image(name, dockerfile.parent, home.path)
    ordered: dict[str, Image] = {}

    def add(image: Image, under: tuple[str, ...] = ()) -> None:
        if image.name in under:
            raise EnvironmentLacking(f"images {' → '.join((*under, image.name))} need each other")
        for parent in image.parents:
            if parent in found:
                add(found[parent], (*under, image.name))
            elif parent != DEBIAN:
                raise EnvironmentLacking(f"{image.dockerfile} starts from {parent}: no such image")
        ordered[image.name] = image

    for image in found.values():
        add(image)
    return ordered


class Tags:
    """The tag of each image, worked out once."""

    def __init__(self, images: Mapping[str, Image], artifacts_lock: Path) -> None:
        self._images = images
        self._pinned = _lines_of_lock(artifacts_lock)
        self._known: dict[str, str] = {}

    def of(self, image: Image) -> str:
        """Repository and tag."""
        return f"{image.repository}:{self.hash_of(image)[:TAG_DIGITS]}"

    def parents_of(self, image: Image) -> list[str]:
        """Those of the checkout; what else a Dockerfile starts from is its own affair."""
        return [name for name in image.parents if name == DEBIAN or name in self._images]

    def of_parent(self, name: str) -> str:
        """The tag of a parent, the outermost one included."""
        if name == DEBIAN:
            return f"{PREFIX}/{DEBIAN}:{DEBIAN_RELEASE}"
        return self.of(self._images[name])

    def hash_of(self, image: Image) -> str:
        """Over the Dockerfile, its sources and its parents."""
        key = str(image.dockerfile)
        if key not in self._known:
            self._known[key] = digest_of(self._parts(image))
        return self._known[key]

    def _parts(self, image: Image) -> Iterator[bytes]:
        yield image.dockerfile.read_bytes()
        for parent in self.parents_of(image):
            yield self.of_parent(parent).encode()
        for source in image.sources:
            yield source.encode()
            if source == CERTIFICATES:
                continue
            if source.startswith(".artifacts/"):
                # what is fetched is pinned by the lock: it need not be there to be known
                yield self._pinned.get(source.split("/")[1], "").encode()
                continue
            yield from content_of(image.root, source)


def digest_of(parts: Iterable[bytes]) -> str:
    """A hash over parts, each with its length: no two lists of parts look alike."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def content_of(root: Path, source: str) -> Iterator[bytes]:
    """Of each file of a COPY line's source: its name, whether it is a program, its bytes."""
    for path in files_of(root, source):
        yield f"{path.relative_to(root)} {os.access(path, os.X_OK)}".encode()
        yield path.read_bytes()


def files_of(root: Path, source: str) -> Iterator[Path]:
    """The files that a COPY line's source brings, in order, without what Python leaves there."""
    if any(sign in source for sign in "*?["):
        matched = sorted(path for path in root.glob(source) if path.is_file())
        if not matched:
            raise UsageError(f"COPY {source} matches no file below {root}")
        yield from matched
        return
    start = root / source
    if not start.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"COPY {source} leads out of {root}")
    if start.is_file():
        yield start
        return
    if not start.is_dir():
        raise EnvironmentLacking(f"{start}, which an image is made of, is not there")
    for path in sorted(start.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.name != STAMP:
            yield path


def _lines_of_lock(lock: Path) -> dict[str, str]:
    """Folder → its lines of artifacts.lock."""
    found: dict[str, list[str]] = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            found.setdefault(words[0], []).append(" ".join(words[1:]))
    return {folder: "\n".join(sorted(lines)) for folder, lines in found.items()}
