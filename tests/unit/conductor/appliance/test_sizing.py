"""Every service has limits within the machine; none is so tight that it would be felt."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.appliance.sizing import APART_CORES_MIN, MIB, Sizes, sizes_for, usable_cores
from contract.errors import EnvironmentLacking
from tests.unit.conductor.fakes import ROOT

GIB = 1024**3
SERVICES = {
    *("publisher", "namenode", "datanode", "influxdb", "cadvisor"),
    *("kafka", "evaluator", "engine"),
}
CORES = st.sets(st.integers(0, 255), min_size=1, max_size=128).map(sorted)
MEMORY = st.integers(4 * GIB, 1024 * GIB)
HEAP_MB = st.integers(128, 2048)


def cores_of(sizes: Sizes, service: str) -> list[int]:
    return [int(core) for core in sizes.of[service].cpuset.split(",")]


@given(cores=CORES, memory_bytes=MEMORY, heap_mb=HEAP_MB)
def test_every_service_has_limits_within_the_machine(
    cores: list[int], memory_bytes: int, heap_mb: int
) -> None:
    sizes = sizes_for(cores, memory_bytes, heap_mb)
    assert set(sizes.of) == SERVICES
    for service, size in sizes.of.items():
        own = cores_of(sizes, service)
        assert own and set(own) <= set(cores)
        assert 0 < size.cpus <= len(own)
        assert 0 < size.memory_bytes <= memory_bytes


@given(cores=CORES, memory_bytes=MEMORY, heap_mb=HEAP_MB)
def test_what_is_measured_may_use_all_cores_of_its_part(
    cores: list[int], memory_bytes: int, heap_mb: int
) -> None:
    sizes = sizes_for(cores, memory_bytes, heap_mb)
    for service in ("engine", "kafka", "publisher"):
        assert sizes.of[service].cpus == len(cores_of(sizes, service))


@given(cores=CORES, heap_mb=HEAP_MB)
def test_on_a_machine_of_many_cores_engine_brokers_and_the_rest_are_apart(
    cores: list[int], heap_mb: int
) -> None:
    sizes = sizes_for(cores, 64 * GIB, heap_mb)
    parts = {tuple(cores_of(sizes, service)) for service in SERVICES}
    if len(cores) < APART_CORES_MIN:
        assert parts == {tuple(cores)}
        return
    assert len(parts) == 3
    assert sorted(core for part in parts for core in part) == cores, "a core twice, or left idle"
    engine = cores_of(sizes, "engine")
    assert engine not in (cores_of(sizes, "kafka"), cores_of(sizes, "publisher"))
    assert len(engine) == max(map(len, parts)), "the engine is what is measured"


@given(cores=CORES, heap_mb=st.integers(128, 65536))
def test_an_engine_has_its_heap_and_room_beside_it(cores: list[int], heap_mb: int) -> None:
    sizes = sizes_for(cores, 1024 * GIB, heap_mb)
    assert sizes.of["engine"].memory_bytes >= (heap_mb + 512) * MIB
    assert (
        sizes.of["kafka"].memory_bytes == sizes_for(cores, 1024 * GIB, 512).of["kafka"].memory_bytes
    )


@given(memory_bytes=st.integers(0, 2 * GIB), heap_mb=HEAP_MB)
def test_too_little_memory_is_a_sentence_with_both_figures(memory_bytes: int, heap_mb: int) -> None:
    with pytest.raises(EnvironmentLacking) as refusal:
        sizes_for([0, 1], memory_bytes, heap_mb)
    says = re.fullmatch(
        r"the (\w+) may need (\d+) MiB and this machine has (\d+)", str(refusal.value)
    )
    assert says is not None
    assert says[1] in SERVICES
    assert int(says[2]) > int(says[3]) == memory_bytes // MIB


def test_an_engine_that_would_not_fit_is_the_one_that_is_named() -> None:
    with pytest.raises(EnvironmentLacking, match=r"^the engine may need \d+ MiB"):
        sizes_for([0, 1], 8 * GIB, 16_384)


def test_the_compose_files_are_told_all_of_it() -> None:
    sizes = sizes_for(range(16), 64 * GIB, 1024)
    told = sizes.environment()
    for service in SERVICES:
        name = service.upper()
        assert float(told[f"{name}_CPUS"]) == sizes.of[service].cpus
        assert told[f"{name}_CPUSET"] == sizes.of[service].cpuset
        assert int(told[f"{name}_MEMORY_BYTES"]) == sizes.of[service].memory_bytes
    assert all(isinstance(value, str) and value for value in told.values())
    assert int(told["KAFKA_HEAP_MB"]) * MIB < sizes.of["kafka"].memory_bytes
    assert int(told["EVALUATOR_HEAP_MB"]) * MIB < sizes.of["evaluator"].memory_bytes


def test_the_limits_that_compose_files_name_are_among_them() -> None:
    told = sizes_for([0], 64 * GIB, 1024).environment()
    for path in (ROOT / "compose").glob("*.yml"):
        limits = re.findall(r"\$\{(\w+_(?:CPUS|CPUSET|MEMORY_BYTES|HEAP_MB))\}", path.read_text())
        assert set(limits) <= set(told), path


def test_the_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {7, 2, 3})
    assert usable_cores() == [2, 3, 7]
