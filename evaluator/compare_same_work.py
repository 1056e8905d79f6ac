"""Refuse to compare what is not the same work; tell in what else two campaigns differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.errors import UsageError

#: settings that say what is asked of an engine, and how it is measured
WORK = (
    "workload",
    "rate",
    "seed",
    "temporal_scale",
    "arrival",
    "source",
    "duration_s",
    "warmup_s",
    "cooldown_s",
    "brokers",
    "replication",
    "partitions",
    "checkpoint_s",
)
#: from here on a hash is known by its beginning
_HASH_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Difference:
    """Something besides the work in which the two are unlike; None where one has it not."""

    group: str
    name: str
    a: Any
    b: Any

    def to_json(self) -> dict[str, Any]:
        return {"group": self.group, "name": self.name, "a": self.a, "b": self.b}

    def __str__(self) -> str:
        return f"{self.name} {shown(self.a, self.name)} | {shown(self.b, self.name)}"


def check_same_work(a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    """Two campaigns' settings; each that makes it other work is named."""
    unlike = [
        f"{name} is {shown(a.get(name))} in A and {shown(b.get(name))} in B"
        for name in WORK
        if a.get(name) != b.get(name)
    ]
    if unlike:
        raise UsageError(f"not the same work: {', '.join(unlike)}")


def between_campaigns(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    """What all runs of each have in common: settings, machine, versions."""
    rest = [
        {name: value for name, value in told["settings"].items() if name not in WORK}
        for told in (a, b)
    ]
    yield from _between("settings", *rest)
    yield from _between("machine", a["machine"], b["machine"])
    yield from _between("versions", a["pins"], b["pins"])


def between_variants(
    a: Mapping[str, Any], b: Mapping[str, Any], run_a: Mapping[str, Any], run_b: Mapping[str, Any]
) -> Iterator[Difference]:
    """Two entries of `variants`, and what a run of each says of its containers."""
    names = ("engine", "engine_version", "mode", "dialect")
    yield from _between("engine", {n: a.get(n) for n in names}, {n: b.get(n) for n in names})
    yield from _between("its settings", a.get("settings"), b.get("settings"))
    yield from _between("limits", run_a.get("limits"), run_b.get("limits"))
    yield from _between("images", _ids(run_a), _ids(run_b))


def _ids(run: Mapping[str, Any]) -> dict[str, Any]:
    """Of each service's image: size and packages follow from it."""
    return {service: image["id"] for service, image in (run.get("images") or {}).items()}


def _between(group: str, a: Any, b: Any) -> Iterator[Difference]:
    of_a, of_b = dict(_leaves("", a or {})), dict(_leaves("", b or {}))
    for name in {**of_a, **of_b}:
        if of_a.get(name) != of_b.get(name):
            yield Difference(group, name.removeprefix("packages."), of_a.get(name), of_b.get(name))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """`spark.cpus`: a JSON object's values by the way to them."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, below in value.items():
        yield from _leaves(f"{name}.{key}" if name else str(key), below)


def shown(value: Any, name: str = "") -> str:
    """A JSON value, short."""
    if value is None or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    text = str(value).removeprefix("sha256:")
    is_hash = text.isalnum() and len(text) in (40, 64)
    return text[:_HASH_SHOWN] if is_hash else text or "–"
