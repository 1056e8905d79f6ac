"""The appliance: images built, a stage run in containers, an image swapped in, services lost.

Where there is neither a Docker engine nor the right to bring one up, all of it is skipped, and the
line before the last says why (tests/conftest.py).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kafka import TopicPartition

from conductor.appliance.docker_containers import SERVICE_LABEL
from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.project import DATANODES, project_name
from conductor.topics import Cluster
from contract.errors import ExitCode
from tests.system.engine import docker_engine, why_not
from tests.system.tollgate import HOME, Tollgate
from tests.unit.conductor.fakes import until

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.appliance,
    pytest.mark.skipif(why_not() is not None, reason=f"the appliance: {why_not()}"),
]

BROKERS = 3
SHORT = ["RUNTIME=docker", f"BROKERS={BROKERS}", "DURATION=6", "WARMUP=2", "COOLDOWN=2", "RATE=400"]
PARSE = ["STAGE=parse", "ALONE=1", *SHORT]
#: megabytes of each image with all it is based on; what grows beyond is looked at first
BUDGET_MB = {
    "base": 150,
    "java": 380,
    "pyspark": 950,
    "kafka": 430,
    "hadoop": 430,
    "influxdb": 210,
    "cadvisor": 170,
    "tollgate": 1350,
    "engine-spark": 970,
    "engine-flink": 490,
    "engine-example": 210,
}
CLUSTER = {
    *(f"broker-{n}" for n in range(1, BROKERS + 1)),
    *(f"datanode-{n}" for n in range(1, DATANODES + 1)),
    "namenode",
    "influxdb",
    "cadvisor",
}


class Docker:
    """The engine, and this checkout's part of it."""

    def __init__(self) -> None:
        self.engine = DockerEngine()
        self.project = project_name(HOME)

    def service(self, name: str) -> Any:
        """A service's container."""
        return next(
            c for c in self.engine.containers(self.project) if c.labels[SERVICE_LABEL] == name
        )

    def services(self) -> set[str]:
        """Those that run."""
        running = [c for c in self.engine.containers(self.project) if c.status == "running"]
        return {c.labels[SERVICE_LABEL] for c in running}

    def bootstrap(self) -> str:
        """Where the first broker listens."""
        env = dict(e.split("=", 1) for e in self.service("broker-1").attrs["Config"]["Env"])
        return f"{env['HOST']}:{env['PORT']}"

    def left(self) -> list[str]:
        """Containers and networks of this checkout."""
        networks = [n["name"] for n in self.engine.networks() if self.project in n["name"]]
        return [*(c.name for c in self.engine.containers(self.project)), *networks]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """All images, built; name → megabytes. What was up before the tests is down after them."""
    with docker_engine():
        command = Tollgate(tmp_path_factory.mktemp("images"), results=False)
        ended = command.run("images")
        assert ended.code == ExitCode.VALID, ended
        rows = [line.split() for line in ended.out.splitlines()[1:]]
        yield {row[0].partition("/")[2].partition(":")[0]: int(row[1]) for row in rows}
        assert command.run("down").code == ExitCode.VALID


@pytest.fixture(scope="module")
def docker(images: dict[str, int]) -> Iterator[Docker]:
    """The engine while images are there."""
    assert images
    it = Docker()
    yield it
    it.engine.close()


