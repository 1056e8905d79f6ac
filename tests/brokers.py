"""Real brokers of a test's or a benchmark's own, as plain processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conductor.artifacts import ensure_artifacts
from conductor.brokers import EmbeddedBrokers
from conductor.home import Home
from conductor.java import find_java
from conductor.topics import Cluster

HOME = Home(Path(__file__).resolve().parents[1])
JARS = HOME.artifacts / "kafka"


@contextmanager
def brokers_in(folder: Path, count: int) -> Iterator[Cluster]:
    """A client of so many, ready; state and logs are below the folder, and they are gone after."""
    java = find_java(HOME.artifacts)
    ensure_artifacts(HOME.artifacts_lock, HOME.artifacts, java, print, ["kafka"])
    program = HOME.path / "images" / "kafka" / "entrypoint"
    classes = folder / "classes"
    classes.mkdir()
    brokers = EmbeddedBrokers(
        count, folder / "state", folder / "logs", program, JARS, java, classes
    )
    try:
        brokers.start()
        client = brokers.wait_until_ready(lambda _: None)
        yield client
        client.close()
    finally:
        brokers.stop()
