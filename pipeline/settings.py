"""What the job is told, checked, and what Spark is told in consequence; starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from contract.engine import EngineOrder, Place
from contract.errors import UsageError, unknown_name
from contract.workload import load_workload

#: mode → dialects it runs
PAIRS = {"real-time": ("eager",), "micro-batch": ("windowed", "eager")}
#: tasks of a real-time query all run at once; local threads are made only as they are used
REAL_TIME_SLOTS = 512


#: besides addresses
MASTERS = ("local", "cluster")
#: settings that are one of a few words
CHOICES = {"state_store": ("rocksdb", "memory"), "checkpoint_files": ("plain", "spark")}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a stage function may depend on besides its input."""

    dialect: str
    #: how long rows may be late before state is given up, as Spark writes intervals
    watermark: str


@dataclass(frozen=True, slots=True)
class Tuning:
    """The engine's own settings, as engine.toml declares them."""

    checkpoint_s: float
    watermark_ms: int
    state_kept_ms: int
    linger_ms: int
    master: str
    memory_mb: int
    jvm_options: str
    state_store: str
    checkpoint_files: str
    checkpoint_checksums: bool
    shuffle_wait_ms: int
    removals_per_row: int
    rehearsals: int
    trigger_ms: int
    async_progress: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Tuning:
        """From ENGINE_SETTINGS; what is missing or unknown is named."""
        known = cls.__dataclass_fields__
        for name in given:
            if name not in known:
                raise unknown_name("engine setting", name, known)
        missing = [name for name in known if name not in given]
        if missing:
            raise UsageError(f"ENGINE_SETTINGS lacks {', '.join(missing)}")
        if given["master"] not in MASTERS and "://" not in given["master"]:
            raise UsageError(
                f"master={given['master']} is neither of {', '.join(MASTERS)} nor an address "
                f"such as spark://host:7077"
            )
        for name, choices in CHOICES.items():
            if given[name] not in choices:
                raise unknown_name(f"value of {name}", given[name], choices)
        return cls(**{name: given[name] for name in known})


def check(order: EngineOrder) -> None:
    """Refuse what this engine does not do, before anything is started."""
    workload = load_workload(order.workload)
    if order.stage not in [s.name for s in workload.stages]:
        raise unknown_name("stage", order.stage, [s.name for s in workload.stages])
    if order.mode not in PAIRS:
        raise unknown_name("mode", order.mode, PAIRS)
    if order.dialect not in PAIRS[order.mode]:
        raise unknown_name(f"dialect of mode {order.mode}", order.dialect, PAIRS[order.mode])


def plan_of(order: EngineOrder, tuning: Tuning) -> Plan:
    """The plan that the stage functions see."""
    lateness_ms = tuning.watermark_ms if order.dialect == "windowed" else tuning.state_kept_ms
    return Plan(order.dialect, f"{lateness_ms} milliseconds")


def slots_of(order: EngineOrder) -> int:
    """How many tasks may have to run at once, on one worker too."""
    return REAL_TIME_SLOTS if order.mode == "real-time" else order.parallelism


def master_of(order: EngineOrder, tuning: Tuning, place: Place) -> str:
    """Threads of one process, the cluster of the run's own, or the one that was named."""
    match tuning.master:
        case "local":
            return f"local[{slots_of(order)}]"
        case "cluster":
            return f"spark://{place.peers['master'][0]}"
        case address:
            return address


def cluster_conf(order: EngineOrder, tuning: Tuning, place: Place, jars: Path) -> dict[str, str]:
    """What a driver of a cluster needs besides: executors call it back and get its jars from it."""
    if tuning.master == "local":
        return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    host, port = place.address
    conf = {
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.driver.port": str(port),
        "spark.jars": ",".join(f"file://{quote(str(jar))}" for jar in sorted(jars.glob("*.jar"))),
        "spark.executor.memory": f"{tuning.memory_mb}m",
        "spark.executor.extraJavaOptions": "-XX:-UsePerfData",
    }
    if tuning.master == "cluster":
        conf["spark.executor.cores"] = str(slots_of(order))
        conf["spark.cores.max"] = str(slots_of(order) * order.instances)
    # somebody else's workers offer what they offer: an executor takes all of one
    return conf


def spark_conf(order: EngineOrder, tuning: Tuning, place: Place, jars: Path) -> dict[str, str]:
    """Every Spark setting of the job. Why each value: docs/decisions/0004-spark.md."""
    streaming = "spark.sql.streaming"
    conf = {
        "spark.app.name": order.run_id,
        "spark.driver.memory": f"{tuning.memory_mb}m",
        "spark.driver.extraClassPath": ":".join(str(jar) for jar in sorted(jars.glob("*.jar"))),
        **cluster_conf(order, tuning, place, jars),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": f"{order.state_dir}/local",
        "spark.sql.warehouse.dir": f"{order.state_dir}/warehouse",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(order.parallelism),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        f"{streaming}.statefulOperator.checkCorrectness.enabled": "false",
        f"{streaming}.statefulOperator.useStrictDistribution": "false",
        f"{streaming}.checkpoint.fileChecksum.enabled": str(tuning.checkpoint_checksums).lower(),
        f"{streaming}.numRecentProgressUpdates": "20",
        f"{streaming}.minBatchesToRetain": "5",
        f"{streaming}.metricsEnabled": "false",
        # a windowed join's four tables a partition in one store, where stores are RocksDB's
        f"{streaming}.join.stateFormatVersion": "3",
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    }
    if tuning.checkpoint_files == "plain":
        conf[f"{streaming}.checkpointFileManagerClass"] = (
            "org.apache.spark.sql.execution.streaming.checkpointing."
            "FileSystemBasedCheckpointFileManager"
        )
    if tuning.state_store == "rocksdb" or order.mode == "real-time":
        store = f"{streaming}.stateStore"
        conf[f"{store}.providerClass"] = (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        )
        conf[f"{store}.rocksdb.changelogCheckpointing.enabled"] = "true"
        conf[f"{store}.rocksdb.trackTotalNumberOfRows"] = "false"
    if order.mode == "real-time":
        wait_ms = str(tuning.shuffle_wait_ms)
        conf["spark.shuffle.streaming.networkBufferMaxWaitTimeMs"] = wait_ms
        removals = str(tuning.removals_per_row)
        conf[f"{streaming}.statefulOperator.incrementalCleanupFactor"] = removals
    return conf
