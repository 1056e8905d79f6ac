"""Charts: valid XML, every mark within its frame, honest thinning, labels apart."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from evaluator.report import write_report
from evaluator.report.chart_spread import Spread, cumulative, steps, tail
from evaluator.report.plot import NARROW, WIDE
from evaluator.report.scales import Axis, apart, binned, log_range
from tests.unit.evaluator.campaigns import STAGES, Plan, make_campaign

SLACK_PX = 0.11


def assert_inside(svg: ET.Element) -> None:
    left, top, width, height = (float(v) for v in svg.attrib["viewBox"].split())
    for mark in svg.iter():
        xs, ys = [], []
        for pair in mark.attrib.get("points", "").split():
            x, y = pair.split(",")
            xs.append(float(x))
            ys.append(float(y))
        xs += [float(mark.attrib[k]) for k in ("x", "x1", "x2", "cx") if k in mark.attrib]
        ys += [float(mark.attrib[k]) for k in ("y", "y1", "y2", "cy") if k in mark.attrib]
        if mark.tag == "rect":
            xs.append(xs[0] + float(mark.attrib["width"]))
            ys.append(ys[0] + float(mark.attrib["height"]))
        assert all(left - SLACK_PX <= x <= left + width + SLACK_PX for x in xs), mark.attrib
        assert all(top - SLACK_PX <= y <= top + height + SLACK_PX for y in ys), mark.attrib


@pytest.mark.parametrize(
    "plan",
    [
        Plan(),
        Plan(stages=STAGES, rate=40, invalid=(2,), dead=(5,)),
        Plan(warmup_slots=0, measured_slots=2, cooldown_slots=0, rate=8),
        Plan(
            stages=STAGES,
            rate=40,
            invalid=(2,),
            dead=(5,),
            bare=(7,),
            verb="reproduce",
            variants=(("real-time", "eager"), ("micro-batch", "windowed")),
        ),
        Plan(
            stages=STAGES,
            rate=40,
            invalid=(2,),
            dead=(5,),
            bare=(7,),
            verb="compare",
            variants=(("real-time", "eager"), ("flink", "streaming", "windowed")),
        ),
    ],
)
def test_every_mark_lies_within_its_chart(tmp_path: Path, plan: Plan) -> None:
    html = write_report(make_campaign(tmp_path / "c", plan)).read_text(encoding="utf-8")
    found = re.findall(r"<svg.*?</svg>", html, re.S)
    assert len(found) > 8
    for svg in found:
        assert_inside(ET.fromstring(svg))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("values", [[0.0], [5.0] * 40, [-3.0, 0.0, 2.0], [1e-3, 1e6]])
def test_odd_latencies_are_drawn(width: int, values: list[float]) -> None:
    spread = Spread("join", 2, True, np.array(values), np.array(values), ())
    for draw in (cumulative, tail):
        assert_inside(ET.fromstring(draw([spread], width, "k")))


def test_steps_are_the_exact_share() -> None:
    rng = np.random.default_rng(1)
    values = np.ceil(rng.lognormal(2.5, 1, 5000))
    xs, shares = steps(values)
    for x, share in zip(xs[1::2], shares[1::2], strict=True):
        assert share == pytest.approx(100 * np.mean(values <= x))
    assert shares[-1] == 100 and len(xs) < 500


@pytest.mark.parametrize("log", [True, False])
def test_ticks_are_within_the_axis(log: bool) -> None:
    for low, high in ((0.5, 1), (1, 10), (1, 5000), (3, 400_000)):
        axis = Axis(low, high, 0, 300, log)
        ticks = axis.ticks(6)
        assert len({words for _, words in ticks}) == len(ticks) >= 1
        assert all(low * 0.99 <= value <= high * 1.01 for value, _ in ticks)


def test_an_axis_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no axis"):
        Axis(1, 1, 0, 100)
    with pytest.raises(ValueError, match="logarithmic"):
        Axis(0, 1, 0, 100, log=True)
    assert log_range([]) == (1.0, 1000.0)


def test_labels_are_kept_apart_and_in_order() -> None:
    wanted, sizes = [50.0, 52.0, 55.0, 200.0, 299.0], [40.0, 30.0, 30.0, 40.0, 40.0]
    centres = apart(wanted, sizes, 0, 300)
    for i in range(4):
        assert centres[i + 1] - centres[i] >= (sizes[i] + sizes[i + 1]) / 2 - 1e-9
    assert centres[0] - 20 >= 0 and centres[-1] + 20 <= 300
    assert centres[3] == 200


def test_thinning_keeps_the_largest() -> None:
    values = np.zeros(10_000)
    values[7777] = 42
    values[5] = np.nan
    thinned = binned(values, 240, np.max)
    assert len(thinned) == 240 and np.nanmax(thinned) == 42
