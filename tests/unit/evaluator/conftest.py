"""One Spark session for all tests of the evaluator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from evaluator.session import start_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small session; it ends with the tests."""
    session = start_spark(2)
    yield session
    session.stop()
