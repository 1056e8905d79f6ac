"""What a broker is told: Kafka's program writes its settings, then becomes Java with all it got."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.conductor.fakes import ROOT, program

ENTRYPOINT = ROOT / "images" / "kafka" / "entrypoint"
HOST, CONTROLLER = "198.18.7.13", "198.18.7.11:9093"


class Broker:
    """A folder in which Kafka's program is run with a java that prints its arguments."""

    def __init__(self, folder: Path, state: str = "state") -> None:
        self.folder, self.state = folder, folder / state
        program(folder / "java" / "bin" / "java", 'printf \'%s\\n\' "$@"\necho "pid $$" >&2')

    def environment(self, number: int, brokers: int, **changes: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "JAVA_HOME": str(self.folder / "java"),
            "JARS": str(self.folder / "jars"),
            "NODE_ID": str(number),
            "CLOCK": "1",
            "HOST": HOST,
            "PORT": "9092",
            "CONTROLLER": CONTROLLER,
            "BROKERS": str(brokers),
            "CLUSTER_ID": "a-cluster",
            "STATE_DIR": str(self.state),
            "HEAP_MB": "384",
            **changes,
        }

    def run(self, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ENTRYPOINT), *options], env=env, capture_output=True, text=True, check=False
        )

    def java(self, *options: str, number: int = 1, brokers: int = 3, **changes: str) -> list[str]:
        """What Java was given."""
        ended = self.run(self.environment(number, brokers, **changes), *options)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    def told(self, number: int, brokers: int, **changes: str) -> dict[str, str]:
        """The settings that were written."""
        path = self.java(number=number, brokers=brokers, **changes)[-1]
        pairs = [line.split("=", 1) for line in Path(path).read_text().splitlines()]
        assert len({name for name, _ in pairs}) == len(pairs)
        return {pair[0]: pair[1] for pair in pairs}

    def meta(self) -> dict[str, str]:
        text = (self.state / "log" / "meta.properties").read_text()
        pairs = [line.split("=", 1) for line in text.splitlines()]
        return {pair[0]: pair[1] for pair in pairs}


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    """A broker whose state is to be made."""
    return Broker(tmp_path)


@pytest.mark.parametrize("brokers", range(1, 10))
def test_three_hold_each_partition_and_one_of_them_may_be_away(
    brokers: int, broker: Broker
) -> None:
    held = min(3, brokers)
    for number in range(1, brokers + 1):
        told = broker.told(number, brokers)
        assert told["default.replication.factor"] == str(held)
        assert told["offsets.topic.replication.factor"] == str(held)
        assert told["transaction.state.log.replication.factor"] == str(held)
        assert told["min.insync.replicas"] == str(max(1, held - 1))
        assert told["transaction.state.log.min.isr"] == str(max(1, held - 1))


@pytest.mark.parametrize("clock", [1, 2, 9])
def test_the_clock_is_the_only_controller_and_all_know_where_it_is(
    clock: int, broker: Broker
) -> None:
    told = {number: broker.told(number, 9, CLOCK=str(clock)) for number in range(1, 10)}
    controllers = [n for n, each in told.items() if "controller" in each["process.roles"]]
    assert controllers == [clock]
    assert [n for n, each in told.items() if "CONTROLLER://" in each["listeners"]] == [clock]
    assert {each["controller.quorum.voters"] for each in told.values()} == {f"{clock}@{CONTROLLER}"}
    assert [each["node.id"] for each in told.values()] == [str(n) for n in told]
    assert all("broker" in each["process.roles"].split(",") for each in told.values())


def test_nothing_listens_but_on_its_own_address(broker: Broker) -> None:
    for number in (1, 2, 3):
        told = broker.told(number, 3, PORT="19092")
        listeners = dict(each.split("://") for each in told["listeners"].split(","))
        assert listeners.pop("PLAINTEXT") == f"{HOST}:19092"
        assert listeners == ({"CONTROLLER": CONTROLLER} if number == 1 else {})
        assert told["advertised.listeners"] == f"PLAINTEXT://{HOST}:19092"


def test_leaders_stay_where_they_are_put_and_topics_are_made_by_us_alone(broker: Broker) -> None:
    told = broker.told(2, 3)
    for name in (
        "auto.create.topics.enable",
        "auto.leader.rebalance.enable",
        "unclean.leader.election.enable",
    ):
        assert told[name] == "false"


