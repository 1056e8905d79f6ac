"""Only what is lacking is built, parents first, from nothing but what its Dockerfile names."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import certifi
import pytest

from conductor.appliance.building import (
    Builder,
    DockerProgram,
    _pack,
    docker_program,
    host_certificates,
    shipped,
)
from conductor.appliance.images import CERTIFICATES, DEBIAN, Image, Tags, read_images
from conductor.home import Home
from conductor.progress import Progress
from contract.errors import EnvironmentLacking, ServiceFailed
from tests.unit.conductor.appliance.fakes import FakeEngine
from tests.unit.conductor.appliance.test_images import Checkout
from tests.unit.conductor.fakes import program


class Commands:
    """Folders of a path with a `docker` each, of which each says its version."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folders: list[Path] = []

    def add(self, version: str | None, *, buildx: bool = False) -> str:
        folder = self.folder / f"bin{len(self.folders)}"
        folder.mkdir()
        self.folders.append(folder)
        if version is None:
            return ""
        says = f'[ "$1" = --version ] && {{ echo "Docker version {version}, build 1"; exit; }}'
        plugin = f'[ "$1 $2" = "buildx version" ] && exit {0 if buildx else 1}'
        return str(program(folder / "docker", f"{says}\n{plugin}\nexit 1"))

    @property
    def path(self) -> str:
        return ":".join(map(str, self.folders))


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """No docker anywhere yet."""
    return Commands(tmp_path)


def test_the_first_docker_that_builds_with_buildkit_is_taken(commands: Commands) -> None:
    commands.add(None)
    plain = commands.add("26.1.5+dfsg1")
    assert docker_program(path=commands.path) == DockerProgram(plain, buildkit=False)
    with_plugin = commands.add("27.3.1", buildx=True)
    commands.add("20.10.24")
    assert docker_program(path=commands.path) == DockerProgram(with_plugin, buildkit=True)


@pytest.mark.parametrize(
    ("version", "buildx", "buildkit"),
    [
        ("20.10.24+dfsg1", False, True),
        ("18.09.1", False, True),
        ("23.0.0", False, False),
        ("23.0.0", True, True),
        ("29.0.1", False, False),
        ("29.0.1", True, True),
    ],
)
def test_before_23_a_docker_has_buildkit_in_itself_and_later_as_a_plugin(
    version: str, buildx: bool, buildkit: bool, commands: Commands
) -> None:
    taken = commands.add(version, buildx=buildx)
    assert docker_program(path=commands.path) == DockerProgram(taken, buildkit)


def test_without_buildkit_the_first_there_is_is_taken(commands: Commands) -> None:
    first = commands.add("26.1.5")
    commands.add("27.0.0")
    assert docker_program(path=commands.path).program == first


def test_a_docker_that_does_not_answer_is_the_last_choice(commands: Commands) -> None:
    silent = commands.add("26.0.0")
    program(Path(silent), "exit 1")
    assert docker_program(path=commands.path) == DockerProgram(silent, buildkit=False)
    good = commands.add("20.10.1")
    assert docker_program(path=commands.path).program == good


def test_without_a_docker_command_it_is_said_how_to_get_one(commands: Commands) -> None:
    commands.add(None)
    with pytest.raises(EnvironmentLacking, match=r"^there is no `docker` command: `make engine`"):
        docker_program(path=commands.path)


