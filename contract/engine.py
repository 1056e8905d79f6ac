"""The engine contract: what engine.toml says and which environment an engine is started with."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeGuard

from contract.errors import UsageError, unknown_name
from contract.settings import RunSettings

#: what a container, and the name that others find it by, may be called
SERVICE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
#: what Tollgate's own services are called, and how it numbers instances
RESERVED = ("publisher", "evaluator", "machine", "namenode", "influxdb", "cadvisor", "kafka")
_NUMBERED = re.compile(r"^(broker|datanode)$|-\d+$")
Delivery = Literal["exactly-once", "at-least-once"]
#: how long an engine may take from SIGTERM to its end
STOP_S_MAX = 30


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a setting's value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


#: where what `prepare` makes goes, and where the engine finds it
BUILD_DIR = "BUILD_DIR"
#: as `instances` of a [[service]]: as many as the run's INSTANCES
AS_ASKED = "INSTANCES"


def _words(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; a single text would be taken for a list of its letters."""
    given = raw.get(name, [])
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        raise ValueError(f"{name} is no list of texts")
    return tuple(given)


@dataclass(frozen=True, slots=True)
class Service:
    """One process of an engine; the first one's exit code is the engine's."""

    name: str
    command: tuple[str, ...]
    #: None: as many as the run's INSTANCES
    instances: int | None
    #: settings that must have these values, or the service is not started
    only_with: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """From a [[service]] table."""
        given = raw.get("instances", 1)
        count = None if given == AS_ASKED else int(given)
        only_with = dict(raw.get("only_with", {}))
        return cls(str(raw["name"]), tuple(map(str, raw["command"])), count, only_with)

    def is_wanted(self, settings: Mapping[str, Any]) -> bool:
        """Whether it is started with these settings."""
        return all(settings.get(name) == value for name, value in self.only_with.items())


