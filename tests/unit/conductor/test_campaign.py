"""A campaign: one at a time, its runs in order, its conditions written whatever happens."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.appliance.presence import HDFS
from conductor.asked import understand
from conductor.campaign import Campaign, keep_broker_logs, point_latest_at
from conductor.conditions import Seen
from conductor.home import Home
from conductor.java import Java
from conductor.progress import Progress
from conductor.reproduction import understand_reproduction
from conductor.resuming import go_on
from conductor.run_plan import RunPlan
from conductor.runtimes import Ready
from contract.errors import EnvironmentLacking, ServiceFailed
from contract.results import BESIDE, RunFolder, read_json, write_json
from tests.unit.conductor.fakes import NO_PID, Clock, FakeChild, FakeCluster, FakeRuntime

Tick = Callable[[str], None]


@pytest.fixture
def checkout(tmp_path: Path) -> Home:
    """A checkout in which nobody measures: this one's lock may be held by a real campaign."""
    return Home(tmp_path / "checkout")


def test_latest_points_at_the_newest_campaign(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        point_latest_at(tmp_path, name)
        assert (tmp_path / "latest").resolve() == tmp_path / name
    assert (tmp_path / "latest").readlink() == Path("second"), "it would not survive a move"
    assert {p.name for p in tmp_path.iterdir()} == {"first", "second", "latest"}


def test_a_link_that_an_interruption_left_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 7)
    (tmp_path / ".latest-7").symlink_to("old")
    point_latest_at(tmp_path, "new")
    assert (tmp_path / "latest").readlink() == Path("new")


def test_what_brokers_said_is_kept_with_the_run(tmp_path: Path, clock: Clock) -> None:
    class Brokers(FakeRuntime):
        @property
        def brokers(self) -> list[Any]:
            return children

    children = [FakeChild("broker-1"), FakeChild("broker-2")]
    for child in children:
        child.log = tmp_path / "scratch" / f"{child.name}.log"
    children[0].log.parent.mkdir()
    children[0].log.write_text("a warning\n")
    folder = RunFolder(tmp_path / "runs" / "1-join")
    keep_broker_logs(Brokers(tmp_path, clock, FakeCluster(clock)), folder)
    assert {p.name: p.read_text() for p in folder.logs.iterdir()} == {"broker-1.log": "a warning\n"}


class World:
    """What a campaign meets: what each of its runs comes to, and all that happened in order."""

    def __init__(self, home: Home, clock: Clock, folder: Path) -> None:
        self.home, self.happened, self.rehearsed = home, list[str](), list[str]()
        self.valid: dict[str, bool] = {}
        self.deaths: dict[str, dict[str, Any]] = {}
        self.errors: dict[str, BaseException] = {}
        self.failures: dict[str, ServiceFailed] = {}
        self.runtime = FakeRuntime(folder, clock, FakeCluster(clock))
        self.pid = NO_PID
        self.beside: list[tuple[int, ...]] = []
        self.orders: list[dict[str, Any]] = []
        self.asked: list[tuple[Any, ...]] = []
        self._given: dict[str, Any] = {}
        self.told = io.StringIO()
        self.states = ["as it was"] * 50
        self.plans: list[RunPlan] = []

    # as the evaluator

    def give(self, order: dict[str, Any]) -> None:
        assert not self._given
        self._given = order
        self.orders.append(order)
        self.happened.append(f"give {Path(order['run_dir']).name}")

    def take(self, _timeout_s: float, _tick: Tick) -> dict[str, Any]:
        name = Path(self._given["run_dir"]).name
        write_json(Path(self._given["run_dir"]) / "run.json", {"valid": self.valid.get(name, True)})
        self._given = {}
        self.happened.append(f"take {name}")
        if name in self.failures:
            raise self.failures[name]
        return {"ok": True}

    def ask(self, order: dict[str, Any], _timeout_s: float, _tick: Tick) -> dict[str, Any]:
        assert not self._given
        folder = Path(order["campaign_dir"])
        self.happened.append(order["do"])
        write_json(folder / "campaign.json", read_json(folder / "conditions.json"))
        if "report" in self.errors:
            raise self.errors["report"]
        return {"ok": True}

    # as the class Run

    def run(self, plan: RunPlan, *_: Any) -> Any:
        name = plan.folder.path.name
        seen = Seen()
        self.beside.append(plan.beside)
        self.plans.append(plan)

        def execute() -> None:
            self.happened.append(f"start {name}")
            plan.before_input()
            if name in self.errors:
                raise self.errors[name]
            if name in self.deaths:
                seen.deaths.append(self.deaths[name])
            self.happened.append(f"end {name}")

        return SimpleNamespace(execute=execute, plan=plan, seen=seen, runtime=self.runtime)

    def rehearse(self, plan: RunPlan, *_: Any) -> None:
        self.rehearsed.append(plan.folder.path.name)

    @contextmanager
    def services(self, make: Any, brokers: int, *_: Any) -> Iterator[Any]:
        assert (make, brokers) == (self.make, self.asked[-1][3])
        try:
            yield SimpleNamespace(runtime=self.runtime, cluster=None, evaluator=self)
        finally:
            self.happened.append("down")

    def have_runtime(self, *asked: Any) -> Ready:
        self.asked.append(asked)
        docker = {"version": "20"} if asked[0] == "docker" else None
        return Ready(self.make, {"spark": self.states.pop(0)}, docker)

    def make(self, _scratch: Path) -> FakeRuntime:
        return self.runtime

    def campaign(self, *words: str) -> Campaign:
        asked = understand(words, self.home)
        return Campaign(asked, self.home, Progress(self.told), ["tollgate", "bench", *words])

    def reproduction(self, *words: str) -> Campaign:
        asked = understand_reproduction(words, self.home)
        return Campaign(asked, self.home, Progress(self.told), ["tollgate", "reproduce", *words])


