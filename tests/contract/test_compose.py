"""The compose files: every service has limits and no rights, and knows nothing that nobody sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conductor.appliance.compose import FILES
from conductor.appliance.project import (
    BROKERS,
    DATANODES,
    EVALUATOR,
    INFLUXDB,
    MONITORING,
    NAMENODE,
    NETWORKS,
    STORAGE,
)
from conductor.appliance.run_file import FIRST_ADDRESS
from conductor.runtimes import CLUSTER_IMAGES
from contract.settings import BROKERS_MAX
from tests.unit.conductor.appliance.fakes import IMAGES, JUDGE_SUBNET, SUBNET, runtime

HOME = Path(__file__).resolve().parents[2]
COMPOSE = HOME / "compose"
VARIABLE_OF = {"bench": "SUBNET", "judge": "JUDGE_SUBNET"}
#: what a top level may hold; `x-…` are parts that services share
TOP_LEVEL = {"services", "networks"}
#: of a service that nobody limits, or that has more rights or less of a home than it should
FORBIDDEN = {
    *("container_name", "ports", "privileged", "network_mode", "pid", "ipc", "cap_add", "devices"),
    *("extends", "links", "depends_on", "restart", "build", "env_file", "deploy", "hostname"),
}


def read(name: str) -> dict[str, Any]:
    """A compose file with its merge keys resolved."""
    found: dict[str, Any] = yaml.safe_load((COMPOSE / f"{name}.yml").read_text(encoding="utf-8"))
    return found


def services() -> dict[str, dict[str, Any]]:
    """Those of all files."""
    found: dict[str, dict[str, Any]] = {}
    for name in FILES:
        for service, definition in (read(name).get("services") or {}).items():
            assert service not in found, f"two services are called {service}"
            found[service] = definition
    return found


SERVICES = services()
EACH = pytest.mark.parametrize("service", sorted(SERVICES))


def words_of(value: object) -> Iterator[str]:
    """Every text anywhere within."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from words_of(key)
            yield from words_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from words_of(each)
    elif isinstance(value, str):
        yield value


def variables_of(value: object) -> set[str]:
    return {name for word in words_of(value) for name in re.findall(r"\$\{?(\w+)", word)}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables that the conductor sets, of a runtime of which nothing was started."""
    # as root it would give folders to the containers' user, and change this process's umask
    monkeypatch.setattr(
        "conductor.appliance.runtime.share",
        lambda folder: folder.mkdir(parents=True, exist_ok=True),
    )
    return runtime(tmp_path)._environment(5)


def test_a_cluster_alone_names_an_image_of_every_service(
    told: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Compose v2 refuses files of which a service has none, though it is not to be started."""
    alone = {name: tag for name, tag in IMAGES.items() if name in CLUSTER_IMAGES}
    monkeypatch.setattr("tests.unit.conductor.appliance.fakes.IMAGES", alone)
    named = runtime(tmp_path)._environment(5)
    assert named["KAFKA_IMAGE"] == told["KAFKA_IMAGE"]
    for definition in SERVICES.values():
        assert named[definition["image"].strip("${}")]


def test_the_conductor_reads_every_file_that_is_there() -> None:
    assert {f"{name}.yml" for name in FILES} == {path.name for path in COMPOSE.iterdir()}


@pytest.mark.parametrize("name", FILES)
def test_a_file_holds_services_and_networks_and_neither_name_nor_version(name: str) -> None:
    found = {key for key in read(name) if not key.startswith("x-")}
    assert found and found <= TOP_LEVEL


def test_the_services_are_those_that_the_conductor_starts() -> None:
    brokers = {f"broker-{n}" for n in range(1, BROKERS_MAX + 1)}
    own = {"publisher", "evaluator"}
    assert set(SERVICES) == {*brokers, *STORAGE, *MONITORING, *own}
    assert len(STORAGE) == 1 + DATANODES