@dataclass(frozen=True, slots=True)
class Execution:
    """A mode with a dialect, and what follows from it."""

    mode: str
    dialect: str
    #: "interval": every checkpoint_s; "batch": with every batch; "none"
    commits: Literal["interval", "batch", "none"]
    #: the setting that bounds, in ms of event time, how far records may be out of order
    disorder_setting: str | None


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What `engine.toml` declares."""

    name: str
    version: str
    delivery: Delivery
    #: workload → stages it runs
    stages: Mapping[str, tuple[str, ...]]
    #: the first is the default
    executions: tuple[Execution, ...]
    services: tuple[Service, ...]
    #: setting → its default
    settings: Mapping[str, Any]
    #: folders of artifacts.lock whose jars it needs as plain processes
    artifacts: tuple[str, ...] = ()
    #: a program and its arguments, run once for each state of the engine's folder; none: nothing
    prepare: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read an engine.toml; what is missing in it is said in a sentence."""
        try:
            written = path.read_bytes()
        except FileNotFoundError:
            raise UsageError(f"{path} is missing: an engine needs an engine.toml") from None
        return cls.parse(written, str(path))

    @classmethod
    def parse(cls, written: bytes, path: str) -> Self:
        """Read what an engine.toml says; `path` is where it was."""
        try:
            raw = tomllib.loads(written.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} is not TOML: {error}") from None
        try:
            spec = cls(
                name=raw["name"],
                version=raw["version"],
                delivery=raw["delivery"],
                stages={w: tuple(s) for w, s in raw["stages"].items()},
                executions=tuple(
                    Execution(
                        e["mode"], e["dialect"], e.get("commits", "none"), e.get("disorder_setting")
                    )
                    for e in raw["execution"]
                ),
                services=tuple(Service.read(s) for s in raw["service"]),
                settings=dict(raw.get("settings", {})),
                artifacts=_words(raw, "artifacts"),
                prepare=_words(raw, "prepare"),
            )
        except KeyError as error:
            raise UsageError(f"{path} does not say {error}: see docs/new-engine.md") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path} is not as docs/new-engine.md shows: {error}") from None
        for problem in spec._contradictions():
            raise UsageError(f"{path}: {problem}; see docs/new-engine.md")
        return spec

    def _contradictions(self) -> Iterator[str]:
        """What is well-formed and yet cannot be."""
        if not isinstance(self.name, str) or not SERVICE_NAME.fullmatch(self.name):
            yield f"the engine's name {self.name!r} is not of a-z, 0-9 and -"
        if not self.executions or not self.services:
            yield "an engine has at least one [[execution]] and one [[service]]"
        for each in self.executions:
            name = each.disorder_setting
            if name is not None and not is_number(self.settings.get(name)):
                yield f"disorder_setting names {name}, which is no number of [settings]"
            if each.commits == "interval" and not is_number(self.settings.get("checkpoint_s")):
                yield 'commits = "interval" needs the setting checkpoint_s'

        yield from self._contradictions_of_services()

    def _contradictions_of_services(self) -> Iterator[str]:
        names = [service.name for service in self.services]
        if len(set(names)) < len(names):
            yield "two [[service]] have one name"
        for service in self.services:
            if not SERVICE_NAME.fullmatch(service.name):
                yield f"the service's name {service.name!r} is not of a-z, 0-9 and -"
            if service.name in RESERVED or _NUMBERED.search(service.name):
                yield f"the service's name {service.name} is one that Tollgate gives"
            if not service.command:
                yield f"the service {service.name} has no command"
            if service.instances is not None and service.instances < 1:
                yield f"the service {service.name} has no instance"
            for name in service.only_with:
                if name not in self.settings:
                    yield f"only_with of {service.name} names {name}, which is not in [settings]"
        if self.services and self.services[0].only_with:
            yield "the first [[service]] is the engine's life: it takes no only_with"

    def started(self, settings: Mapping[str, Any], instances: int) -> list[tuple[Service, int]]:
        """Each service that a run starts, and how many of it; refuses INSTANCES nobody heeds."""
        wanted = [service for service in self.services if service.is_wanted(settings)]
        if instances > 1 and all(service.instances is not None for service in wanted):
            hints = {
                f"{name}={value}"
                for service in self.services
                if service.instances is None
                for name, value in service.only_with.items()
            }
            hint = f" (it does with ENGINE_SETTINGS={','.join(sorted(hints))})" if hints else ""
            raise UsageError(f"engine {self.name} starts nothing INSTANCES={instances} times{hint}")
        return [(service, service.instances or instances) for service in wanted]

    def choose(self, mode: str | None, dialect: str | None) -> Execution:
        """The mode and dialect that were asked for, by default the first that fit."""
        modes = list(dict.fromkeys(e.mode for e in self.executions))
        if mode is not None and mode not in modes:
            raise unknown_name(f"mode of engine {self.name}", mode, modes)
        for execution in self.executions:
            if mode in (None, execution.mode) and dialect in (None, execution.dialect):
                return execution
        pairs = ", ".join(f"{e.mode} with {e.dialect}" for e in self.executions)
        raise UsageError(
            f"engine {self.name} does not run "
            f"{' with '.join(x for x in (mode, dialect) if x)}; it runs {pairs}"
        )

    def check_stage(self, workload: str, stage: str) -> None:
        """Refuse a stage that the engine does not claim."""
        if stage not in self.stages.get(workload, ()):
            claimed = ", ".join(self.stages.get(workload, ())) or "none"
            raise UsageError(
                f"engine {self.name} does not run stage {stage} of {workload} (it runs {claimed})"
            )

    def check_settings(self, given: Mapping[str, Any]) -> None:
        """Refuse settings that the engine does not declare."""
        for name in given:
            if name not in self.settings:
                raise unknown_name(f"setting of engine {self.name}", name, self.settings)


@dataclass(frozen=True, slots=True)
class Place:
    """Which of an engine's processes this one is, and where all of them are."""

    service: str
    #: from 1
    instance: int
    #: service → host:port of each of its instances; the port is free for the process to listen on
    peers: Mapping[str, tuple[str, ...]]

    @property
    def address(self) -> tuple[str, int]:
        """This process's own host and port."""
        host, _, port = self.peers[self.service][self.instance - 1].rpartition(":")
        return host, int(port)

    def to_environment(self) -> dict[str, str]:
        """As environment variables."""
        peers = {name: list(addresses) for name, addresses in self.peers.items()}
        return {
            "SERVICE": self.service,
            "INSTANCE": str(self.instance),
            "PEERS": json.dumps(peers),
        }

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Self:
        """Read the environment back; a missing variable is named."""
        try:
            peers = {name: tuple(found) for name, found in json.loads(env["PEERS"]).items()}
            return cls(env["SERVICE"], int(env["INSTANCE"]), peers)
        except KeyError as error:
            raise UsageError(f"the environment does not set {error.args[0]}") from None
        except (ValueError, AttributeError, TypeError) as error:
            raise UsageError(f"the environment is not well-formed: {error}") from None


