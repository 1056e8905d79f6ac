"""Two checkouts do not meet, and no subnet of theirs is anybody else's."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conductor.appliance.project import RANGE, choose_subnet, project_name, subnets_of
from contract.errors import EnvironmentLacking
from tests.unit.conductor.appliance.fakes import JUDGE_SUBNET, PROJECT, SUBNET, FakeEngine

Network = ipaddress.IPv4Network
NETWORKS = st.builds(
    lambda address, bits: str(Network((address, bits), strict=False)),
    st.integers(int(RANGE.network_address) - 2**17, int(RANGE.broadcast_address) + 2**17),
    st.integers(17, 32),
)


def network_of(subnet: str) -> Network:
    return Network(f"{subnet}.0/24")


def test_two_checkouts_have_two_names_and_each_keeps_its_own(tmp_path: Path) -> None:
    names = {project_name(tmp_path / name) for name in "abc"}
    assert len(names) == 3
    assert project_name(tmp_path / "a") in names
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert project_name(tmp_path / "link") == project_name(tmp_path / "a")


@given(st.text(min_size=1).filter(lambda text: "\0" not in text and "/" not in text))
def test_a_name_is_one_that_compose_takes(folder: str) -> None:
    name = project_name(Path("/") / folder)
    assert name.startswith("tollgate-") and name.replace("-", "").isalnum() and name.islower()


@given(project=st.text(), taken=st.lists(NETWORKS, max_size=40))
def test_a_subnet_is_of_the_range_for_benchmarks_and_nobody_elses(
    project: str, taken: list[str]
) -> None:
    chosen = network_of(choose_subnet(project, taken))
    assert chosen.subnet_of(ipaddress.IPv4Network("198.18.0.0/15"))
    assert not any(chosen.overlaps(Network(other)) for other in taken)


@given(project=st.text())
def test_a_project_has_the_same_subnet_each_time_and_another_when_it_is_taken(
    project: str,
) -> None:
    first = choose_subnet(project, [])
    assert choose_subnet(project, ["10.0.0.0/8", "172.17.0.0/16"]) == first
    second = choose_subnet(project, [f"{first}.9/32"])
    assert second != first
    assert choose_subnet(project, [f"{first}.0/24", f"{second}.0/24"]) not in (first, second)


@settings(max_examples=10)
@given(free=st.integers(0, 511), project=st.text())
def test_the_last_free_one_is_found(free: int, project: str) -> None:
    every = list(RANGE.subnets(new_prefix=24))
    taken = [str(network) for network in every if network != every[free]]
    assert network_of(choose_subnet(project, taken)) == every[free]


def test_when_all_are_taken_that_is_a_sentence() -> None:
    with pytest.raises(EnvironmentLacking, match=r"^no /24 of 198\.18\.0\.0/15 is free on this ma"):
        choose_subnet(PROJECT, ["198.18.0.0/16", "198.19.0.0/16"])


def test_other_kinds_of_addresses_take_nothing() -> None:
    assert choose_subnet(PROJECT, ["fd00::/8", "::/0"]) == choose_subnet(PROJECT, [])
    # an address with its mask, as an interface has it
    first = choose_subnet(PROJECT, [])
    assert choose_subnet(PROJECT, [f"{first}.5/255.255.255.0"]) != first


def test_a_network_that_is_there_is_kept() -> None:
    assert subnets_of(FakeEngine(), PROJECT) == {"bench": SUBNET, "judge": JUDGE_SUBNET}
    engine = FakeEngine()
    (engine.known_networks[0]["labels"] or {}).pop("com.docker.compose.project")
    others = subnets_of(engine, PROJECT)
    assert others["judge"] == JUDGE_SUBNET
    assert others["bench"] not in (SUBNET, JUDGE_SUBNET)


def test_otherwise_what_others_and_this_machine_have_is_avoided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conductor.appliance.project._addresses", list)
    engine = FakeEngine()
    engine.known_networks = []
    first = subnets_of(engine, PROJECT)["bench"]
    engine.known_networks = [
        {
            "name": "other",
            "labels": {"com.docker.compose.project": "x"},
            "subnets": [f"{first}.0/24"],
        },
        {"name": "host", "labels": {}, "subnets": []},
    ]
    found = subnets_of(engine, PROJECT)
    second = found["bench"]
    assert first not in found.values()
    assert len(set(found.values())) == 2
    monkeypatch.setattr(
        "conductor.appliance.project._addresses", lambda: [f"{second}.1/255.255.255.0"]
    )
    assert not {first, second} & set(subnets_of(engine, PROJECT).values())
