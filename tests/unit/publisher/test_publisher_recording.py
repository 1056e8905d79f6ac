"""Reading recorded files: bad lines are counted and never stop the rest."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from contract.errors import UsageError
from contract.workloads.traffic import KINDS
from publisher.workloads.traffic import look_at
from publisher.workloads.traffic.recording import BAD_EXAMPLES_MAX, LINE_BYTES_MAX, Recording

BAD = ["rubbish", *(f"a/b/lane1= {n}" for n in range(30))]


def line(kind: str = "flow", *, lane: int = 1, minute: int = 0, num_lanes: int = 1) -> str:
    """A recorded line."""
    reading = '"flow":3,"period":60' if kind == "flow" else '"speed":99.5'
    return (
        f'a/b/lane{lane}= {{"lat":51.4,"long":5.4,{reading},"accuracy":100,'
        f'"timestamp":"2017-03-15 14:{41 + minute}:00.0","num_lanes":{num_lanes}}}'
    )


def write(path: Path, lines: list[str]) -> str:
    """A file of lines, as SOURCE."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_bad_lines_are_counted_and_never_stop_the_rest(tmp_path: Path) -> None:
    good = [line(kind, lane=lane, num_lanes=2) for kind in KINDS for lane in (1, 2)]
    lines = [*BAD, "", *good, good[0], "  "]
    lines.append(line(lane=1, minute=1, num_lanes=3))
    lines.append(line(lane=3, minute=1, num_lanes=2))
    report = Recording(Path(write(tmp_path / "x.txt", lines))).report
    assert report.records == 4
    assert report.bad_lines == len(BAD) + 3
    assert len(report.bad_examples) == BAD_EXAMPLES_MAX
    assert report.bad_examples[0] == "x.txt:1: no '= ' between key and value"


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        (line(), "a second flow of this lane in 2017-03-15 14:41"),
        (line(minute=1, num_lanes=2), "num_lanes is 2, and was 1 before"),
        (line(lane=2), "lane2 is one lane more than num_lanes says"),
        ("x" * (3 * LINE_BYTES_MAX), f"longer than {LINE_BYTES_MAX} bytes"),
    ],
)
def test_lines_that_disagree_with_earlier_ones_are_bad(
    tmp_path: Path, extra: str, why: str
) -> None:
    report = Recording(Path(write(tmp_path / "x.txt", [line(), extra, line("speed")]))).report
    assert report.bad_examples == (f"x.txt:2: {why}",)
    assert report.records == 2


def test_gzip_is_read_and_a_broken_one_is_a_bad_line(tmp_path: Path) -> None:
    packed = gzip.compress(
        "\n".join([line(kind, minute=minute) for kind in KINDS for minute in range(5)]).encode()
    )
    (tmp_path / "good.gz").write_bytes(packed)
    assert Recording(tmp_path / "good.gz").report.records == 10
    (tmp_path / "cut.gz").write_bytes(packed[:-12])
    (tmp_path / "none.gz").write_bytes(b"not packed at all")
    report = Recording(tmp_path).report
    # none but the whole file's lines: the cut one's repeat them
    assert report.records == 10
    assert any("broken gzip" in example and "none.gz" in example for example in report.bad_examples)


def test_bytes_that_are_no_text_are_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xff\xfe\n" + line().encode() + b"\n")
    assert Recording(path).report.bad_examples == ("x.txt:1: not UTF-8",)


@pytest.mark.parametrize("name", ["missing", "empty.txt", "bad.txt", "folder"])
def test_a_source_without_a_usable_line_is_the_users_mistake(tmp_path: Path, name: str) -> None:
    write(tmp_path / "empty.txt", [])
    write(tmp_path / "bad.txt", ["rubbish"])
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="SOURCE="):
        Recording(tmp_path / name)
    with pytest.raises(UsageError, match="SOURCE="):
        look_at(str(tmp_path / name))


def test_a_look_ends_at_the_first_usable_line(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["rubbish", line(), *["rubbish"] * 9])
    write(tmp_path / "b.txt", [line("speed")])
    look_at(str(tmp_path))
    seen = Recording(tmp_path, first_only=True).report
    assert (seen.records, seen.bad_lines) == (1, 1)