@dataclass(frozen=True, slots=True)
class EngineOrder:
    """What an engine is asked to do: the environment it is started with, and nothing else."""

    run_id: str
    workload: str
    stage: str
    mode: str
    dialect: str
    bootstrap_servers: str
    input_topics: Mapping[str, str]
    output_topic: str
    parallelism: int
    instances: int
    state_dir: str
    workload_params: Mapping[str, Any]
    engine_settings: Mapping[str, Any]

    def to_environment(self) -> dict[str, str]:
        """As environment variables."""
        return {
            "RUN_ID": self.run_id,
            "WORKLOAD": self.workload,
            "STAGE": self.stage,
            "MODE": self.mode,
            "DIALECT": self.dialect,
            "BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "INPUT_TOPICS": topics_text(self.input_topics),
            "OUTPUT_TOPIC": self.output_topic,
            "PARALLELISM": str(self.parallelism),
            "INSTANCES": str(self.instances),
            "STATE_DIR": self.state_dir,
            "WORKLOAD_PARAMS": json.dumps(dict(self.workload_params)),
            "ENGINE_SETTINGS": json.dumps(dict(self.engine_settings)),
        }

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Self:
        """Read the environment back; a missing variable is named."""
        try:
            return cls(
                run_id=env["RUN_ID"],
                workload=env["WORKLOAD"],
                stage=env["STAGE"],
                mode=env["MODE"],
                dialect=env["DIALECT"],
                bootstrap_servers=env["BOOTSTRAP_SERVERS"],
                input_topics=parse_topics(env["INPUT_TOPICS"]),
                output_topic=env["OUTPUT_TOPIC"],
                parallelism=int(env["PARALLELISM"]),
                instances=int(env["INSTANCES"]),
                state_dir=env["STATE_DIR"],
                workload_params=json.loads(env.get("WORKLOAD_PARAMS") or "{}"),
                engine_settings=json.loads(env.get("ENGINE_SETTINGS") or "{}"),
            )
        except KeyError as error:
            raise UsageError(f"the environment does not set {error.args[0]}") from None
        except ValueError as error:
            raise UsageError(f"the environment is not well-formed: {error}") from None


def topics_text(topics: Mapping[str, str]) -> str:
    """Kind → topic as `flow=topic,speed=topic`."""
    return ",".join(f"{kind}={topic}" for kind, topic in topics.items())


def parse_topics(text: str) -> dict[str, str]:
    """`flow=topic,speed=topic` as a mapping."""
    return dict(pair.split("=", 1) for pair in text.split(","))


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of a run; measured ones only."""

    inputs: Mapping[str, str]
    output: str

    @classmethod
    def of(cls, run_id: str, kinds: tuple[str, ...]) -> Self:
        """Named after the run, so that every run has fresh ones."""
        return cls({kind: f"{run_id}.{kind}" for kind in kinds}, f"{run_id}.out")

    @property
    def all(self) -> list[str]:
        return [*self.inputs.values(), self.output]


def engine_settings_for(spec: EngineSpec, settings: RunSettings) -> dict[str, Any]:
    """The engine's settings of a run: its defaults, the checkpoint interval, what was asked."""
    spec.check_settings(settings.engine_settings)
    chosen: dict[str, Any] = {**spec.settings, **settings.engine_settings}
    if "checkpoint_s" in spec.settings:
        chosen["checkpoint_s"] = settings.checkpoint_s
    return chosen


def heap_mb(settings: Mapping[str, Any]) -> int | None:
    """The heap that an engine's settings ask for; None where they name none."""
    told = settings.get("memory_mb")
    return int(told) if is_number(told) else None
