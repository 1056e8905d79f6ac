"""Two campaigns side by side: the same work or none, verdicts that hold, one answer twice."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.chosen import Choice, find_campaign
from contract.errors import ExitCode, TollgateError, UsageError
from contract.results import CampaignFolder, read_json, write_json
from contract.settings import RunSettings
from contract.variant import Variant
from evaluator.__main__ import main
from evaluator.compare import compare, comparison
from evaluator.compare_answer import answer, sentences
from evaluator.compare_same_work import WORK, shown
from evaluator.compare_sides import Side
from evaluator.compare_stages import Names, StageCompared, compared
from evaluator.estimates import samples_of
from tests.unit.evaluator.campaigns import STAGES, Plan, make_campaign

RT, MB, MW = ("real-time", "eager"), ("micro-batch", "eager"), ("micro-batch", "windowed")
EAGER, BATCH = Variant("spark", *RT), Variant("spark", *MB)
SERIES = Plan(stages=STAGES, repeat=3, rate=80)
PAIR = Plan(repeat=3, rate=40)
#: settings by which campaigns are set apart, and by which they are compared
COMPARED = {"runtime", "parallelism", "instances"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Plan], Path]:
    """The campaign of a plan, made once; to be read only."""
    there: dict[str, Path] = {}

    def make(plan: Plan) -> Path:
        if repr(plan) not in there:
            folder = tmp_path_factory.mktemp("made") / f"campaign-{len(there)}"
            there[repr(plan)] = make_campaign(folder, plan)
        return there[repr(plan)]

    return make


Made = Callable[[Plan], Path]


def told(a: Path | str, b: Path | str) -> dict[str, Any]:
    found = comparison(Side.read("A", str(a)), Side.read("B", str(b))).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def verdicts(found: dict[str, Any], of: str = "last") -> list[str | None]:
    """On the median, stage by stage."""
    found_verdicts: list[str | None] = []
    for stage in found["pairs"][0]["stages"]:
        known = {f["of"]: f["verdict"] for f in stage["figures"] if f["statistic"] == "p50"}
        found_verdicts.append(known[of])
    return found_verdicts


def printed(capsys: pytest.CaptureFixture[str], a: Path | str, b: Path | str) -> str:
    assert compare(str(a), str(b)) == ExitCode.VALID
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    return text


def changed(folder: Path, at: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Only campaign.json: what is refused is refused before any run is read."""
    value = read_json(folder / "campaign.json")
    change(value)
    write_json(at / "campaign.json", value)
    return at


# verdicts


