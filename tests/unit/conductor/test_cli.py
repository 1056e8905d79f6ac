"""Every failure ends as one sentence with its exit code; a defect keeps its trace."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor import cli
from conductor.asked import KNOWN
from conductor.home import Home
from conductor.reproduction import OWN
from contract.errors import EnvironmentLacking, ExitCode, ServiceFailed, UsageError
from tests.unit.conductor.fakes import NO_PID


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The command line takes signals; the tests give them back."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    kept = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, kept, strict=True):
        signal.signal(number, handler)


def dispatching(monkeypatch: pytest.MonkeyPatch, work: Callable[[], int]) -> None:
    monkeypatch.setattr(cli, "_dispatch", lambda _: work())


@pytest.mark.parametrize("words", [[], ["help"], ["-h"], ["--help"]])
def test_help_names_every_setting(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == ExitCode.VALID
    told = capsys.readouterr().out
    # there is one workload
    untold = {"WORKLOAD"}
    assert {name for name in (*KNOWN, *OWN) if f"{name}=" not in told} <= untold


def test_a_setting_of_the_environment_is_said_not_to_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RATE", "7")
    monkeypatch.setenv("QUICK", "1")
    monkeypatch.setenv("STAGE", "none")
    assert cli.main(["bench", "STAGE=none"]) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert "RATE=7 of the environment is not read" in told
    assert "QUICK=1 of the environment is not read" in told
    assert "STAGE=none of the environment" not in told


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bnech"], "tollgate: unknown verb 'bnech'; did you mean bench?"),
        (["reproduce", "STAGE=join"], "tollgate: STAGE: reproduce runs every stage"),
        (["doctor", "reproduce", "QUICK=2"], "tollgate: QUICK=2 cannot be"),
        (["bench", "STAGE=jion"], "tollgate: unknown stage 'jion'; did you mean join?"),
        (["doctor", "RATE=no"], "tollgate: RATE=no is not a whole number"),
        (["clean", "WHAT=everything"], "tollgate: WHAT=everything cannot be"),
        (["clean", "RATE=5"], "tollgate: unknown setting 'RATE'"),
        (["engine-check", "RATE=5"], "tollgate: unknown setting 'RATE'"),
        (["images", "RATE=5"], "tollgate: 'RATE=5': this verb takes no settings"),
        (["up", "BROKERS=10"], "tollgate: BROKERS=10 cannot be; give 1 to 9"),
        (["up", "BROKERS=all"], "tollgate: BROKERS=all cannot be; give 1 to 9"),
        (["up", "RATE=5"], "tollgate: unknown setting 'RATE'"),
        (["down", "BROKERS=3"], "tollgate: 'BROKERS=3': this verb takes no settings"),
        (["bundle", "HOSTS=a"], "tollgate: unknown setting 'HOSTS'"),
        (["load", "BUNDLE=/nonexistent"], "tollgate: BUNDLE=/nonexistent: there is no such file"),
        (["load", "RATE=5"], "tollgate: unknown setting 'RATE'"),
        # as `make engine`: where sudo wants a password, one is told to say so
        (
            ["load", "BUNDLE=/nonexistent", "HOSTS=a", "BECOME_ASK=1"],
            "tollgate: BUNDLE=/nonexistent: there is no such file",
        ),
        (["report", "a", "b"], "tollgate: report takes one campaign"),
        (["bench", "RESULTS=/dev/null/x"], "tollgate: RESULTS=/dev/null/x: /dev/null is not a fol"),
        (["engine-check", "RESULTS=/dev/null"], "tollgate: RESULTS=/dev/null: /dev/null is not a"),
        (["verify", "/nonexistent"], "tollgate: /nonexistent is no campaign"),
        (["compare", "one"], "tollgate: compare takes engines"),
        (["compare", "one", "B=two"], "tollgate: compare takes engines"),
        (["compare", "/nonexistent", "/x"], "tollgate: /nonexistent is no campaign"),
        (["compare", "/nonexistent:a/b", "/x"], "tollgate: /nonexistent is no campaign"),
        (["compare", "RATE=5"], "tollgate: unknown setting 'RATE'"),
        (["compare", "A=a", "B=b", "JSON=2"], "tollgate: JSON=2 cannot be; give 1 or 0"),
        (["archive", "/nonexistent"], "tollgate: /nonexistent is no campaign"),
        (["archive", "/dev/null"], "tollgate: /dev/null is no campaign"),
        (["verify", "SLIM=1"], "tollgate: unknown setting 'SLIM'"),
        (["verify", "/dev/null", "STORE=hdfs://a/b"], "tollgate: "),
    ],
)
def test_a_users_mistake_is_one_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == ExitCode.USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(says)
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no"), ExitCode.USAGE),
        (EnvironmentLacking("no"), ExitCode.FAILURE),
        (ServiceFailed("no"), ExitCode.FAILURE),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    error: Exception,
    code: ExitCode,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails() -> int:
        raise error

    dispatching(monkeypatch, fails)
    assert cli.main(["bench"]) == code
    assert capsys.readouterr().err == "tollgate: no\n"


def test_a_defect_is_called_one_and_its_trace_is_kept(
    monkeypatch: pytest.MonkeyPatch, temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatching(monkeypatch, lambda: 1 // 0)
    assert cli.main(["bench"]) == ExitCode.FAILURE
    (trace,) = temporary.iterdir()
    assert capsys.readouterr().err.startswith("tollgate: a defect: ZeroDivisionError(")
    assert "Traceback" in trace.read_text() and "1 // 0" in trace.read_text()


@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_asked_to_end_it_ends_as_if_interrupted(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked_to_end() -> int:
        signal.raise_signal(number)
        return ExitCode.VALID

    dispatching(monkeypatch, asked_to_end)
    assert cli.main(["bench"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "tollgate: interrupted; nothing is left running\n"


def test_clean_says_what_it_took_away(
    temporary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # a checkout of its own: in this one a campaign may run
    monkeypatch.setattr("conductor.home.this_checkout", lambda _: Home(tmp_path / "checkout"))
    (temporary / "tollgate-x").mkdir()
    (temporary / "tollgate-x" / "owner").write_text(str(NO_PID))
    assert cli.main(["clean"]) == ExitCode.VALID
    assert capsys.readouterr().out == f"took away {temporary}/tollgate-x (0 MiB)\n"


def test_a_report_is_asked_of_the_campaign_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], _: Home) -> int:
        asked.append(command[2:])
        return 3

    monkeypatch.setattr("conductor.judging.run_to_its_end", run)
    for name in ("first", "second", "results/latest"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "campaign.json").touch()
    assert cli.main(["report", str(tmp_path / "first")]) == 3
    assert cli.main(["verify", f"CAMPAIGN={tmp_path}/second"]) == 3
    assert cli.main(["verify", f"RESULTS={tmp_path}/results"]) == 3
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.tar").touch()
    assert cli.main(["verify", "c.tar", "STORE=file:///elsewhere"]) == 3
    assert cli.main(["archive", "first", "SLIM=1", "ARCHIVE=packed.tar", "STORE=kept"]) == 3
    assert asked == [
        ["evaluator", "report", str(tmp_path / "first")],
        ["evaluator", "verify", str(tmp_path / "second")],
        ["evaluator", "verify", str(tmp_path / "results" / "latest")],
        ["evaluator", "verify", str(tmp_path / "c.tar"), "STORE=/elsewhere"],
        [
            *("evaluator", "archive", str(tmp_path / "first"), "SLIM=1"),
            *(f"ARCHIVE={tmp_path}/packed.tar", f"STORE={tmp_path}/kept"),
        ],
    ]


def test_what_is_compared_are_folders_or_names_in_results_each_with_its_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], _home: Home) -> int:
        asked.append(command[3:])
        return 2

    monkeypatch.setattr("conductor.comparing.run_to_its_end", run)
    monkeypatch.chdir(tmp_path)
    for name in ("here", "kept/first", "kept/a:b=c"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "campaign.json").touch()
    (tmp_path / "kept" / "latest").symlink_to("first")
    kept = f"RESULTS={tmp_path}/kept"
    assert cli.main(["compare", "here", "latest:real-time/eager", kept]) == 2
    assert cli.main(["compare", "B=first:spark/real-time/eager", "A=here", kept, "JSON=1"]) == 2
    assert cli.main(["compare", "kept/a:b=c:x/y", "kept/a:b=c"]) == 2
    first, odd = f"{tmp_path}/kept/first", f"{tmp_path}/kept/a:b=c"
    assert asked == [
        ["compare", f"{tmp_path}/here", f"{first}:real-time/eager"],
        ["compare", f"{tmp_path}/here", f"{first}:spark/real-time/eager", "json"],
        ["compare", f"{odd}:x/y", odd],
    ]


def test_paths_are_shown_as_short_as_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli._shown(tmp_path / "results" / "report.html") == "results/report.html"
    assert cli._shown(Path("/elsewhere/report.html")) == "/elsewhere/report.html"