def test_the_users_own_path_is_looked_at(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = commands.add("20.10.24")
    monkeypatch.setenv("PATH", commands.path)
    assert docker_program().program == taken


def test_only_buildkit_knows_the_option_that_makes_its_steps_readable() -> None:
    assert DockerProgram("docker", buildkit=True).options == ["--progress=plain"]
    assert DockerProgram("docker", buildkit=False).options == []


def test_a_certificate_that_the_user_named_goes_before_the_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, hosts = tmp_path / "own.crt", tmp_path / "hosts.crt"
    monkeypatch.setattr("conductor.appliance.building._HOST_CERTIFICATES", str(hosts))
    env = {"SSL_CERT_FILE": str(own)}
    assert host_certificates(env) == Path(certifi.where())
    hosts.touch()
    assert host_certificates(env) == hosts
    own.touch()
    assert host_certificates(env) == own
    assert host_certificates({}) == host_certificates({"SSL_CERT_FILE": ""}) == hosts


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Three images, each based on the one before it; what they need is there."""
    made = Checkout(tmp_path / "checkout")
    made.file(".artifacts/kafka/one.jar", "a jar")
    made.file(".artifacts/kafka/.complete", "a hash")
    made.file("images/kafka/conf/__pycache__/x.pyc", "compiled")
    made.file("images/kafka/notes", "nobody copies it")
    return made


def test_the_context_is_the_dockerfile_and_what_its_copy_lines_name(
    checkout: Checkout, tmp_path: Path
) -> None:
    _pack(checkout.images()["kafka"], tmp_path / "context.tar")
    with tarfile.open(tmp_path / "context.tar") as tar:
        assert sorted(tar.getnames()) == [
            ".artifacts/kafka/one.jar",
            "images/kafka/Dockerfile",
            "images/kafka/conf/deep/settings",
            "images/kafka/entrypoint",
        ]
        modes = {each.name: each.mode for each in tar.getmembers()}
        assert modes.pop("images/kafka/entrypoint") == 0o755
        assert set(modes.values()) == {0o644}
        assert {(each.uid, each.gid, each.mtime) for each in tar.getmembers()} == {(0, 0, 0)}
        jar = tar.extractfile(".artifacts/kafka/one.jar")
        assert jar is not None and jar.read() == b"a jar"


def test_the_same_sources_are_the_same_context(checkout: Checkout, tmp_path: Path) -> None:
    for name in "ab":
        _pack(checkout.images()["kafka"], tmp_path / name)
        (checkout.path / "images" / "kafka" / "entrypoint").touch()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_hosts_certificates_are_brought_though_no_checkout_has_them(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = checkout.file("own.crt", "whom this machine trusts")
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    _pack(checkout.images()["java"], tmp_path / "context.tar")
    with tarfile.open(tmp_path / "context.tar") as tar:
        file = tar.extractfile(CERTIFICATES)
        assert file is not None and file.read() == b"whom this machine trusts"


class Workshop:
    """A builder whose docker is a small script, and an engine that has what was built."""

    def __init__(self, checkout: Checkout, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told, self.logs = folder / "told", folder / "logs"
        self.engine = FakeEngine()
        self.images = checkout.images()
        self.tags = Tags(self.images, checkout.path / "images" / "artifacts.lock")
        self.said = io.StringIO()
        self.docker = folder / "bin" / "docker"
        self.monkeypatch = monkeypatch
        self.script("")
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
        monkeypatch.setattr("conductor.appliance.building.LOOK_S", 0.005)

    def script(self, then: str) -> None:
        version = '[ "$1" = --version ] && { echo "Docker version 20.10.24, build 1"; exit; }'
        told = f'echo "$DOCKER_BUILDKIT $*" >> "{self.told}"\ncat > /dev/null'
        program(self.docker, f"{version}\n{told}\n{then}")

    def builder(self) -> Builder:
        return Builder(self.engine, self.images, self.tags, Progress(self.said))

    def wanted(self, *names: str) -> list[Image]:
        return [self.images[name] for name in names]

    def have(self, *names: str) -> None:
        self.engine.images |= {self.tags.of(image) for image in self.wanted(*names)}

    def have_what_was_built(self) -> None:
        """The engine is a fake: the script's docker leaves no image in it."""
        self.monkeypatch.setattr(self.engine, "image_size", lambda _: 1000)

    def commands(self) -> list[str]:
        return self.told.read_text().splitlines() if self.told.exists() else []


@pytest.fixture
def workshop(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """Nothing was built in it yet."""
    return Workshop(checkout, tmp_path, monkeypatch)


def test_lacking_is_what_is_not_there_and_what_that_is_built_from(workshop: Workshop) -> None:
    def lacking(*names: str) -> list[str]:
        return [image.name for image in workshop.builder().lacking(workshop.wanted(*names))]

    assert lacking("kafka") == ["base", "java", "kafka"]
    assert lacking("kafka", "java", "kafka") == ["base", "java", "kafka"]
    workshop.have("base")
    assert lacking("kafka", "base") == ["java", "kafka"]
    workshop.have("kafka")
    assert lacking("kafka") == [], "its parents were of use only to build it"


def test_each_image_is_built_of_its_parents_tags_under_its_own(workshop: Workshop) -> None:
    workshop.engine.images.add(workshop.tags.of_parent(DEBIAN))
    everything = workshop.wanted("base", "java", "kafka")
    builder = workshop.builder()

    workshop.have_what_was_built()
    built = builder.build(everything, workshop.logs)
    assert [(made.image.name, made.tag) for made in built] == [
        (image.name, workshop.tags.of(image)) for image in everything
    ]
    assert all(made.seconds is not None and made.seconds >= 0 for made in built)
    base, java, kafka = workshop.commands()
    assert base.startswith("1 build -f images/base/Dockerfile -t tollgate/base:")
    assert "--build-arg DEBIAN=tollgate/debian:bookworm" in base
    assert f"--build-arg BASE={workshop.tags.of(workshop.images['base'])}" in java
    assert f"--build-arg JAVA={workshop.tags.of(workshop.images['java'])}" in kafka
    for command in (base, java, kafka):
        assert command.endswith("--progress=plain -"), "the context is read from stdin"


def test_what_is_there_is_not_built_again(workshop: Workshop) -> None:
    workshop.have("base", "java", "kafka")
    (made,) = workshop.builder().build(workshop.wanted("kafka"), workshop.logs)
    assert (made.seconds, made.size_bytes) == (None, 1000)
    assert workshop.commands() == []


def test_a_build_that_fails_says_the_end_of_its_log_and_where_it_is(workshop: Workshop) -> None:
    workshop.have("base", "java")
    workshop.script('echo "#7 [3/6] RUN false"\necho "no such package" >&2\nexit 100')
    with pytest.raises(ServiceFailed) as failure:
        workshop.builder().build(workshop.wanted("kafka"), workshop.logs)
    log = workshop.logs / "build-kafka.log"
    says = str(failure.value)
    assert says.startswith(f"building kafka failed (exit code 100); {log} ends:")
    assert says.endswith("\n  no such package")
    assert "RUN false" in log.read_text()


def test_a_build_that_takes_too_long_is_ended(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.have("base", "java")
    workshop.script("exec sleep 1000")
    monkeypatch.setattr("conductor.appliance.building.BUILD_S_MAX", 0.05)
    with pytest.raises(ServiceFailed, match=r"^building kafka took longer than 0 s; see .*\.log"):
        workshop.builder().build(workshop.wanted("kafka"), workshop.logs)


def test_debian_is_pulled_where_a_registry_answers(workshop: Workshop) -> None:
    workshop.engine.registry_answers = True
    workshop.have_what_was_built()
    workshop.builder().build(workshop.wanted("base"), workshop.logs)
    assert workshop.engine.happened == ["pull debian:bookworm-slim"]
    assert len(workshop.commands()) == 1


def test_without_a_registry_and_without_its_maker_it_is_said_how_to_get_debian(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.appliance.building.shutil.which", lambda *_, **__: None)
    builder = Builder.__new__(Builder)
    builder.__dict__ |= {
        "_engine": workshop.engine,
        "_images": workshop.images,
        "_tags": workshop.tags,
        "_progress": Progress(workshop.said),
    }
    with pytest.raises(EnvironmentLacking, match=r"`apt-get install mmdebstrap`, or bring the im"):
        builder.build(workshop.wanted("base"), workshop.logs)


def test_what_only_builds_others_is_not_shipped(checkout: Checkout) -> None:
    checkout.image("go", "ARG BASE\nFROM ${BASE}\n")
    assert [i.name for i in shipped(read_images(Home(checkout.path)))] == ["base", "java", "kafka"]
