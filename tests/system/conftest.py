"""A place of its own for each system test; nothing may be left behind in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.tollgate import Tollgate


@pytest.fixture
def tollgate(tmp_path: Path) -> Iterator[Tollgate]:
    """A command with results and temporary files of its own."""
    it = Tollgate(tmp_path)
    yield it
    it.end_all()
    assert it.left_behind() == []
