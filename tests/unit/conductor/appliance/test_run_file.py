"""A run's compose file: what each container of an engine is, is told, and where it is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.appliance.run_file import (
    FIRST_ADDRESS,
    LAST_ADDRESS,
    EngineContainer,
    bind,
    compose_file,
    engine_containers,
    escaped,
    publisher_service,
    refusing_container,
)
from conductor.appliance.sizing import Size
from contract.engine import EngineOrder, EngineSpec, Execution, Place, Service
from contract.errors import UsageError
from tests.unit.conductor.test_embedded import ORDER

SUBNET = "198.18.7"
SIZE = Size(2.0, 2048 * 1024**2, "0,1")
MAIN = Service("main", ("./run", "--home=$HOME"), 1)
AIDE = Service("aide", ("./run", "aide"), None)


def spec_of(*services: Service) -> EngineSpec:
    executions = (Execution("only", "eager", "none", None),)
    return EngineSpec("mine", "1", "at-least-once", {}, executions, services, {})


def containers(
    *services: Service, instances: int = 1, order: EngineOrder = ORDER
) -> list[EngineContainer]:
    asked = replace(order, instances=instances)
    return engine_containers("mine:1", spec_of(*services), asked, SIZE, SUBNET)


def told(container: EngineContainer) -> dict[str, str]:
    """The environment as compose would pass it on."""
    env: dict[str, str] = container.definition["environment"]
    return {name: value.replace("$$", "$") for name, value in env.items()}


def address_of(container: EngineContainer) -> str:
    address: str = container.definition["networks"]["bench"]["ipv4_address"]
    return address


def test_an_engine_of_one_process_is_one_container() -> None:
    (one,) = containers(MAIN)
    assert (one.service, one.name) == ("engine-main", "main")
    assert one.definition["image"] == "mine:1"
    assert one.definition["entrypoint"] == ["./run", "--home=$$HOME"]
    assert one.definition["command"] == [], "the image's own would be its arguments"
    assert EngineOrder.from_environment(told(one)) == ORDER
    assert one.definition["volumes"] == [bind(ORDER.state_dir)]


def test_a_container_has_limits_and_no_rights() -> None:
    (one,) = containers(MAIN)
    refusing = refusing_container("mine:1", spec_of(MAIN), {}, SIZE)
    for definition in (one.definition, refusing.definition):
        assert (definition["cpus"], definition["cpuset"]) == (2.0, "0,1")
        assert definition["mem_limit"] == definition["memswap_limit"] == SIZE.memory_bytes
        assert definition["pids_limit"] > 0
        assert definition["cap_drop"] == ["ALL"]
        assert definition["security_opt"] == ["no-new-privileges:true"]
        assert definition["logging"]["options"] == {"max-size": "20m"}
        assert not {"ports", "privileged", "container_name", "network_mode"} & set(definition)


def test_several_instances_have_names_by_which_they_are_told_apart() -> None:
    found = containers(MAIN, AIDE, instances=3)
    assert [each.name for each in found] == ["main", "aide", "aide-2", "aide-3"]
    assert [each.service for each in found] == [f"engine-{each.name}" for each in found]
    assert [each.definition["labels"]["tollgate.service"] for each in found] == [
        each.name for each in found
    ]


def test_only_the_services_that_the_settings_ask_for_are_there() -> None:
    aide = replace(AIDE, only_with={"master": "cluster"})
    for master, names in (("local", ["main"]), ("cluster", ["main", "aide"])):
        order = replace(ORDER, engine_settings={"master": master})
        assert [each.name for each in containers(MAIN, aide, order=order)] == names


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=7), instances=st.integers(1, 9))
def test_each_has_an_address_of_its_own_and_all_know_the_same(
    counts: list[int], instances: int
) -> None:
    services = [Service(f"s{i}", ("./run",), count) for i, count in enumerate(counts)]
    services[-1] = replace(services[-1], instances=None)
    if sum(counts[:-1]) + instances > LAST_ADDRESS - FIRST_ADDRESS + 1:
        return
    found = containers(*services, instances=instances)
    places = [Place.from_environment(told(each)) for each in found]
    addresses = [address_of(each) for each in found]
    assert len(set(addresses)) == len(addresses) == sum(counts[:-1]) + instances
    for address, place in zip(addresses, places, strict=True):
        subnet, _, last = address.rpartition(".")
        assert subnet == SUBNET
        assert FIRST_ADDRESS <= int(last) <= LAST_ADDRESS < 128, "Docker gives those away"
        assert place.address[0] == address
        assert place.peers == places[0].peers
    everywhere = [peer for peers in places[0].peers.values() for peer in peers]
    assert len(set(everywhere)) == len(everywhere) == len(addresses)


def test_an_engine_too_large_for_the_subnet_is_refused() -> None:
    most = LAST_ADDRESS - FIRST_ADDRESS + 1
    assert len(containers(MAIN, AIDE, instances=most - 1)) == most
    with pytest.raises(UsageError, match=rf"^an engine of {most + 1} containers is too large"):
        containers(MAIN, AIDE, instances=most)


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_dollars_are_no_variables(env: dict[str, str]) -> None:
    for name, value in escaped(env).items():
        assert value.replace("$$", "") == env[name].replace("$", ""), "a single dollar is left"
        assert value.replace("$$", "$") == env[name]


def test_a_path_with_a_dollar_is_the_same_inside() -> None:
    order = replace(ORDER, state_dir="/a $HOME/state")
    (one,) = containers(MAIN, order=order)
    path = "/a $$HOME/state"
    assert one.definition["volumes"] == [
        {"type": "bind", "source": path, "target": path, "read_only": False}
    ]
    assert told(one)["STATE_DIR"] == "/a $HOME/state"


def test_a_refusal_is_asked_of_the_first_service_alone() -> None:
    env = {"STAGE": "no-such-thing $x"}
    refusing = refusing_container("mine:1", spec_of(MAIN, AIDE), env, SIZE)
    assert refusing.definition["entrypoint"] == ["./run", "--home=$$HOME"]
    assert told(refusing)["STAGE"] == "no-such-thing $x"
    place = Place.from_environment(told(refusing))
    assert (place.service, place.instance, list(place.peers)) == ("main", 1, ["main"])
    assert refusing.definition["networks"] == ["bench"]
    assert not refusing.service.startswith("engine-")


def test_the_publisher_is_told_by_its_environment_and_sees_no_more_than_it_needs() -> None:
    service = publisher_service({"SOURCE": "network", "RUN_ID": "r$1"})
    assert service == {"environment": {"SOURCE": "network", "RUN_ID": "r$$1"}}
    assert "volumes" not in publisher_service({"RUN_ID": "r1"})


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("/recorded lines", "/recorded lines"),
        ("raw:/results/golden.jsonl", "/results/golden.jsonl"),
    ],
)
def test_the_publisher_sees_its_source_but_cannot_change_it(source: str, path: str) -> None:
    service = publisher_service({"SOURCE": source})
    assert service["environment"] == {"SOURCE": source}
    assert service["volumes"] == [
        {"type": "bind", "source": path, "target": path, "read_only": True}
    ]


def test_a_compose_file_can_be_written_down() -> None:
    found: dict[str, dict[str, Any]] = {
        each.service: each.definition for each in containers(MAIN, AIDE, instances=2)
    }
    written = json.loads(json.dumps(compose_file(found), allow_nan=False))
    assert written == {"services": found}
