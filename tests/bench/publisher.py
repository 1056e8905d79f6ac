"""What does the publisher cost, and beside it Kafka's own ProducerPerformance, on one broker?

`make bench-publisher RATES='26000 0' TURNS=3`: in turn, each in a process of its own, with as many
bytes a record, the same acknowledgements and linger. 0 is as fast as it can: the publisher is asked
for more than it can send, and falls behind. Counted is what the broker has appended, and the CPU
of the process with all its threads and children, after a warm-up.

ProducerPerformance sends the same random bytes again and again; the publisher's observations are
all different, due at instants of their own, and each one's lateness and acknowledgement is kept.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq

from conductor.artifacts import ensure_artifacts
from conductor.brokers import CLOCK_BROKER, EmbeddedBrokers
from conductor.home import Home
from conductor.java import Java, find_java
from conductor.processes import Child
from conductor.topics import Cluster
from publisher.sending import LINGER_MS

_ROOT = Path(__file__).resolve().parents[2]
_KINDS = ("flow", "speed")
_PARTITIONS = 2
_WARM_UP_S, _MEASURED_S = 20, 20
_READY_S_MAX = 60
#: more than one sender can send
_TOO_MUCH = 400_000
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
    """One broker, and a folder for all else."""

    def __init__(self, folder: Path, cluster: Cluster, home: Home, java: Java) -> None:
        self.folder, self.cluster, self.home, self.java = folder, cluster, home, java
        self._runs = 0

    def topics(self, kinds: tuple[str, ...], partitions: int) -> tuple[Path, dict[str, str]]:
        """A folder and topics of its own for each run."""
        self._runs += 1
        names = {kind: f"run-{self._runs}.{kind}" for kind in kinds}
        self.cluster.create(list(names.values()), partitions, 1, 1, CLOCK_BROKER)
        folder = self.folder / f"run-{self._runs}"
        folder.mkdir()
        return folder, names


@contextmanager
def one_broker() -> Iterator[Place]:
    """It, ready, and gone afterwards."""
    home = Home(_ROOT)
    java = find_java(home.artifacts)
    ensure_artifacts(home.artifacts_lock, home.artifacts, java, print, ["kafka"])
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as root:
        folder = Path(root)
        (folder / "classes").mkdir()
        program = home.path / "images" / "kafka" / "entrypoint"
        jars = home.artifacts / "kafka"
        brokers = EmbeddedBrokers(
            1, folder / "state", folder, program, jars, java, folder / "classes"
        )
        try:
            brokers.start()
            cluster = brokers.wait_until_ready(lambda _: None)
            yield Place(folder, cluster, home, java)
            cluster.close()
        finally:
            brokers.stop()


def ours(place: Place, rate: int) -> Cost:
    """The publisher's program."""
    folder, topics = place.topics(_KINDS, _PARTITIONS)
    env = {
        **os.environ,
        "RUN_ID": folder.name,
        "WORKLOAD": "traffic",
        "BOOTSTRAP_SERVERS": place.cluster.bootstrap_servers,
        "INPUT_TOPICS": ",".join(f"{kind}={topic}" for kind, topic in topics.items()),
        "PARTITIONS": str(_PARTITIONS),
        "RATE": str(rate or _TOO_MUCH),
        "SEED": "1",
        "TEMPORAL_SCALE": "60",
        "ARRIVAL": "adjacent",
        "SOURCE": "network",
        "SLOTS_MAX": str(_WARM_UP_S + _MEASURED_S + 5 if rate else 10_000),
        "PUBLISHERS": "1",
        "EVIDENCE_DIR": str(folder),
    }
    child = Child("publisher", [sys.executable, "-m", "publisher"], env, folder / "log", cwd=_ROOT)
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
    jars = place.home.artifacts / "kafka"
    words = [str(place.java.home / "bin" / "java"), "-XX:-UsePerfData", "-cp", f"{jars}/*"]
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

    def look() -> tuple[float, int, float]:
        return time.monotonic(), appended(), _cpu_s(child.pid)

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


def _cpu_s(pid: int) -> float:
    process = psutil.Process(pid)
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def record_bytes() -> int:
    """Key and value of an observation, on average."""
    from contract.workload import load_workload
    from publisher.order import Order
    from publisher.sender_process import open_source
    from publisher.source import Share

    assert load_workload("traffic")
    order = Order.from_environment(
        {
            "RUN_ID": "size",
            "WORKLOAD": "traffic",
            "BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "INPUT_TOPICS": "flow=f,speed=s",
            "PARTITIONS": str(_PARTITIONS),
            "RATE": "26000",
            "SEED": "1",
            "TEMPORAL_SCALE": "60",
            "ARRIVAL": "adjacent",
            "SOURCE": "network",
            "SLOTS_MAX": "1",
            "PUBLISHERS": "1",
            "EVIDENCE_DIR": ".",
        }
    )
    sizes = [len(r[3]) + len(r[4] or b"") for r in open_source(order, Share(0, 1)).records(0)]
    return round(sum(sizes) / len(sizes))


def main(rates: list[str]) -> None:
    """Both, in turn, at each rate."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    turns = int(os.environ.get("TURNS") or _TURNS)
    size = record_bytes()
    print(f"records of {size} bytes, acks=all, linger {LINGER_MS} ms, one broker")
    with one_broker() as place:
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
