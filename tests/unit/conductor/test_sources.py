"""A source is looked at before anything is started; the sentence is the publisher's."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.sources import look_at_source
from contract.errors import UsageError
from contract.settings import RunSettings
from tests.unit.conductor.fakes import ROOT

LINE = (
    'a/b/lane1= {"lat":51.4,"long":5.4,"flow":3,"period":60,"accuracy":100,'
    '"timestamp":"2017-03-15 14:41:00.0","num_lanes":1}\n'
)


def look(source: Path | str) -> None:
    look_at_source(RunSettings(source=str(source)), ROOT)


def test_the_network_and_a_usable_line_pass(tmp_path: Path) -> None:
    look("network")
    (tmp_path / "good").write_text("rubbish\n" + LINE)
    look(tmp_path)


@pytest.mark.parametrize("text", ["", "rubbish\n"])
def test_a_source_without_a_usable_line_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(UsageError, match=r"^SOURCE=.*/bad holds no usable line"):
        look(tmp_path / "bad")