def test_addresses_are_where_the_conductor_asks_for_them() -> None:
    asked = {f"broker-{n}": ("bench", BROKERS + n) for n in range(1, BROKERS_MAX + 1)}
    asked |= {"namenode": ("judge", NAMENODE), "influxdb": ("judge", INFLUXDB)}
    asked |= {"evaluator": ("judge", EVALUATOR)}
    for service, (network, last) in asked.items():
        given = SERVICES[service]["networks"][network]["ipv4_address"]
        assert given == f"${{{VARIABLE_OF[network]}}}.{last}"


@EACH
def test_every_service_has_limits(service: str) -> None:
    definition = SERVICES[service]
    kind = {"broker": "kafka"}.get(name := service.partition("-")[0], name).upper()
    assert definition["cpus"] == f"${{{kind}_CPUS}}"
    assert definition["cpuset"] == f"${{{kind}_CPUSET}}"
    assert definition["mem_limit"] == f"${{{kind}_MEMORY_BYTES}}"
    assert definition["memswap_limit"] == definition["mem_limit"], "it could swap"
    assert 0 < definition["pids_limit"] <= 8192


@EACH
def test_every_service_has_no_rights_and_writes_only_where_it_must(service: str) -> None:
    definition = SERVICES[service]
    assert definition["cap_drop"] == ["ALL"]
    assert definition["security_opt"] == ["no-new-privileges:true"]
    assert definition["read_only"] is True
    assert not FORBIDDEN & set(definition)


@EACH
def test_no_log_grows_without_end(service: str) -> None:
    logging = SERVICES[service]["logging"]
    assert logging["driver"] == "json-file"
    assert re.fullmatch(r"[1-9]\d?m", logging["options"]["max-size"])


def networks_of(service: str) -> set[str]:
    """Those that an engine's kind of service is in, and those of who judges."""
    if service == "evaluator":
        return {"bench", "judge"}
    return {"judge"} if service in (*STORAGE, *MONITORING) else {"bench"}


@EACH
def test_what_is_measured_and_what_judges_are_apart(service: str) -> None:
    places = SERVICES[service]["networks"]
    assert set(places) == networks_of(service)
    for network, place in places.items():
        assert set(place) == {"ipv4_address"}
        found = re.fullmatch(r"\$\{(\w+)\}\.(\d+)", place["ipv4_address"])
        assert found is not None and found[1] == VARIABLE_OF[network]
        # the first is the network's own gateway; from FIRST_ADDRESS on are engines
        assert 2 <= int(found[2]) < FIRST_ADDRESS == 64


def test_no_two_services_have_one_address() -> None:
    places = [place for each in SERVICES.values() for place in each["networks"].values()]
    addresses = [place["ipv4_address"] for place in places]
    assert len(set(addresses)) == len(addresses)


def test_nothing_reaches_the_networks_from_outside_or_leaves_them() -> None:
    assert [name for name in FILES if "networks" in read(name)] == ["network"]
    networks = read("network")["networks"]
    assert set(networks) == set(NETWORKS) == set(VARIABLE_OF)
    for name, network in networks.items():
        assert network["internal"] is True
        (pool,) = network["ipam"]["config"]
        subnet = f"${{{VARIABLE_OF[name]}}}"
        assert pool == {"subnet": f"{subnet}.0/24", "ip_range": f"{subnet}.128/25"}


@EACH
def test_a_path_of_this_machine_is_seen_under_the_name_it_has_here(service: str) -> None:
    for volume in SERVICES[service].get("volumes", []):
        if isinstance(volume, str):
            assert volume.startswith("/var/lib/"), "a folder of the engine's, gone with it"
            continue
        assert volume["type"] == "bind"
        if service == "cadvisor":
            assert volume["read_only"] is True
        elif volume["target"] == "/etc/passwd":
            assert volume["source"] == "${SCRATCH}/passwd"
            assert volume["read_only"] is True
        else:
            assert volume["source"] == volume["target"] in ("${RESULTS}", "${SCRATCH}")