@pytest.fixture(scope="module")
def kept(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    """A cluster that stays between campaigns, as `make up` leaves it."""
    command = Tollgate(tmp_path_factory.mktemp("kept"), results=False)
    ended = command.run("up", f"BROKERS={BROKERS}")
    assert ended.code == ExitCode.VALID, ended
    assert docker.services() == CLUSTER
    yield docker
    assert docker.services() == CLUSTER
    ended = command.run("down")
    assert ended.code == ExitCode.VALID, ended
    assert docker.left() == []


def test_every_image_is_within_its_budget_and_is_built_once(
    images: dict[str, int], tollgate: Tollgate
) -> None:
    assert set(images) == set(BUDGET_MB)
    too_large = {name: mb for name, mb in images.items() if mb > BUDGET_MB[name]}
    assert not too_large
    again = tollgate.run("images")
    assert again.code == ExitCode.VALID, again
    assert again.out.count("was there") == len(images), again


def test_a_stage_in_containers_of_its_own_with_hdfs_and_monitoring(
    docker: Docker, tollgate: Tollgate
) -> None:
    # each repetition has a cluster of its own
    ended = tollgate.run("bench", "STAGE=join", "ALONE=1", "REPEAT=2", *SHORT)
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    _, run = tollgate.runs()
    assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
    assert run["runtime"] == "docker"
    ran = CLUSTER | {"spark", "publisher", "evaluator"}
    assert set(run["images"]) == set(run["limits"]) == ran
    for service in ran - {"evaluator"}:
        used = run["resources"][service]
        assert used["cpu_cores_avg"] >= 0 and used["memory_bytes_max"] > 0, service
    folder = tollgate.campaigns()[-1]
    _, entry = tollgate.campaign()["runs"]
    rows = pq.read_table(folder / entry["path"] / "resources.parquet").to_pylist()
    sources = {row["service"]: row["source"] for row in rows if row["service"] != "machine"}
    assert {sources[service] for service in ran - {"evaluator"}} == {"cadvisor"}
    assert tollgate.campaign()["store"].startswith("hdfs://")
    kept = tollgate.results / "store" / folder.name / Path(entry["path"]).name
    assert list(kept.glob("inputs/*.parquet")) and list(kept.glob("verdicts/*.parquet"))
    assert docker.left() == []
    verified = tollgate.run("verify")
    assert verified.code == ended.code, verified


def test_an_image_is_swapped_in_and_a_lost_datanode_loses_nothing(
    kept: Docker, tollgate: Tollgate
) -> None:
    image = image_of(tollgate, "engine-example")
    process = tollgate.start("bench", f"ENGINE_IMAGE={image}", *PARSE)
    tollgate.wait_until(process, lambda: ": evaluate" in tollgate.said(process))
    victim = kept.service("datanode-2")
    victim.kill()
    ended = tollgate.end(process)
    victim.start()
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    (run,) = tollgate.runs()
    assert run["engine"] == "example" and run["images"]["example"]["tag"] == image
    assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended


def test_several_engines_share_a_campaign_and_its_limits(kept: Docker, tollgate: Tollgate) -> None:
    image = image_of(tollgate, "engine-example")
    words = ["ENGINES=flink", f"ENGINE_IMAGE={image}", "REPEAT=1", *PARSE]
    ended = tollgate.run("compare", *words)
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    flink, example = sorted(tollgate.runs(), key=lambda run: run["engine"], reverse=True)
    for run in (flink, example):
        assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
    assert flink["engine_services"] == ["jobmanager", "taskmanager"]
    assert flink["limits"]["taskmanager"] == example["limits"]["example"]
    assert example["images"]["example"]["tag"] == image
    assert kept.services() == CLUSTER


def test_an_engine_that_is_killed_ends_the_run_and_is_named(
    kept: Docker, tollgate: Tollgate
) -> None:
    process = tollgate.start("bench", "ENGINE=example", *PARSE, "DURATION=60")
    tollgate.wait_until(process, lambda: "measure" in tollgate.said(process))
    kept.service("engine-example").kill()
    ended = tollgate.end(process)
    assert ended.code == ExitCode.FAILURE, ended
    assert "example died" in ended.err and "exit code 137" in ended.err, ended
    (run,) = tollgate.runs()
    assert "engine-died" in {d["id"] for d in run["doubts"]}
    assert run["phases_s"]["measure"] < 60


def test_a_clock_that_loses_its_leadership_makes_the_run_invalid(
    kept: Docker, tollgate: Tollgate
) -> None:
    process = tollgate.start("bench", "ENGINE=example", *PARSE)
    tollgate.wait_until(process, lambda: "measure" in tollgate.said(process))
    topic = f"{tollgate.campaigns()[-1].name}-1-parse.out"
    cluster = Cluster(kept.bootstrap())
    try:
        places = {TopicPartition(topic, 0): [2, 1, 3]}
        cluster._admin.alter_partition_reassignments(places)
        until(lambda: cluster.leaders([topic])[0]["replicas"] == [2, 1, 3])
        cluster._elect([topic])
    finally:
        cluster.close()
    ended = tollgate.end(process)
    assert ended.code == ExitCode.INVALID, ended
    (run,) = tollgate.runs()
    assert "leader-moved" in {d["id"] for d in run["doubts"]}, ended


def test_ctrl_c_leaves_what_was_kept_and_nothing_else(kept: Docker, tollgate: Tollgate) -> None:
    process = tollgate.start("bench", "ENGINE=example", *PARSE)
    tollgate.wait_until(process, lambda: "measure" in tollgate.said(process))
    process.send_signal(signal.SIGINT)
    ended = tollgate.end(process)
    assert ended.code == ExitCode.INTERRUPTED, ended
    assert kept.services() == CLUSTER


def test_monitoring_that_dies_is_a_doubt_and_no_more(kept: Docker, tollgate: Tollgate) -> None:
    process = tollgate.start("bench", "ENGINE=example", *PARSE, "DURATION=20")
    tollgate.wait_until(process, lambda: "warm-up" in tollgate.said(process))
    victim = kept.service("cadvisor")
    victim.kill()
    ended = tollgate.end(process)
    victim.start()
    assert ended.code in (ExitCode.VALID, ExitCode.INVALID), ended
    (run,) = tollgate.runs()
    assert run["outputs"]["expected"] == run["outputs"]["correct"] > 0, ended
    assert "monitoring-stood-in" in {d["id"] for d in run["doubts"]}, ended


def test_what_is_no_engine_or_does_not_fit_is_refused_in_a_sentence(
    kept: Docker, tollgate: Tollgate
) -> None:
    base, example = image_of(tollgate, "base"), image_of(tollgate, "engine-example")
    for words, says in (
        ([f"ENGINE_IMAGE={base}"], "has no /engine.toml"),
        (["ENGINE_IMAGE=tollgate/nowhere:1"], "has no image tollgate/nowhere:1"),
        ([f"ENGINE_IMAGE={example}", "STAGE=sliding"], "does not run stage sliding"),
        (["BROKERS=5"], "keeps a cluster of 3 brokers"),
    ):
        ended = tollgate.run("bench", "RUNTIME=docker", *words)
        assert ended.code in (ExitCode.USAGE, ExitCode.FAILURE), ended
        assert says in ended.err and "Traceback" not in ended.err, ended
    assert kept.services() == CLUSTER


def image_of(tollgate: Tollgate, name: str) -> str:
    """The tag of one of the checkout's images."""
    listed = tollgate.run("images").out.split()
    return next(word for word in listed if word.startswith(f"tollgate/{name}:"))