def test_nothing_is_deleted_while_it_may_still_be_collected(broker: Broker) -> None:
    told = broker.told(1, 1)
    assert told["log.retention.check.interval.ms"] == "3600000"
    assert told["log.segment.delete.delay.ms"] == "3600000"


def test_its_storage_is_formatted_for_its_cluster_and_number(broker: Broker) -> None:
    assert broker.told(3, 5)["log.dirs"] == str(broker.state / "log")
    meta = broker.meta()
    directory = meta.pop("directory.id")
    assert meta == {"version": "1", "cluster.id": "a-cluster", "node.id": "3"}
    # sixteen bytes, as Kafka writes an id
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", directory)


def test_no_two_storages_have_one_id(tmp_path: Path) -> None:
    ids = set()
    for name in "abc":
        broker = Broker(tmp_path / name)
        broker.java()
        ids.add(broker.meta()["directory.id"])
    assert len(ids) == 3


def test_a_storage_that_is_there_stays_what_it_was(broker: Broker) -> None:
    broker.java(number=2)
    first = broker.meta()
    (broker.state / "log" / "a-topic-0").mkdir()
    broker.java(number=2, CLUSTER_ID="another-cluster")
    assert broker.meta() == first
    assert (broker.state / "log" / "a-topic-0").is_dir()


def test_settings_are_written_anew_at_each_start(broker: Broker) -> None:
    assert broker.told(2, 1)["default.replication.factor"] == "1"
    assert broker.told(2, 5)["default.replication.factor"] == "3"


def test_java_is_given_its_heap_its_jars_and_the_settings(broker: Broker) -> None:
    given = broker.java(HEAP_MB="512")
    assert {"-Xmx512m", "-Xms512m", f"-Djava.io.tmpdir={broker.state}"} <= set(given)
    at = given.index("-cp")
    assert given[at + 1 :] == [
        f"{broker.folder}/jars/*",
        "kafka.Kafka",
        str(broker.state / "server.properties"),
    ]
    (log4j,) = (each for each in given if each.startswith("-Dlog4j2.configurationFile="))
    written = Path(log4j.partition("=")[2]).read_text()
    assert "rootLogger.level = warn" in written
    assert "%d{HH:mm:ss.SSS} %p %c{1}: %m%n" in written, "a shell took a part of the pattern"


def test_options_are_passed_on_to_java_as_they_were_given(broker: Broker) -> None:
    options = ["-XX:Some=/a folder/of two  words", "", "-Dx=$HOME *", "-Xshare:auto"]
    given = broker.java(*options)
    at = given.index(options[0])
    assert given[at : at + len(options)] == options
    assert at < given.index("-cp"), "they would be the program's and not Java's"


def test_a_state_folder_may_have_blanks_in_its_path(tmp_path: Path) -> None:
    broker = Broker(tmp_path, "my own/state of it")
    assert broker.told(1, 3)["log.dirs"] == f"{tmp_path}/my own/state of it/log"
    assert broker.meta()["node.id"] == "1"
    given = broker.java()
    assert given[-1] == f"{tmp_path}/my own/state of it/server.properties"
    assert {path.name for path in tmp_path.iterdir()} == {"java", "my own"}


def test_jars_and_java_may_be_in_folders_with_blanks(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    (tmp_path / "java").rename(tmp_path / "a java")
    given = broker.java(JAVA_HOME=f"{tmp_path}/a java", JARS=f"{tmp_path}/the jars")
    assert given[given.index("-cp") + 1] == f"{tmp_path}/the jars/*"


def test_it_becomes_java_so_that_signals_and_the_exit_code_are_javas(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    process = subprocess.Popen(
        [str(ENTRYPOINT)],
        env=broker.environment(1, 1),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, said = process.communicate()
    assert said == f"pid {process.pid}\n"
    program(tmp_path / "java" / "bin" / "java", "exit 7")
    assert broker.run(broker.environment(1, 1)).returncode == 7


@pytest.mark.parametrize(
    "name",
    ["NODE_ID", "CLOCK", "HOST", "PORT", "CONTROLLER", "BROKERS", "CLUSTER_ID", "STATE_DIR"],
)
def test_what_is_not_told_is_named_and_no_java_is_started(name: str, broker: Broker) -> None:
    env = broker.environment(1, 3)
    del env[name]
    ended = broker.run(env)
    assert ended.returncode != 0
    assert name in ended.stderr
    assert ended.stdout == ""