def test_who_called_has_a_name_in_the_services_that_run_as_them() -> None:
    passwd = {"type": "bind", "source": "${SCRATCH}/passwd", "target": "/etc/passwd"}
    named = {
        name
        for name, service in SERVICES.items()
        if {**passwd, "read_only": True} in service.get("volumes", [])
    }
    assert named == {"publisher", "evaluator"}


def test_a_broker_is_told_who_it_is_and_where_the_clock_is() -> None:
    for number in range(1, BROKERS_MAX + 1):
        broker = SERVICES[f"broker-{number}"]
        address = broker["networks"]["bench"]["ipv4_address"]
        env = broker["environment"]
        assert (env["NODE_ID"], env["HOST"]) == (str(number), address)
        assert env["CONTROLLER"] == "${SUBNET}.11:9093"
        assert {env["BROKERS"], env["CLUSTER_ID"], env["HEAP_MB"]} == {
            *("${BROKERS}", "${CLUSTER_ID}", "${KAFKA_HEAP_MB}")
        }
    clock = SERVICES["broker-1"]["networks"]["bench"]["ipv4_address"]
    assert SERVICES["broker-1"]["environment"]["CONTROLLER"] == f"{clock}:9093"


def test_storage_is_told_where_it_is() -> None:
    namenode = SERVICES["namenode"]
    address = namenode["networks"]["judge"]["ipv4_address"]
    for service in STORAGE:
        env = SERVICES[service]["environment"]
        assert env["NAMENODE"] == address
        assert env["HOST"] == SERVICES[service]["networks"]["judge"]["ipv4_address"]
        assert 1 <= int(env["REPLICATION"]) <= DATANODES
    assert int(namenode["environment"]["MIN_DATANODES"]) <= DATANODES


@pytest.mark.parametrize("name", FILES)
def test_every_variable_is_one_that_the_conductor_sets(name: str, told: dict[str, str]) -> None:
    named = variables_of(read(name))
    assert named <= set(told)
    assert all(told[each] for each in named), "one is empty"


@pytest.mark.parametrize("name", FILES)
def test_a_variable_is_written_so_that_compose_takes_it_whole(name: str) -> None:
    for word in words_of(read(name)):
        rest = re.sub(r"\$\{[A-Z][A-Z_]*\}", "", word)
        assert "$" not in rest, f"{word!r} has a default, or no braces"


def test_the_conductor_sets_no_variable_that_no_file_names(told: dict[str, str]) -> None:
    named = {each for name in FILES for each in variables_of(read(name))}
    # the engine's services are written by the conductor itself
    own = {name for name in told if name.startswith("ENGINE_")}
    assert set(told) - own == named


def test_every_service_runs_an_image_of_ours() -> None:
    built = {path.parent.name for path in (HOME / "images").glob("*/Dockerfile")}
    for service, definition in SERVICES.items():
        found = re.fullmatch(r"\$\{(\w+)_IMAGE\}", definition["image"])
        assert found is not None, service
        assert found[1].lower() in built & set(IMAGES)
    cluster = {SERVICES[s]["image"] for s in (*STORAGE, *MONITORING, "broker-1")}
    assert cluster == {f"${{{name.upper()}_IMAGE}}" for name in CLUSTER_IMAGES}


def test_variables_have_the_values_that_the_conductor_knows(
    told: dict[str, str], tmp_path: Path
) -> None:
    assert (told["SUBNET"], told["JUDGE_SUBNET"]) == (SUBNET, JUDGE_SUBNET)
    assert told["BROKERS"] == "5"
    assert told["RESULTS"] == str(tmp_path / "results")
    assert told["SCRATCH"] == str(tmp_path / "scratch")
    assert re.fullmatch(r"\d+:\d+", told["RUN_USER"])
    assert not told["RUN_USER"].startswith("0:"), "containers would run as root"
    # sixteen bytes, as Kafka writes an id
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", told["CLUSTER_ID"])
    ours = {name: tag for name, tag in IMAGES.items() if not name.startswith("engine ")}
    assert {told[f"{name.upper()}_IMAGE"] for name in ours} == set(ours.values())
