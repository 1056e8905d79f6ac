"""Build the images that are not there, by plain `docker build`; say what each weighs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import certifi

from conductor.appliance.docker_engine import DEFAULT_HOST, DockerEngine
from conductor.appliance.images import (
    BUILDERS,
    CERTIFICATES,
    DEBIAN,
    DEBIAN_RELEASE,
    Image,
    Tags,
    files_of,
)
from conductor.interrupts import held
from conductor.processes import Child
from conductor.progress import Progress
from contract.errors import EnvironmentLacking, ServiceFailed

BUILD_S_MAX = 1800.0
PULL_S_MAX = 60.0
DEBIAN_S_MAX = 600.0
_HOST_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
#: "#7 [3/6] RUN …" of BuildKit, "Step 3/9 : RUN …" of the older builder
_STEP = re.compile(r"^(?:#\d+ \[[^\]]*\] .*|Step \d+/\d+ : .*)")
#: what no reader of a container needs
_LEFT_OUT = ("doc", "man", "locale", "info")
LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Built:
    """An image that is there."""

    image: Image
    tag: str
    #: None: it was there already
    seconds: float | None
    size_bytes: int


class Builder:
    """Has images built that are lacking, parents first."""

    def __init__(
        self, engine: DockerEngine, images: Mapping[str, Image], tags: Tags, progress: Progress
    ) -> None:
        self._engine, self._images, self._tags = engine, images, tags
        self._progress = progress
        self._docker = docker_program()

    def lacking(self, wanted: Iterable[Image]) -> list[Image]:
        """What of it, and of what it is built from, must be built."""
        found: dict[str, Image] = {}

        def look_at(image: Image) -> None:
            if self._engine.has_image(self._tags.of(image)):
                return
            for parent in image.parents:
                if parent in self._images:
                    look_at(self._images[parent])
            found[image.name] = image

        for image in wanted:
            look_at(image)
        return list(found.values())

    def build(self, wanted: Sequence[Image], logs: Path) -> list[Built]:
        """Have them all; each one's log is kept below `logs`."""
        lacking = self.lacking(wanted)
        took: dict[str, float] = {}
        for number, image in enumerate(lacking, 1):
            self._progress.run(f"image {number}/{len(lacking)} {image.name}: ")
            start = time.monotonic()
            if DEBIAN in image.parents:
                self._have_debian(logs)
            self._build(image, logs / f"build-{image.name.replace('/', '-')}.log")
            took[image.name] = time.monotonic() - start
        self._progress.run("")
        self._progress.clear()
        return [
            Built(
                image,
                self._tags.of(image),
                took.get(image.name),
                self._engine.image_size(self._tags.of(image)),
            )
            for image in wanted
        ]

    def _build(self, image: Image, log: Path) -> None:
        tag = self._tags.of(image)
        self._progress.phase("build")
        log.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile(prefix="tollgate-context-", suffix=".tar") as context:
            _pack(image, Path(context.name))
            dockerfile = image.dockerfile.relative_to(image.root)
            command = [self._docker.program, "build", "-f", str(dockerfile), "-t", tag]
            for parent in self._tags.parents_of(image):
                command += ["--build-arg", f"{parent.upper()}={self._tags.of_parent(parent)}"]
            command += ["--label", f"tollgate.sources={self._tags.hash_of(image)}"]
            command += ["--force-rm", *self._docker.options, "-"]
            self._run(f"building {image.name}", command, log, Path(context.name), BUILD_S_MAX)

    def _run(
        self, what: str, command: list[str], log: Path, stdin: Path | None, timeout_s: float
    ) -> None:
        env = {"DOCKER_HOST": DEFAULT_HOST, **os.environ}
        env.pop("DOCKER_CONTEXT", None)
        env |= {"DOCKER_BUILDKIT": "1" if self._docker.buildkit else "0"}
        child = Child(what, command, env, log, stdin=stdin)
        deadline = time.monotonic() + timeout_s
        try:
            while (code := child.exit_code()) is None:
                if time.monotonic() > deadline:
                    raise ServiceFailed(f"{what} took longer than {timeout_s:.0f} s; see {log}")
                steps = [line for line in child.log_tail(20) if _STEP.match(line)]
                self._progress.tick(steps[-1] if steps else "")
                time.sleep(LOOK_S)
        finally:
            with held():
                child.kill()
        if code != 0:
            tail = "\n  ".join(child.log_tail())
            raise ServiceFailed(f"{what} failed (exit code {code}); {log} ends:\n  {tail}")

    def _have_debian(self, logs: Path) -> None:
        """Debian itself: pulled where an image registry answers, otherwise made here."""
        tag = self._tags.of_parent(DEBIAN)
        if self._engine.has_image(tag):
            return
        self._progress.phase("Debian: pull")
        if self._engine.pull(f"debian:{DEBIAN_RELEASE}-slim", tag, PULL_S_MAX):
            return
        maker = shutil.which("mmdebstrap")
        if maker is None or os.geteuid() != 0:
            raise EnvironmentLacking(
                "no image registry answers, and without one the base image is made by root with "
                "mmdebstrap: `apt-get install mmdebstrap`, or bring the images with `make load`"
            )
        self._progress.phase("Debian: no image registry answers, so mmdebstrap makes it")
        with tempfile.TemporaryDirectory(prefix="tollgate-debian-") as place:
            archive = Path(place) / "debian.tar"
            left_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT]
            emptied = 'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/*'
            command = [maker, "--variant=minbase", "--include=ca-certificates", *left_out]
            command += [f"--customize-hook={emptied}", DEBIAN_RELEASE, str(archive)]
            log = logs / "build-debian.log"
            log.unlink(missing_ok=True)
            self._run("making Debian", command, log, None, DEBIAN_S_MAX)
            self._engine.import_image(archive, tag)


