"""A cluster of the run's own: where its parts listen, and what a driver of one needs besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest

from contract.engine import EngineOrder, EngineSpec, Place, engine_settings_for
from contract.errors import UsageError
from contract.settings import RunSettings
from pipeline.cluster import cluster_command, cluster_environment
from pipeline.settings import Tuning, master_of, slots_of, spark_conf

SPEC = EngineSpec.read(Path(__file__).resolve().parents[3] / "images/engines/spark/engine.toml")
SPARK_HOME = Path(pyspark.__file__).parent
PEERS = {
    "spark": ("198.18.7.64:7000",),
    "master": ("198.18.7.65:7000",),
    "worker": ("198.18.7.66:7000", "198.18.7.67:7001"),
}
DRIVER = Place("spark", 1, PEERS)


def order_of(master: str, **changes: Any) -> EngineOrder:
    settings = RunSettings(instances=2, engine_settings={"master": master})
    values: dict[str, Any] = {
        "run_id": "r",
        "workload": "traffic",
        "stage": "join",
        "mode": "micro-batch",
        "dialect": "eager",
        "bootstrap_servers": "127.0.0.1:1",
        "input_topics": {},
        "output_topic": "r.out",
        "parallelism": 3,
        "instances": 2,
        "state_dir": "/state",
        "workload_params": {},
        "engine_settings": engine_settings_for(SPEC, settings),
    }
    return EngineOrder(**{**values, **changes})


def conf_of(master: str, jars: Path = Path("/nowhere")) -> dict[str, str]:
    order = order_of(master)
    return spark_conf(order, Tuning.of(order.engine_settings), DRIVER, jars)


def command_of(part: str, instance: int = 1) -> list[str]:
    order = order_of("cluster")
    place = Place(part, instance, PEERS)
    return cluster_command(part, order, Tuning.of(order.engine_settings), place)


def after(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


def started(master: str) -> dict[str, int]:
    order = order_of(master)
    wanted = SPEC.started(order.engine_settings, 2 if master == "cluster" else 1)
    return {service.name: count for service, count in wanted}


def test_a_master_and_workers_are_started_for_a_cluster_only() -> None:
    assert started("cluster") == {"spark": 1, "master": 1, "worker": 2}
    assert started("local") == {"spark": 1}
    assert started("spark://host:7077") == {"spark": 1}


@pytest.mark.parametrize(
    ("master", "address"),
    [
        ("local", "local[3]"),
        ("cluster", "spark://198.18.7.65:7000"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_driver_knows_its_master(master: str, address: str) -> None:
    order = order_of(master)
    assert master_of(order, Tuning.of(order.engine_settings), DRIVER) == address


def test_a_master_that_is_none_is_refused() -> None:
    settings = order_of("local").engine_settings
    with pytest.raises(UsageError, match="master=clutser is neither of local, cluster nor an addr"):
        Tuning.of({**settings, "master": "clutser"})


@pytest.mark.parametrize("part", ["master", "worker"])
def test_a_part_listens_where_all_were_told_that_it_does(part: str) -> None:
    command = command_of(part)
    host, _, port = PEERS[part][0].rpartition(":")
    assert (after(command, "--host"), after(command, "--port")) == (host, port)
    assert command[0].endswith("java")
    assert after(command, "-cp") == f"{SPARK_HOME}/jars/*"


def test_a_worker_knows_its_master_and_has_a_folder_of_its_own() -> None:
    folders = set()
    for instance, address in enumerate(PEERS["worker"], 1):
        command = command_of("worker", instance)
        assert command[-1] == f"spark://{PEERS['master'][0]}"
        assert after(command, "--port") == address.rpartition(":")[2]
        folders.add(after(command, "--work-dir"))
    assert len(folders) == 2
    assert all(Path(folder).is_relative_to("/state") for folder in folders)


def test_a_worker_has_room_for_the_executor_that_the_driver_asks_for() -> None:
    order, conf, command = order_of("cluster"), conf_of("cluster"), command_of("worker")
    assert after(command, "--cores") == conf["spark.executor.cores"] == str(slots_of(order))
    assert after(command, "--memory") == conf["spark.executor.memory"]
    assert int(conf["spark.cores.max"]) == 2 * slots_of(order)


def test_of_somebody_elses_workers_an_executor_takes_all_they_offer() -> None:
    conf = conf_of("spark://host:7077")
    assert not {"spark.executor.cores", "spark.cores.max"} & set(conf)
    assert conf["spark.executor.memory"] == conf_of("cluster")["spark.executor.memory"]


def test_executors_call_their_driver_back_where_it_is() -> None:
    for master in ("cluster", "spark://host:7077"):
        conf = conf_of(master)
        assert (conf["spark.driver.host"], conf["spark.driver.port"]) == ("198.18.7.64", "7000")
    alone = conf_of("local")
    assert alone["spark.driver.host"] == alone["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.port" not in alone


def test_executors_get_the_jars_from_their_driver(tmp_path: Path) -> None:
    for name in ("b 1.jar", "a.jar", "notes"):
        (tmp_path / name).touch()
    assert conf_of("cluster", tmp_path)["spark.jars"] == (
        f"file://{tmp_path}/a.jar,file://{tmp_path}/b%201.jar"
    )
    assert "spark.jars" not in conf_of("local", tmp_path)


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"did you mean worker\?"):
        cluster_command(
            "wroker", order_of("cluster"), Tuning.of(order_of("cluster").engine_settings), DRIVER
        )


def test_a_worker_knows_where_the_spark_is_that_executors_are_started_from() -> None:
    assert Path(cluster_environment()["SPARK_HOME"]) == SPARK_HOME
    (core,) = (SPARK_HOME / "jars").glob("spark-core_*.jar")
    assert cluster_environment()["SPARK_SCALA_VERSION"] in core.name
