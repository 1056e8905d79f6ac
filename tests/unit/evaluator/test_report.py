"""The report: whole in every case, safe, self-contained, honest about what is invalid."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from contract.claims import papers_on
from contract.errors import UsageError
from contract.results import read_json, write_json
from evaluator.report import write_report
from evaluator.report.style import COLOURS
from tests.unit.evaluator.campaigns import ENGINES, STAGES, Plan, make_campaign

PAIRS = (("real-time", "eager"), ("micro-batch", "windowed"), ("micro-batch", "eager"))
PLANS = {
    "two": Plan(),
    "one": Plan(stages=("ingest",)),
    "many": Plan(stages=STAGES, repeat=5, rate=80, invalid=(3,), dead=(7,), bare=(25,)),
    "invalid": Plan(invalid=(2,)),
    "dead": Plan(dead=(2,), complete=False),
    "all-dead": Plan(dead=(1, 2), complete=False),
    "bare": Plan(bare=(1, 2), complete=False),
    "repeated": Plan(repeat=3),
    "no-runs": Plan(stages=(), complete=False),
    "quick": Plan(stages=STAGES, rate=80, variants=PAIRS[:2], verb="reproduce"),
    "reproduction": Plan(
        stages=STAGES, repeat=3, rate=80, variants=PAIRS, verb="reproduce", invalid=(4,), bare=(9,)
    ),
    "contest": Plan(
        stages=STAGES, repeat=3, rate=80, variants=ENGINES, verb="compare", invalid=(4,), bare=(9,)
    ),
    "contest-dead": Plan(variants=ENGINES, verb="compare", dead=(1, 2, 3, 4), complete=False),
    "interrupted": Plan(
        stages=STAGES,
        rate=80,
        variants=PAIRS[:2],
        verb="reproduce",
        bare=(8, 9, 10),
        complete=False,
    ),
}
INJECTION = '<script>alert("x")</script><img src=http://evil.example/x>'


def report_of(folder: Path, plan: Plan) -> str:
    return write_report(make_campaign(folder, plan)).read_text(encoding="utf-8")


def svgs_of(html: str) -> list[ET.Element]:
    return [ET.fromstring(s) for s in re.findall(r"<svg.*?</svg>", html, re.S)]


def words(html: str) -> str:
    """The text a reader sees, on one line, with plain spaces."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", "", html, flags=re.S)
    return re.sub(r"[\s\u202f\u00a0]+", " ", re.sub(r"<[^>]*>", "", text))


@pytest.mark.parametrize("name", PLANS)
def test_every_campaign_has_a_report(tmp_path: Path, name: str) -> None:
    html = report_of(tmp_path / name, PLANS[name])
    assert html.startswith("<!doctype html>") and '<html lang="en">' in html
    assert len(html.encode()) < 1_000_000
    assert 'class="answer"' in html
    assert not (tmp_path / name / ".report.html.draft").exists()


def test_the_answer_is_a_sentence(tmp_path: Path) -> None:
    said = words(report_of(tmp_path / "c", Plan()))
    figures = read_json(tmp_path / "c" / "campaign.json")
    price = next(p for p in figures["prices"] if p["attribution"] == "last")
    assert f"The join costs {price['price_ms']:.1f} ms (95 % interval" in said
    assert "at the median on spark real-time/eager at 200 observations/s:" in said
    assert "Too few runs for a verdict" in said


def test_a_first_stage_answers_its_latency(tmp_path: Path) -> None:
    said = words(report_of(tmp_path / "c", PLANS["one"]))
    assert re.search(r"Up to and including ingest the pipeline takes [\d.]+ ms", said)