@pytest.fixture
def world(home: Home, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """No broker, no engine, no evaluator: their fakes."""
    made = World(home, clock, tmp_path)
    monkeypatch.setattr("conductor.campaign.find_java", lambda _: Java(Path("/java"), "21"))
    monkeypatch.setattr("conductor.campaign.have_runtime", made.have_runtime)
    monkeypatch.setattr("conductor.campaign.lacks", lambda *_: [])
    monkeypatch.setattr("conductor.campaign.services", made.services)
    monkeypatch.setattr("conductor.campaign.Run", made.run)
    monkeypatch.setattr("conductor.campaign.rehearse", made.rehearse)
    return made


def test_each_repetition_has_brokers_of_its_own_that_are_warmed_up_once(world: World) -> None:
    campaign = world.campaign("STAGE=2", "REPEAT=2")
    campaign.execute()
    first, _, third, _ = (f"{run.number}-{run.stage}" for run in campaign.order)
    assert world.rehearsed == [first, third]
    assert [i for i, what in enumerate(world.happened) if what == "down"] == [8, 18]
    assert len(world.asked) == 2, "each with a runtime of its own"
    world.rehearsed.clear()
    world.campaign("STAGE=2").execute()
    assert world.rehearsed == ["1-parse"]


def test_a_run_is_judged_while_the_next_ones_engine_starts(world: World) -> None:
    campaign = world.campaign("STAGE=2")
    result = campaign.execute()
    assert world.happened == [
        *("start 1-parse", "end 1-parse", "give 1-parse"),
        *("start 2-join", "take 1-parse", "end 2-join", "give 2-join"),
        *("take 2-join", "campaign", "down"),
    ]
    assert result["complete"] is True
    assert result["ended_at"] >= result["started_at"]
    assert world.home.results.joinpath("latest").readlink() == Path(campaign.campaign_id)


def test_each_repetition_holds_every_stage_in_an_order_that_the_seed_gives(world: World) -> None:
    result = world.campaign("STAGE=all", "REPEAT=3").execute()
    blocks = [
        [run["stage"] for run in result["runs"] if run["repetition"] == repetition]
        for repetition in (1, 2, 3)
    ]
    assert {tuple(sorted(block)) for block in blocks} == {tuple(sorted(result["stages"]))}
    assert len({tuple(block) for block in blocks}) > 1
    assert [run["path"] for run in result["runs"]][:1] == [f"runs/1-{blocks[0][0]}"]
    again = world.campaign("STAGE=all", "REPEAT=3").order
    assert [run.stage for run in again] == [run["stage"] for run in result["runs"]]
    other = world.campaign("STAGE=all", "REPEAT=3", "SEED=2").order
    assert [run.stage for run in other] != [run["stage"] for run in result["runs"]]


def test_what_each_run_came_to_is_told(world: World) -> None:
    world.valid["1-parse"] = False
    result = world.campaign("STAGE=2").execute()
    assert [run["ended"] for run in result["runs"]] == ["invalid", "valid"]
    assert (result["complete"], result["says"]) == (True, None)


def test_a_death_ends_the_campaign_which_is_judged_and_said_all_the_same(world: World) -> None:
    world.deaths["1-parse"] = {
        "service": "spark",
        "exit_code": 137,
        "says": "ended with exit code 137",
        "log_tail": ["a", "b"],
    }
    result = world.campaign("STAGE=2").execute()
    assert world.happened == [
        *("start 1-parse", "end 1-parse", "give 1-parse", "take 1-parse", "campaign", "down")
    ]
    assert [run["ended"] for run in result["runs"]] == ["failed", None]
    assert result["complete"] is False
    assert result["says"] == (
        "spark died in run runs/1-parse: it ended with exit code 137; its log ends:\n  a\n  b"
    )


def test_an_interruption_leaves_conditions_that_say_so_and_no_campaign(world: World) -> None:
    world.errors["2-join"] = KeyboardInterrupt()
    campaign = world.campaign("STAGE=2")
    with pytest.raises(KeyboardInterrupt):
        campaign.execute()
    left = read_json(campaign.folder.conditions)
    assert [run["ended"] for run in left["runs"]] == ["valid", "interrupted"]
    assert [told["runs"] for told in left["interruptions"]] == [["runs/2-join"]]
    assert (left["complete"], left["says"]) == (False, "interrupted by the user")
    assert not campaign.folder.campaign_json.exists()
    assert not (world.home.results / "latest").exists()
    assert world.happened[-1] == "down"
    assert f"are kept in {campaign.folder.path}" in world.told.getvalue()


def test_a_campaign_that_is_interrupted_over_its_report_is_not_whole(world: World) -> None:
    world.errors["report"] = KeyboardInterrupt()
    campaign = world.campaign("STAGE=ingest")
    with pytest.raises(KeyboardInterrupt):
        campaign.execute()
    assert not campaign.folder.campaign_json.exists()
    assert read_json(campaign.folder.conditions)["says"] == "interrupted by the user"
    assert not (world.home.results / "latest").exists()


def test_an_interruption_while_all_is_taken_down_takes_nothing_from_the_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("conductor.campaign.point_latest_at", interrupted)
    campaign = world.campaign("STAGE=ingest")
    with pytest.raises(KeyboardInterrupt):
        campaign.execute()
    told = read_json(campaign.folder.conditions)
    assert told == read_json(campaign.folder.campaign_json)
    assert (told["complete"], told["says"]) == (True, None)


def test_a_failure_of_the_evaluator_is_raised(world: World) -> None:
    world.failures["1-parse"] = ServiceFailed("the evaluator died")
    campaign = world.campaign("STAGE=2")
    with pytest.raises(ServiceFailed, match="the evaluator died"):
        campaign.execute()
    assert not campaign.folder.campaign_json.exists()
    assert read_json(campaign.folder.conditions)["says"] == "the evaluator died"
    assert f"are kept in {campaign.folder.path}" in world.told.getvalue()


def test_what_the_machine_lacks_is_said_before_anything_is_started(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.campaign.lacks", lambda *_: ["too little memory", "and disk"])
    campaign = world.campaign("STAGE=2")
    with pytest.raises(EnvironmentLacking, match=r"^too little memory$"):
        campaign.execute()
    assert world.happened == []
    assert not campaign.folder.path.exists()


def test_a_campaign_tells_what_was_asked_and_with_what(world: World) -> None:
    words = ("STAGE=2", "RATE=640", "MODE=micro-batch", "ENGINE_SETTINGS=linger_ms=3")
    campaign = world.campaign(*words)
    told = campaign.conditions
    assert told["command"] == ["tollgate", "bench", *words]
    assert told["question"] == "What does join cost?"
    assert told["campaign_id"].split("-")[2] == "join"
    assert (told["stages"], told["repeat"]) == (["parse", "join"], 1)
    settings = told["settings"]
    assert settings["rate"] == 640 and not {"mode", "dialect", "engine"} & settings.keys()
    (variant,) = told["variants"]
    assert (variant["engine"], variant["mode"], variant["dialect"]) == (
        *("spark", "micro-batch", "windowed"),
    )
    assert variant["settings"]["linger_ms"] == 3
    assert variant["settings"]["watermark_ms"] == 500
    assert told["verb"] == "bench" and not told["preliminary"]
    assert world.campaign("STAGE=all").campaign_id.split("-")[2] == "all"
    assert world.campaign().campaign_id != world.campaign().campaign_id


def test_a_campaign_tells_the_checkpoint_interval_that_its_engine_is_given(world: World) -> None:
    told = world.campaign("CHECKPOINT=7").conditions
    assert told["settings"]["checkpoint_s"] == 7
    assert told["variants"][0]["settings"]["checkpoint_s"] == 7


@pytest.mark.parametrize(("word", "asked_all"), [("STAGE=all", True), ("STAGE=2", False)])
def test_a_campaign_tells_whether_all_stages_were_asked_for(
    word: str, asked_all: bool, world: World
) -> None:
    assert world.campaign(word).conditions["asked_all"] is asked_all


def test_a_runtime_is_had_for_what_was_asked_once_the_machine_was_looked_at(world: World) -> None:
    words = ["STAGE=2", "BROKERS=2", "CHECKPOINT=7", "ENGINE_SETTINGS=memory_mb=700"]
    campaign = world.campaign(*words)
    campaign.execute()
    ((name, choices, heap_mb, brokers, folder, store, home, java, _),) = world.asked
    assert (name, brokers, heap_mb) == ("embedded", 2, 700)
    assert [choice.spec.name for choice in choices] == ["spark"]
    assert (folder, home) == (campaign.folder.path, world.home)
    assert store == f"file:{world.home.results}/store"
    assert java == Java(Path("/java"), "21")
    assert campaign.conditions["pins"]["docker"] is None


def test_an_engine_that_changes_between_repetitions_ends_the_campaign(world: World) -> None:
    world.states = ["as it was", "edited"]
    campaign = world.campaign("STAGE=2", "REPEAT=2")
    with pytest.raises(EnvironmentLacking, match=r"spark is not what .* its files or its image"):
        campaign.execute()
    assert campaign.conditions["pins"]["engines"] == {"spark": "as it was"}
    assert [run["ended"] for run in campaign.conditions["runs"]] == ["valid", "valid", None, None]


@pytest.mark.usefixtures("docker")
def test_containers_need_no_java_of_this_machine(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java(_: object) -> Java:
        raise EnvironmentLacking("no Java 17 or newer was found")

    monkeypatch.setattr("conductor.campaign.find_java", no_java)
    campaign = world.campaign("STAGE=2")
    result = campaign.execute()
    (asked,) = world.asked
    assert (asked[0], asked[3], asked[7]) == ("docker", 5, None)
    assert result["machine"]["java"] is None
    assert result["pins"]["docker"] == {"version": "20"}
    assert result["pins"]["class_archives"] == []


@pytest.mark.usefixtures("docker")
def test_what_is_in_the_appliances_own_store_is_copied_beside_the_results(world: World) -> None:
    world.campaign("STAGE=ingest").execute()
    world.campaign("STAGE=ingest", f"STORE={world.home.results}/store").execute()
    world.campaign("STAGE=ingest", "RUNTIME=embedded").execute()
    folder = f"file:{world.home.results}/store"
    told = [world.campaign(*words).conditions for words in ([], ["RUNTIME=embedded"])]
    # what is published names no folder of the machine
    assert [(t["store"], t["store_kept"]) for t in told] == [(HDFS, BESIDE), (BESIDE, None)]
    assert [(order["store"], order["kept"]) for order in world.orders] == [
        (HDFS, folder),
        (folder, None),
        (folder, None),
    ]


def test_the_evaluators_own_cpu_is_known_by_its_process(world: World) -> None:
    world.campaign("STAGE=2").execute()
    assert world.beside == [(NO_PID,)] * 2


QUICK = ("QUICK=1", "MODE=real-time")


def interrupted(world: World, at: int, *words: str) -> Campaign:
    """A reproduction that was interrupted in that run."""
    campaign = world.reproduction(*words)
    planned = campaign.order[at - 1]
    name = f"{planned.number}-{planned.stage}"
    world.errors[name] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        campaign.execute()
    del world.errors[name]
    return campaign


def test_a_reproduction_goes_on_where_it_was_interrupted(world: World) -> None:
    before = interrupted(world, 3, *QUICK)
    assert "the same command goes on" in world.told.getvalue()
    (before.folder.run(3, before.order[2].stage).path).mkdir(parents=True, exist_ok=True)
    world.happened.clear()
    after = world.reproduction(*QUICK)
    said: list[str] = []
    go_on(after, said.append)
    assert "2 of 5 runs" in said[0] and before.campaign_id in said[0]
    result = after.execute()
    assert result["campaign_id"] == before.campaign_id
    started = [what for what in world.happened if what.startswith("start")]
    assert [what[6] for what in started] == ["3", "4", "5"]
    assert [run["ended"] for run in result["runs"]] == ["valid"] * 5
    assert result["complete"] is True and len(result["interruptions"]) == 1
    # an attempt after an interruption meets no topics of the one before
    assert len({plan.run_id for plan in world.plans}) == 6


@pytest.mark.usefixtures("docker")
def test_one_in_containers_goes_on_too_unless_an_engine_changed(world: World) -> None:
    before = interrupted(world, 3, *QUICK)
    after = world.reproduction(*QUICK)
    go_on(after, lambda _: None)
    assert after.campaign_id == before.campaign_id
    world.states = ["edited"]
    with pytest.raises(EnvironmentLacking, match="FRESH=1 begins a new campaign"):
        after.execute()
    world.states = ["as it was"]
    assert after.execute()["complete"] is True


def test_a_reproduction_that_was_killed_goes_on_too(world: World) -> None:
    before = world.reproduction(*QUICK)
    first, second = before.order[:2]
    before.conditions["runs"][0]["ended"] = "valid"
    for planned in (first, second):
        before.folder.run(planned.number, planned.stage).path.mkdir(parents=True)
    write_json(before.folder.conditions, before.conditions)
    after = world.reproduction(*QUICK)
    go_on(after, lambda _: None)
    result = after.execute()
    assert result["campaign_id"] == before.campaign_id
    (told,) = result["interruptions"]
    assert told["runs"] == [f"runs/2-{second.stage}"]


@pytest.mark.parametrize("word", ["RATE=400", "SEED=2", "REPEAT=2", "MODE=micro-batch"])
def test_what_is_asked_otherwise_is_another_campaign(world: World, word: str) -> None:
    before = interrupted(world, 3, *QUICK)
    after = world.reproduction(*QUICK, word)
    said: list[str] = []
    go_on(after, said.append)
    assert said == [] and after.campaign_id != before.campaign_id


@pytest.mark.parametrize(
    ("part", "name"), [("machine", "cpu_model"), ("pins", "sources_sha256"), ("pins", "packages")]
)
def test_runs_of_another_machine_or_make_are_never_mixed(
    world: World, part: str, name: str
) -> None:
    before = interrupted(world, 3, *QUICK)
    told = read_json(before.folder.conditions)
    told[part][name] = "another"
    write_json(before.folder.conditions, told)
    after = world.reproduction(*QUICK)
    said: list[str] = []
    go_on(after, said.append)
    assert after.campaign_id != before.campaign_id
    assert f"{name} was another" in said[0] and "a new campaign begins" in said[0]


def test_a_commit_that_changes_no_source_ends_no_campaign(world: World) -> None:
    before = interrupted(world, 3, *QUICK)
    told = read_json(before.folder.conditions)
    told["pins"]["git_commit"] = "another"
    write_json(before.folder.conditions, told)
    after = world.reproduction(*QUICK)
    go_on(after, lambda _: None)
    assert after.campaign_id == before.campaign_id


def test_a_death_in_a_series_is_told_and_the_rest_goes_on_with_fresh_brokers(world: World) -> None:
    campaign = world.reproduction(*QUICK)
    planned = campaign.order[1]
    death = {"service": "spark", "exit_code": 1, "says": "ended with exit code 1", "log_tail": []}
    world.deaths[f"2-{planned.stage}"] = death
    result = campaign.execute()
    assert [run["ended"] for run in result["runs"]] == ["valid", "failed", *["valid"] * 3]
    assert world.happened.count("down") == 2 and result["complete"] is True
    assert f"spark died in run runs/2-{planned.stage}" in world.told.getvalue()


def test_a_series_in_which_all_dies_is_given_up(world: World) -> None:
    campaign = world.reproduction(*QUICK)
    death = {"service": "spark", "exit_code": 1, "says": "ended with exit code 1", "log_tail": []}
    world.deaths.update({f"{p.number}-{p.stage}": death for p in campaign.order})
    result = campaign.execute()
    assert [run["ended"] for run in result["runs"]] == [*["failed"] * 3, None, None]
    assert result["complete"] is False and "spark died" in result["says"]


def test_a_series_says_from_the_start_how_long_it_takes(world: World) -> None:
    world.reproduction(*QUICK).execute()
    told = world.told.getvalue()
    assert "5 runs, about 6 min, until" in told
    assert "run 1/5 " in told and " left\n" in told