def _pack(image: Image, target: Path) -> None:
    """The build's context: the Dockerfile and what its COPY lines name; no owner, no times."""
    with tarfile.open(target, "w") as tar:
        _add(tar, image.dockerfile, image.dockerfile.relative_to(image.root))
        for source in image.sources:
            if source == CERTIFICATES:
                _add(tar, host_certificates(os.environ), Path(CERTIFICATES))
                continue
            for path in files_of(image.root, source):
                _add(tar, path, path.relative_to(image.root))


def host_certificates(env: Mapping[str, str]) -> Path:
    """Whom this machine trusts: some networks need it inside a build too."""
    for place in (env.get("SSL_CERT_FILE"), _HOST_CERTIFICATES):
        if place and Path(place).is_file():
            return Path(place)
    return Path(certifi.where())


def _add(tar: tarfile.TarFile, path: Path, name: Path) -> None:
    facts = tarfile.TarInfo(str(name))
    facts.size = path.stat().st_size
    facts.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    with path.open("rb") as file:
        tar.addfile(facts, file)


@dataclass(frozen=True, slots=True)
class DockerProgram:
    """The `docker` command that is used for building."""

    program: str
    buildkit: bool

    @property
    def options(self) -> list[str]:
        return ["--progress=plain"] if self.buildkit else []


def docker_program(
    ask: Callable[[list[str]], str | None] | None = None, path: str | None = None
) -> DockerProgram:
    """The first `docker` on the path that builds with BuildKit, otherwise the first there is."""
    ask = ask or _ask
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    programs = [found for f in folders if (found := shutil.which("docker", path=f))]
    if not programs:
        raise EnvironmentLacking(
            "there is no `docker` command: `make engine` installs it, or say RUNTIME=embedded"
        )
    for program in programs:
        told = re.search(r"version (\d+)\.", ask([program, "--version"]) or "")
        # before 23 the command has BuildKit in itself, later ones need the plugin
        if told and (int(told[1]) < 23 or ask([program, "buildx", "version"]) is not None):
            return DockerProgram(program, buildkit=True)
    return DockerProgram(programs[0], buildkit=False)


def _ask(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def shipped(images: Mapping[str, Image]) -> list[Image]:
    """The images that something runs in, or that those are made from."""
    return [image for image in images.values() if image.name not in BUILDERS]