def test_a_saving_and_an_unclear_price_are_said(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", Plan(repeat=3))
    campaign = read_json(folder / "campaign.json")
    price = next(p for p in campaign["prices"] if p["attribution"] == "last")
    price.update(price_ms=-3.0, low_ms=-4.0, high_ms=-2.0, verdict="saves")
    write_json(folder / "campaign.json", campaign)
    assert "The join saves 3.0 ms (95 % interval 2.0 to 4.0)" in words(
        write_report(folder).read_text()
    )
    price.update(low_ms=-4.0, high_ms=2.0, verdict="cannot-be-told")
    write_json(folder / "campaign.json", campaign)
    assert "costs \u22123.0 ms" in words(write_report(folder).read_text())


def test_an_invalid_run_is_announced_and_struck_out(tmp_path: Path) -> None:
    html = report_of(tmp_path / "c", Plan(invalid=(2,)))
    run = read_json(tmp_path / "c" / "runs" / "2-join" / "run.json")
    assert 'class="banner"' in html
    assert "2-join" in words(html).split("Stages")[0]
    assert "2 of the outputs that had to come are missing." in html
    for quantile in ("p50", "p95", "p99"):
        assert f"<s>{run['latency_ms']['last'][quantile]:.1f}</s>" in html
    said = words(html)
    assert "What the join costs cannot be said: there is no valid run of join." in said
    assert "Not to be trusted" in said
    other = read_json(tmp_path / "c" / "runs" / "1-parse" / "run.json")
    assert f"<s>{other['latency_ms']['last']['p95']:.1f}</s>" not in html


def test_a_valid_campaign_strikes_nothing_out(tmp_path: Path) -> None:
    html = report_of(tmp_path / "c", Plan())
    assert "<s>" not in html and 'class="banner"' not in html and "line-through" not in html


def test_a_dead_run_says_why(tmp_path: Path) -> None:
    html = report_of(tmp_path / "c", PLANS["dead"])
    assert "This campaign is incomplete" in html
    assert "interrupted by the user in run 2" in html
    assert "java.lang.OutOfMemoryError: &lt;Java heap space&gt;" in html
    assert "What the join costs cannot be said" in html


def test_text_is_escaped(tmp_path: Path) -> None:
    plan = Plan(question=INJECTION, extra_services={INJECTION: 0.1})
    folder = make_campaign(tmp_path / "c", plan)
    run_json = folder / "runs" / "1-parse" / "run.json"
    run = read_json(run_json)
    run["doubts"].append({"id": INJECTION, "severity": "warning", "says": INJECTION})
    run["engine"] = INJECTION
    write_json(run_json, run)
    html = write_report(folder).read_text(encoding="utf-8")
    assert "<img" not in html and "alert(&quot;x&quot;)" in html
    assert html.count("<script") == 1
    svgs_of(html)


def test_nothing_is_fetched(tmp_path: Path) -> None:
    html = report_of(tmp_path / "c", Plan(stages=STAGES, repeat=2, rate=40, invalid=(2,)))
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", html)
    assert "<link" not in html and "@import" not in html and "@font-face" not in html
    assert set(re.findall(r"url\(", html)) == set()
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(ids)


def test_missing_tables_leave_gaps_only(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    for name in ("latency", "slots", "resources"):
        (folder / "runs" / "1-parse" / f"{name}.parquet").unlink()
    (folder / "runs" / "2-join" / "slots.parquet").write_bytes(b"cut off")
    assert "The join costs" in words(write_report(folder).read_text(encoding="utf-8"))


def test_nulls_everywhere_are_no_obstacle(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    for number in ("1-parse", "2-join"):
        path = folder / "runs" / number / "run.json"
        write_json(path, dict.fromkeys(read_json(path)))
    keep = read_json(folder / "campaign.json")
    write_json(folder / "campaign.json", dict.fromkeys(keep))
    assert "There is no answer" in write_report(folder).read_text(encoding="utf-8")


def test_a_folder_without_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_report(tmp_path)


def test_every_table_and_chart_can_be_read_aloud(tmp_path: Path) -> None:
    html = report_of(tmp_path / "c", Plan(stages=STAGES, repeat=2, rate=40, invalid=(2,)))
    for cell in re.findall(r"<th\b[^>]*>", html):
        assert "scope=" in cell
    for table in re.findall(r"<table.*?</table>", html, re.S):
        assert "<caption" in table
    for svg in svgs_of(html):
        assert svg.find("title") is not None and svg.find("desc") is not None


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(
    "pair",
    [
        *((name, "paper") for name in ("ink", "soft", "accent", "bad")),
        *((f"s{i}", "paper") for i in range(5)),
        ("bad", "bad-panel"),
        ("ink", "bad-panel"),
        ("ink", "panel"),
        ("ink", "window"),
        ("ink", "rule"),
    ],
)
def test_contrast_is_aa(pair: tuple[str, str], theme: int) -> None:
    light, dark = sorted((_luminance(COLOURS[name][theme]) for name in pair), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_report_is_the_same_each_time(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c", Plan())
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    assert json.loads((folder / "campaign.json").read_text())["valid"] is True


def in_containers(folder: Path) -> Path:
    """A campaign whose services ran in containers."""
    made = make_campaign(folder, Plan())
    images = {
        name: {"tag": f"tollgate/{kind}:0123456789ab", "id": "sha256:" + "fe" * 32}
        for name, kind in (("broker-1", "kafka"), ("spark", "engine-spark"))
    }
    limits = {
        "spark": {"cpus": 2.0, "cpuset": "0,1", "memory_bytes": 2048 * 1024**2},
        "broker-1": {"cpus": None, "cpuset": None, "memory_bytes": None},
    }
    for path in (made / "runs").glob("*/run.json"):
        write_json(path, read_json(path) | {"images": images, "limits": limits})
    campaign = read_json(made / "campaign.json")
    campaign["pins"]["docker"] = {"version": "27.3.1", "cgroup_version": "2"}
    campaign |= {"store": "hdfs://namenode:8020/tollgate", "store_kept": "file:/results/store"}
    write_json(made / "campaign.json", campaign)
    return made


def test_containers_are_told_with_their_images_and_limits(tmp_path: Path) -> None:
    said = words(write_report(in_containers(tmp_path / "c")).read_text(encoding="utf-8"))
    assert "Containers and their limits" in said
    assert re.search(r"spark ?tollgate/engine-spark:0123456789ab ?fefefefefefe ?2.0 ?0,1", said)
    assert "tollgate/kafka:0123456789ab" in said
    assert "None" not in said
    assert "Containers" not in words(report_of(tmp_path / "d", Plan()))


def test_what_was_measured_with_is_told_without_braces(tmp_path: Path) -> None:
    said = words(write_report(in_containers(tmp_path / "c")).read_text(encoding="utf-8"))
    assert "27.3.1" in said
    assert "{" not in said


def test_the_store_that_is_named_is_the_one_that_is_left(tmp_path: Path) -> None:
    said = words(write_report(in_containers(tmp_path / "c")).read_text(encoding="utf-8"))
    assert "file:/results/store" in said
    assert "hdfs:" not in said


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reproduction with its report."""
    folder = make_campaign(tmp_path_factory.mktemp("r") / "c", PLANS["reproduction"])
    write_report(folder)
    return folder


def test_a_reproduction_opens_with_the_claims(reproduction: Path) -> None:
    html = (reproduction / "report.html").read_text(encoding="utf-8")
    said = words(html)
    (paper,) = papers_on("traffic")
    first = said.index("Beside the paper")
    for claim in paper.claims:
        assert said.index(re.sub(r"\s+", " ", claim.says)) < first
    assert html.index('class="claims"') < html.index("<nav")
    for mode, dialect in PAIRS:
        assert f"{mode}, {dialect}" in said[:first]


def test_a_claims_verdict_stands_beside_its_figure(reproduction: Path) -> None:
    campaign = read_json(reproduction / "campaign.json")
    html = (reproduction / "report.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", html, re.S)
    marks = {"holds": "✓", "does-not-hold": "✗", "cannot-be-told": "?", "not-testable": "–"}
    by_claim = dict(rows)
    for claim in papers_on("traffic")[0].claims:
        cells = re.findall(r'class="mark \w+">(.)', by_claim[claim.says])
        told = [c["verdict"] for c in campaign["claims"] if c["claim"] == claim.id]
        assert len(told) == len(PAIRS)
        # told in the order in which the variants were planned
        order = [(v["mode"], v["dialect"]) for v in campaign["variants"]]
        assert order == list(PAIRS)
        assert cells == [marks[verdict] for verdict in told]


def test_a_preliminary_verdict_is_called_so(tmp_path: Path) -> None:
    said = words(report_of(tmp_path / "c", PLANS["quick"]))
    assert "Preliminary: one short run each" in said and "(preliminary)" in said
    assert "cannot be told apart here" in said, "nothing is told of execution and dialect"


def test_ids_in_a_page_of_several_variants_are_its_own(reproduction: Path) -> None:
    html = (reproduction / "report.html").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_many_doubts_are_told_by_name_and_invalid_ones_in_full(reproduction: Path) -> None:
    said = words((reproduction / "report.html").read_text(encoding="utf-8"))
    doubts = said[said.rindex("Doubts") :]
    assert "outputs-wrong : 2 of the outputs" in doubts.replace("outputs-wrong:", "outputs-wrong :")
    assert re.search(r"few-samples: \d+ runs", doubts)
