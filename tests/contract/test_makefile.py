"""What a user writes behind `make VERB` reaches the command line as it was written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "value",
    [
        "two  words",
        "it's",
        '"quoted"',
        "$(shell echo x)",
        "$HOME",
        "`echo x`; echo y & z",
        "a\\b",
        "#",
    ],
)
def test_a_setting_is_passed_on_as_it_was_written(value: str) -> None:
    command = ["make", "--no-print-directory", "doctor", f"SOURCE={value}", "STAGE=join"]
    ended = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
    assert f"tollgate: SOURCE={value}: there is no such file or folder" in ended.stderr