def test_what_takes_a_third_longer_is_slower_and_the_other_faster(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, slow = made(SERIES), made(replace(SERIES, draw=1, pace=1.3))
    for measure in ("last", "mean", "engine"):
        assert verdicts(told(usual, slow), measure) == ["slower"] * 5
        assert verdicts(told(slow, usual), measure) == ["faster"] * 5
    for stage in told(usual, slow)["pairs"][0]["stages"]:
        median = stage["figures"][0]
        assert median["low"] < median["difference"] < median["high"]
        assert median["difference"] == pytest.approx(median["b"] - median["a"])
        assert median["share"] == pytest.approx(0.3, abs=0.15) and median["method"] == "runs"
        assert stage["valid_runs"] == {"a": 3, "b": 3}
    text = printed(capsys, usual, slow)
    assert text.startswith("B is slower than A at 5 of 5 stages, faster at none.\n")
    assert printed(capsys, slow, usual).startswith("B is faster than A at 5 of 5 stages, slower")


def test_what_is_alike_cannot_be_told(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = made(SERIES), made(replace(SERIES, draw=3))
    found = told(one, other)
    assert verdicts(found) == ["cannot-be-told"] * 5
    assert found["pairs"][0]["says"] == [
        "B is told to be faster or slower than A at none of 5 stages: 5 cannot be told."
    ]
    assert "differs" not in printed(capsys, one, other)


def test_few_runs_give_a_difference_and_no_verdict(made: Made) -> None:
    usual = made(PAIR)
    for repeat, method in ((1, "slots"), (2, "runs")):
        found = told(usual, made(replace(PAIR, repeat=repeat, pace=3.0)))
        assert verdicts(found) == ["too-few-runs"] * 2
        figures = found["pairs"][0]["stages"][1]["figures"]
        assert figures[0]["low"] > 0 and figures[0]["method"] == method
        used = [figure for figure in figures if figure["of"] in ("cpu", "brokers", "memory")]
        assert [figure["low"] is None for figure in used] == [repeat == 1] * 3
        assert "2 have too few runs" in found["pairs"][0]["says"][0]


def test_the_tail_and_what_is_used_are_told(made: Made) -> None:
    (first, *_) = told(made(SERIES), made(replace(SERIES, draw=1, pace=20.0)))["pairs"][0]["stages"]
    names = [(f["of"], f["statistic"], f["unit"]) for f in first["figures"]]
    cpu = "core-ms per 1000 observations"
    assert names == [
        *((of, "p50", "ms") for of in ("last", "mean", "engine")),
        ("last", "p99", "ms"),
        ("cpu", "mean", cpu),
        ("brokers", "mean", cpu),
        ("memory", "max", "MiB"),
    ]
    tail, used, brokers, memory = first["figures"][3:]
    assert tail["verdict"] == "slower" and tail["difference"] > 30
    run = read_json(CampaignFolder(made(SERIES)).runs()[0].run_json)
    per_1000 = run["resources"]["engine"]["cpu_cores_avg"] / run["throughput"]["input_per_s"] * 1e6
    assert used["a"] == pytest.approx(per_1000, rel=0.2) and used["verdict"] is None
    assert used["low"] < used["difference"] < used["high"]
    theirs = sum(run["resources"][f"broker-{n}"]["cpu_cores_avg"] for n in (1, 2, 3))
    expected = theirs / run["throughput"]["input_per_s"] * 1e6
    assert brokers["a"] == pytest.approx(expected, rel=0.2)
    assert memory["a"] == pytest.approx(
        run["resources"]["engine"]["memory_bytes_max"] / 2**20, rel=0.2
    )


def test_a_service_that_was_not_watched_leaves_the_engines_use_untold(made: Made) -> None:
    (folder,) = CampaignFolder(made(Plan(stages=("ingest",), rate=40))).runs()
    (run,) = samples_of(CampaignFolder(folder.path.parents[1]), {"variants": []}).runs
    assert run.cpu_core_ms is not None
    assert replace(run, told={**run.told, "engine_services": ["engine", "w"]}).cpu_core_ms is None
    assert replace(run, told={**run.told, "throughput": None}).cpu_core_ms is None


def test_invalid_runs_are_left_out(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    usual = made(PAIR)
    # of two stages three times over, the first loses a run, the second all, in three ways
    hurt = replace(PAIR, draw=2, pace=2.0, invalid=(1, 2), dead=(3,), bare=(6,))
    found = told(usual, made(hurt))
    parse, join = found["pairs"][0]["stages"]
    assert parse["verdict"] == "too-few-runs" and parse["valid_runs"] == {"a": 3, "b": 2}
    assert join["says"] == "no valid run of join in B" and join["verdict"] == "no-valid-run"
    alone = [(f["a"] is None, f["b"], f["difference"], f["verdict"]) for f in join["figures"]]
    assert set(alone) == {(False, None, None, None)}, "what A has is told, and nothing else"
    doubts = {d["id"]: (d["severity"], d["a"], d["b"]) for d in found["pairs"][0]["doubts"]}
    assert doubts["outputs-wrong"] == ("invalid", 0, 2)
    assert doubts["engine-died"] == ("invalid", 0, 1)
    assert found["pairs"][0]["runs"] == {"a": 6, "b": 5}
    text = printed(capsys, usual, made(hurt))
    assert "\n  no valid run of join in B\n" in text
    assert "1 has too few runs, 1 has no valid run" in text
    assert "invalid outputs-wrong  0 of 6  2 of 5" in text


def test_where_nothing_is_valid_nothing_was_compared(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    dead = made(Plan(rate=40, dead=(1, 2)))
    assert compare(str(dead), str(made(PAIR))) == ExitCode.INVALID
    text = capsys.readouterr().out
    assert "no valid run of join in A" in text and "95%" not in text


# refusals


@pytest.mark.parametrize("name", WORK)
def test_other_work_is_refused(name: str, made: Made, tmp_path: Path) -> None:
    usual = made(PAIR)
    was = read_json(usual / "campaign.json")["settings"][name]
    new = f"other-{was}" if isinstance(was, str) else was + 1
    other = changed(usual, tmp_path, lambda c: c["settings"].update({name: new}))
    with pytest.raises(UsageError) as refused:
        told(usual, other)
    assert str(refused.value) == f"not the same work: {name} is {was} in A and {new} in B"


def test_every_setting_that_makes_it_other_work_is_named_at_once(
    made: Made, tmp_path: Path
) -> None:
    usual = made(PAIR)
    change = {"rate": 500, "seed": None, "source": "network"}
    other = changed(usual, tmp_path, lambda c: c["settings"].update(change))
    with pytest.raises(UsageError, match="rate is 40 in A and 500 in B, seed is 1 in A and – in B"):
        told(usual, other)


def test_every_setting_is_either_the_work_or_what_is_compared() -> None:
    known = {"workload", "runtime", *RunSettings().to_json()} - {"engine"}
    assert known == {*WORK, *COMPARED} and not COMPARED & {*WORK}


def test_another_schema_is_a_failure_in_a_sentence(made: Made, tmp_path: Path) -> None:
    usual = made(PAIR)
    other = changed(usual, tmp_path / "old", lambda c: c.update(schema=1))
    with pytest.raises(TollgateError, match=r"B \(old\) was written by schema 1") as refused:
        told(usual, other)
    assert refused.value.exit_code == ExitCode.FAILURE


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "is not JSON"), ("[]", "holds no object"), ('{"schema": 2}', "says nothing of")],
)
def test_what_is_no_campaign_is_refused(text: str, says: str, made: Made, tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(TollgateError, match=says):
        told(made(PAIR), tmp_path)


def test_a_damaged_run_is_refused(made: Made, tmp_path: Path) -> None:
    folder = shutil.copytree(made(PAIR), tmp_path / "c")
    (folder / "runs" / "1-parse" / "run.json").write_text("{}")
    with pytest.raises(TollgateError, match=r"of B .* cannot be read"):
        told(made(PAIR), folder)


def test_without_a_stage_in_common_nothing_is_compared(made: Made) -> None:
    with pytest.raises(UsageError, match="no stage in common: A ran parse, join; B ran ingest"):
        told(made(PAIR), made(replace(PAIR, stages=("ingest",))))


def test_stages_in_common_are_enough(made: Made) -> None:
    found = told(made(SERIES), made(replace(SERIES, stages=("join", "sliding"))))
    assert [stage["stage"] for stage in found["pairs"][0]["stages"]] == ["join", "sliding"]


# variants

SEVERAL = replace(PAIR, variants=(RT, MB, MW), paces={MB: 4.0, MW: 20.0})


def test_two_variants_of_one_campaign_are_compared(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    several = made(SEVERAL)
    found = told(f"{several}:real-time/eager", f"{several}:spark/micro-batch/eager")
    assert found["a"] == found["b"] == several.name
    assert verdicts(found) == ["slower"] * 2
    (pair,) = found["pairs"]
    assert Variant.of(pair["a"]) == EAGER and Variant.of(pair["b"]) == BATCH
    assert found["differences"] == []
    assert pair["differences"] == [
        {"group": "engine", "name": "mode", "a": "real-time", "b": "micro-batch"}
    ]
    text = printed(capsys, f"{several}:real-time/eager", f"{several}:micro-batch/eager")
    assert "engine: mode real-time | micro-batch" in text and "different times" not in text


def test_it_says_what_the_campaigns_own_effects_say(made: Made) -> None:
    several = made(SEVERAL)
    effects = {
        (e["stage"], e["attribution"]): e
        for e in read_json(several / "campaign.json")["effects"]
        if (e["of"], e["to"]["mode"]) == ("execution", "micro-batch")
    }
    found = told(f"{several}:real-time/eager", f"{several}:micro-batch/eager")
    for stage in found["pairs"][0]["stages"]:
        for figure in stage["figures"][:3]:
            effect = effects[stage["stage"], figure["of"]]
            assert figure["verdict"] == effect["verdict"]
            for key in ("difference", "low", "high"):
                assert figure[key] == pytest.approx(effect[f"{key}_ms"])


def test_of_several_variants_those_in_common_are_compared(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, theirs = made(SEVERAL), made(replace(SEVERAL, variants=(MB, RT), draw=1, pace=1.5))
    found = told(mine, theirs)
    assert [(Variant.of(p["a"]), Variant.of(p["b"])) for p in found["pairs"]] == [
        (EAGER, EAGER),
        (BATCH, BATCH),
    ]
    assert found["alone"] == ["only in A: spark micro-batch windowed"]
    text = printed(capsys, mine, theirs)
    assert text.startswith("spark real-time eager: B is slower than A at 2 of 2 stages")
    assert "\nspark micro-batch eager: B is slower" in text and found["alone"][0] in text
    # one that is chosen on one side alone meets its like
    (pair,) = told(f"{mine}:micro-batch/eager", theirs)["pairs"]
    assert Variant.of(pair["b"]) == BATCH


def test_of_several_pairs_each_sentence_names_its_own(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    once = replace(SEVERAL, repeat=1, variants=(RT, MB))
    text = printed(capsys, made(replace(once, invalid=(1,))), made(replace(once, draw=1)))
    assert re.findall(r".*has a valid run\.", text) == [
        "spark real-time eager: At join only B has a valid run."
    ]


def test_the_only_variant_of_each_is_taken_as_it_is(made: Made) -> None:
    (pair,) = told(made(PAIR), made(replace(PAIR, variants=(MB,))))["pairs"]
    assert (Variant.of(pair["a"]), Variant.of(pair["b"])) == (EAGER, BATCH)


def test_what_there_is_to_choose_from_is_said(made: Made) -> None:
    several = made(SEVERAL)
    windowed = made(replace(PAIR, variants=(MW,)))
    two = made(replace(PAIR, variants=(RT, MB)))
    with pytest.raises(UsageError, match=r"no variant in common; choose .*B has spark/real-time/e"):
        told(windowed, two)
    for word in (f"{several}", f"{several}:micro-batch/eager"):
        with pytest.raises(UsageError, match="are the same runs; choose"):
            told(word, word)
    with pytest.raises(UsageError, match=r"unknown variant of B 'micro-batch/eagre'; did you mean"):
        told(several, f"{several}:micro-batch/eagre")
    with pytest.raises(UsageError, match="'eager' names no variant"):
        told(several, f"{several}:eager")


def test_different_dialects_are_told_apart_by_the_engines_part(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    several = made(SEVERAL)
    text = printed(capsys, f"{several}:micro-batch/eager", f"{several}:micro-batch/windowed")
    text = " ".join(text.split())
    assert "A is eager, B windowed: what is windowed waits for its window's end" in text
    assert "so compare `engine`. By `engine`: B is slower than A at 2 of 2 stages" in text


def test_comparing_needs_samples_and_variants_only(made: Made) -> None:
    folders = [CampaignFolder(made(plan)) for plan in (SERIES, SEVERAL)]
    a, b = (samples_of(folder, read_json(folder.conditions)) for folder in folders)
    found = compared(a, EAGER, b, BATCH)
    assert [(stage.stage, stage.verdict()) for stage in found] == [
        ("parse", "slower"),
        ("join", "slower"),
    ]


# words


def test_other_differences_are_listed(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    usual = made(PAIR)
    elsewhere = replace(
        PAIR,
        settings={"runtime": "docker", "parallelism": 4},
        machine={"cores": 8, "memory_bytes": 16 * 1024**3},
        pins={"git_commit": "f" * 40, "packages": {"pyspark": "4.4.0"}},
        engine_version="4.4.0",
        draw=1,
    )
    found = told(usual, made(elsewhere))
    common = {(d["group"], d["name"]): (d["a"], d["b"]) for d in found["differences"]}
    assert common["settings", "parallelism"] == (2, 4)
    assert common["machine", "cores"] == (2, 8)
    assert common["versions", "pyspark"] == ("4.3.0", "4.4.0")
    assert common["versions", "numpy"] == ("2.4.6", None)
    text = printed(capsys, usual, made(elsewhere))
    assert "\n  engine: engine_version 4.3.0 | 4.4.0\n" in text
    assert "\n  machine: cores 2 | 8; memory_bytes 8.0 GiB | 16.0 GiB\n" in text
    assert "git_commit 4b825dc642cb | ffffffffffff" in text
    assert "The two ran at different times" in text


def test_limits_and_images_of_containers_are_listed_and_the_rest_is_counted(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(made(PAIR), tmp_path / "c")
    limits = {f"service-{i}": {"cpus": 2, "cpuset": None} for i in range(20)}
    images = {"spark": {"tag": "spark:1", "id": f"sha256:{'a' * 64}", "size_bytes": 1}}
    for run in CampaignFolder(folder).runs():
        write_json(run.run_json, {**read_json(run.run_json), "limits": limits, "images": images})
    (pair,) = told(made(PAIR), folder)["pairs"]
    assert len(pair["differences"]) == 21
    first = {"group": "limits", "name": "service-0.cpus", "a": None, "b": 2}
    assert pair["differences"][0] == first
    text = printed(capsys, made(PAIR), folder)
    assert "and 4 more (JSON=1 names all)" in " ".join(text.split())
    assert f"images: spark – | {'a' * 12}\n" in text


@pytest.mark.parametrize(
    ("value", "says"),
    [(None, "–"), ([], "–"), ("", "–"), (True, "yes"), (10.0, "10"), (["a", "b"], "a, b"),
     ("a" * 64, "a" * 12), ("real-time", "real-time")],
)  # fmt: skip
def test_values_are_shown_short(value: Any, says: str) -> None:
    assert shown(value) == says


def test_one_stage_is_answered_by_its_name(made: Made) -> None:
    alone = replace(PAIR, stages=("join",))
    for plan, says in (
        (replace(alone, pace=2.0), "B is slower than A at join."),
        (replace(alone, draw=1), "Whether B is faster or slower than A at join cannot be told."),
        (replace(alone, repeat=1), "Whether B is faster or slower than A at join is not told: "
                                   "too few runs."),
        (replace(alone, dead=(1, 2, 3)), "B and A cannot be compared: no valid run of join in B."),
    ):  # fmt: skip
        assert told(made(alone), made(plan))["pairs"][0]["says"] == [says]


def test_a_campaign_that_was_moved_compares_as_before(made: Made, tmp_path: Path) -> None:
    there = shutil.copytree(made(PAIR), tmp_path / "first place" / "c")
    before = told(there, made(SEVERAL))
    moved = shutil.move(there, tmp_path / "a:b")
    assert told(moved, made(SEVERAL)) == before
    assert told(f"{moved}:real-time/eager", made(SEVERAL)) == before


@pytest.mark.parametrize("places", [["here"], ["nowhere", "here"]])
def test_a_campaign_is_found_in_the_first_place_that_has_it(
    places: list[str], tmp_path: Path
) -> None:
    (tmp_path / "here" / "c").mkdir(parents=True)
    (tmp_path / "here" / "c" / "campaign.json").touch()
    found = find_campaign("c:spark/real-time/eager", [tmp_path / name for name in places])
    assert found == (tmp_path / "here" / "c", Choice(("spark", "real-time", "eager")))
    assert found[1].fits(EAGER) and not found[1].fits(BATCH) and Choice().fits(BATCH)
    with pytest.raises(UsageError, match="d is no campaign"):
        find_campaign("d:real-time/eager", [tmp_path / name for name in places])


def test_json_says_what_the_text_says(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = str(made(SERIES)), str(made(replace(SERIES, draw=1, pace=1.3)))
    text = printed(capsys, a, b)
    assert main(["compare", a, b, "json"]) == ExitCode.VALID
    found = json.loads(capsys.readouterr().out)
    assert found == told(a, b)
    (pair,) = found["pairs"]
    assert text.startswith("\n".join(pair["says"]))
    headline = text.split("last: median")[1].split("mean: median")[0].splitlines()[1:]
    for stage, line in zip(pair["stages"], headline, strict=True):
        median = stage["figures"][0]
        name, of_a, of_b, less, *_, verdict, runs_a, runs_b = line.split()
        assert (name, verdict, runs_a, runs_b) == (stage["stage"], stage["verdict"], "3,", "3")
        for word, key in ((of_a, "a"), (of_b, "b"), (less, "difference")):
            assert float(word) == pytest.approx(median[key], abs=0.051)


def test_an_answer_needs_no_stage() -> None:
    assert answer([]) == "A and B have no stage in common"
    lacking = [StageCompared(stage, 0, 1, ()) for stage in ("parse", "join")]
    assert answer(lacking).endswith("at none of 2 stages: 2 have no valid run")


def test_an_answer_says_who_alone_stood_a_stage() -> None:
    valid_runs = ((0, 1), (0, 2), (3, 0), (0, 1), (0, 0))
    stages = [StageCompared(s, *valid, ()) for s, valid in zip(STAGES, valid_runs, strict=True)]
    assert sentences(EAGER, EAGER, stages, Names("spark", "flink"))[1:] == [
        "At join only spark has a valid run.",
        "At ingest, parse and tumbling only flink has a valid run.",
    ]
    assert len(sentences(EAGER, EAGER, stages[1:2])) == 1, "of one stage the answer has said it"
