"""What does the publisher cost, and beside it Kafka's own ProducerPerformance, on one broker?

`make bench-publisher RATES='26000 0' TURNS=3`: in turn, each in a process of its own, with as many
bytes a record, the same acknowledgements and linger. 0 is as fast as it can; the publisher, which
has no such mode, is asked for a million a second. Counted is what the broker has appended, and the
CPU of the process with all its threads and children, after a warm-up.

ProducerPerformance sends the same random bytes again and again; the publisher's observations are
all different, due at instants of their own, and each one's lateness and acknowledgement is kept.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from conductor.brokers import CLOCK_BROKER
from conductor.java import find_java
from conductor.monitor import ProcessTree
from conductor.processes import Child
from conductor.topics import Cluster
from publisher.order import Order
from publisher.sender_process import open_source
from publisher.sending import LINGER_MS
from publisher.source import Share
from tests.brokers import HOME, JARS, brokers_in

Env = dict[str, str]
_KINDS = ("flow", "speed")
_PARTITIONS = 2
_WARM_UP_S, _MEASURED_S = 20, 20
_READY_S_MAX = 60
_FULL_RATE = 1_000_000
_TURNS = 3
_RATES = ("26000", "0")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a side did while it was looked at."""

    records: int
    wall_s: float
    cpu_s: float
    #: p50 and p99, where it kept to a schedule and told
    late_ms: tuple[float, float] | None = None

    def __str__(self) -> str:
        told = f"{self.records / self.wall_s:9,.0f}/s  {self.cpu_s / self.wall_s:.2f} cores  "
        told += f"{self.records / self.cpu_s:9,.0f} records a CPU second"
        if self.late_ms is not None:
            told += f"  late {self.late_ms[0]:.2f} / {self.late_ms[1]:.2f} ms (p50 / p99)"
        return told


class Place:
    """One broker's client, and a folder for all else."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self._folder, self.cluster = folder, cluster
        self._runs = 0

    def topics(self, kinds: tuple[str, ...], partitions: int) -> tuple[Path, dict[str, str]]:
        """A folder and topics of its own for each run."""
        self._runs += 1
        names = {kind: f"run-{self._runs}.{kind}" for kind in kinds}
        self.cluster.create(list(names.values()), partitions, 1, 1, CLOCK_BROKER)
        folder = self._folder / f"run-{self._runs}"
        folder.mkdir()
        return folder, names


def order(rate: int, slots: int, folder: Path, topics: dict[str, str], servers: str) -> Env:
    """What the publisher is told."""
    return {
        "RUN_ID": folder.name or "size",
        "WORKLOAD": "traffic",
        "BOOTSTRAP_SERVERS": servers,
        "INPUT_TOPICS": ",".join(f"{kind}={topic}" for kind, topic in topics.items()),
        "PARTITIONS": str(_PARTITIONS),
        "RATE": str(rate),
        "SEED": "1",
        "TEMPORAL_SCALE": "60",
        "ARRIVAL": "adjacent",
        "SOURCE": "network",
        "SLOTS_MAX": str(slots),
        "PUBLISHERS": "1",
        "EVIDENCE_DIR": str(folder),
    }


def ours(place: Place, rate: int) -> Cost:
    """The publisher's program."""
    folder, topics = place.topics(_KINDS, _PARTITIONS)
    slots = _WARM_UP_S + _MEASURED_S + 5 if rate else 10_000
    servers = place.cluster.bootstrap_servers
    env = {**os.environ, **order(rate or _FULL_RATE, slots, folder, topics, servers)}
    child = Child(
        "publisher", [sys.executable, "-m", "publisher"], env, folder / "log", cwd=HOME.path
    )
    found = _watched(place, child, list(topics.values()), _PARTITIONS, wait=rate > 0)
    if not rate:
        return found
    told = pq.read_table(folder / "publisher-0.parquet", columns=["slot", "late_us", "ack_us"])
    late = told["late_us"].to_numpy()[told["slot"].to_numpy() >= _WARM_UP_S] / 1000
    if told["ack_us"].null_count:
        sys.exit(f"{told['ack_us'].null_count} records were not acknowledged")
    p50, p99 = np.quantile(late, [0.5, 0.99])
    return Cost(found.records, found.wall_s, found.cpu_s, (float(p50), float(p99)))


def peer(place: Place, rate: int, record_bytes: int) -> Cost:
    """Kafka's own."""
    folder, topics = place.topics(("all",), len(_KINDS) * _PARTITIONS)
    java = find_java(HOME.artifacts)
    words = [str(java.home / "bin" / "java"), "-XX:-UsePerfData", "-cp", f"{JARS}/*"]
    words += ["org.apache.kafka.tools.ProducerPerformance", "--topic", topics["all"]]
    words += ["--num-records", "1000000000", "--record-size", str(record_bytes)]
    words += ["--throughput", str(rate or -1), "--producer-props", "acks=all"]
    words += [f"bootstrap.servers={place.cluster.bootstrap_servers}", f"linger.ms={LINGER_MS}"]
    child = Child("peer", words, os.environ, folder / "log")
    return _watched(place, child, [topics["all"]], len(_KINDS) * _PARTITIONS, wait=False)


def _watched(place: Place, child: Child, topics: list[str], partitions: int, *, wait: bool) -> Cost:
    """From the warm-up's end on; `wait`: it ends by itself."""

    def appended() -> int:
        return sum(place.cluster.ends(topics, partitions).values())

    tree = ProcessTree(child.pid)

    def look() -> tuple[float, int, float]:
        return time.monotonic(), appended(), tree.cpu_s()

    try:
        deadline = time.monotonic() + _READY_S_MAX
        while not appended():
            if child.exit_code() is not None or time.monotonic() > deadline:
                sys.exit("\n".join([f"{child.name} sent nothing", *child.log_tail()]))
            time.sleep(0.1)
        time.sleep(_WARM_UP_S)
        before = look()
        time.sleep(_MEASURED_S)
        after = look()
        if wait and child.wait(_READY_S_MAX) != 0:
            sys.exit("\n".join([f"{child.name} {child.how_it_ended()}", *child.log_tail()]))
    finally:
        child.kill()
    wall_s, records, cpu_s = (b - a for a, b in zip(before, after, strict=True))
    return Cost(int(records), wall_s, cpu_s)


def record_bytes() -> int:
    """Key and value of an observation, on average."""
    told = order(26_000, 1, Path(), dict(zip(_KINDS, _KINDS, strict=True)), "127.0.0.1:1")
    source = open_source(Order.from_environment(told), Share(0, 1))
    due = source.due(0)
    held = sum(int(part.keys.sizes.sum() + part.values.sizes.sum()) for part in due.batches)
    return round(held / due.records)


def main(rates: list[str]) -> None:
    """Both, in turn, at each rate."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    turns = int(os.environ.get("TURNS") or _TURNS)
    size = record_bytes()
    print(f"records of {size} bytes, acks=all, linger {LINGER_MS} ms, one broker")
    with (
        tempfile.TemporaryDirectory(prefix="tollgate-bench-") as root,
        brokers_in(Path(root), 1) as cluster,
    ):
        place = Place(Path(root), cluster)
        sides: list[tuple[str, Callable[[int], Cost]]] = [
            ("publisher", lambda rate: ours(place, rate)),
            ("ProducerPerformance", lambda rate: peer(place, rate, size)),
        ]
        for rate in map(int, rates or _RATES):
            for _ in range(turns):
                for name, side in sides:
                    asked = f"{rate:,}/s" if rate else "as fast as it can"
                    print(f"{asked:18} {name:20} {side(rate)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
