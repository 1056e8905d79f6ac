"""Find the reasons not to trust a run: pure functions of the facts, each a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from contract import doubts as limit
from contract.doubts import Doubt
from contract.results import QUANTILES
from evaluator.facts import Facts
from evaluator.trend import slope_over_window, thirds

LOG_APPEND_TIME = 1


def find_doubts(facts: Facts) -> list[Doubt]:
    """All doubts in a run, the grave ones first."""
    found = [doubt for check in _CHECKS for doubt in check(facts)]
    return sorted(found, key=lambda doubt: doubt.severity != "invalid")


def _sentence(says: str) -> str:
    """What another witness said, ended as a sentence."""
    return f"{says.rstrip(' .:')}."


def is_valid(doubts: list[Doubt]) -> bool:
    """Whether nothing grave was found."""
    return all(doubt.severity != "invalid" for doubt in doubts)


def _leaders(f: Facts) -> Iterator[Doubt]:
    before = {(x["topic"], x["partition"]): x for x in f.leaders_before}
    for place, look in before.items():
        if look["leader"] != f.clock_broker:
            says = (
                f"broker {look['leader']} led {place[0]}-{place[1]}, not the clock "
                f"{f.clock_broker}: append times come from several clocks."
            )
            yield Doubt("leader-moved", says)
            return
    if f.leaders_after is None:
        if before and not f.deaths and not f.interrupted:
            yield Doubt("leader-moved", "Nobody looked who led the topics after the run.")
        return
    after = {(x["topic"], x["partition"]): x for x in f.leaders_after}
    for place, look in before.items():
        now = after.get(place)
        if now is None or (now["leader"], now["epoch"]) != (look["leader"], look["epoch"]):
            told = "nobody" if now is None else f"broker {now['leader']} (epoch {now['epoch']})"
            says = (
                f"{place[0]}-{place[1]} was led by broker {look['leader']} (epoch "
                f"{look['epoch']}) before the run and by {told} after it."
            )
            yield Doubt("leader-moved", says)
            return


def _append_time(f: Facts) -> Iterator[Doubt]:
    other = sorted(t for t, kind in f.declared_types.items() if kind != "LogAppendTime")
    if other:
        says = f"{other[0]} has timestamps of type {f.declared_types[other[0]]}."
        yield Doubt("not-log-append-time", says)
    elif any(kind != LOG_APPEND_TIME for kind in f.collected_types):
        says = f"Records were collected with timestamp types {list(f.collected_types)}, not 1."
        yield Doubt("not-log-append-time", says)


def _clock(f: Facts) -> Iterator[Doubt]:
    most_ms = limit.CLOCK_STEP_MS_MAX
    if abs(f.clock_step_ms) > most_ms:
        says = f"The clock stepped by {f.clock_step_ms:.1f} ms; {most_ms:g} are allowed."
        yield Doubt("clock-stepped", says)
    elif f.append_back_ms > most_ms:
        says = (
            f"Append times fell back by {f.append_back_ms:.0f} ms along a partition; "
            f"{most_ms:g} are allowed."
        )
        yield Doubt("clock-stepped", says)
    if f.last_ms_min is not None and f.last_ms_min < 0:
        says = f"An output was appended {-f.last_ms_min:.0f} ms before the last of its inputs."
        yield Doubt("output-before-input", says)


def _publisher(f: Facts) -> Iterator[Doubt]:
    died = [d for d in f.deaths if str(d["service"]).startswith("publisher")]
    share = f.appended / f.scheduled if f.scheduled else 0.0
    if died:
        says = f"{died[0]['service']} ended with exit code {died[0].get('exit_code')}."
        yield Doubt("publisher-late", says)
    elif f.scheduled is None and f.not_collected is None:
        why = f": it was stopped when {f.deaths[0]['service']} had died" if f.deaths else ""
        yield Doubt("publisher-late", f"The publisher left no account of what it sent{why}.")
    elif f.scheduled and share < limit.APPENDED_SHARE_MIN and f.not_collected is None:
        says = (
            f"{f.appended} of {f.scheduled} scheduled records were appended "
            f"({share:.2%}); at least {limit.APPENDED_SHARE_MIN:.1%} must be."
        )
        yield Doubt("publisher-late", says)
    elif f.late_ms_p99 is not None and f.late_ms_p99 > limit.LATE_MS_P99_MAX:
        says = (
            f"One record in a hundred was sent {f.late_ms_p99:.1f} ms late or more; "
            f"{limit.LATE_MS_P99_MAX:g} are allowed."
        )
        yield Doubt("publisher-late", says)
    if f.disorder_ms_max is not None and f.disorder_ms > f.disorder_ms_max:
        says = (
            f"A record was appended {f.disorder_ms:.0f} ms of event time out of order; "
            f"the engine allows {f.disorder_ms_max:g}."
        )
        yield Doubt("publisher-disordered", says)


def _outputs(f: Facts) -> Iterator[Doubt]:
    excused = f.delivery == "at-least-once" and f.fault_injected
    names = ("missing", "duplicate", "wrong", "unexpected")
    faults = {name: getattr(f, name) for name in names}
    if excused:
        del faults["duplicate"]
    told = [f"{count} {name}" for name, count in faults.items() if count]
    if told:
        yield Doubt("outputs-wrong", f"Of the outputs {', '.join(told)}.")
    if f.hasty:
        by = f"by {f.hasty_ms_max:.0f} ms at most" if f.hasty_ms_max else "which never did"
        says = f"{f.hasty} of {f.samples} outputs came before their window could close, {by}."
        yield Doubt("window-not-kept", says)


def _sustained(f: Facts) -> Iterator[Doubt]:
    if f.never_ready is not None:
        yield Doubt("not-sustained", _sentence(f"The engine never got ready: {f.never_ready}"))
    elif not f.measured and not f.deaths and not f.interrupted:
        yield Doubt("not-sustained", "The run ended before a slot was measured.")
    elif not f.drained:
        yield Doubt("not-sustained", _sentence(f"The backlog did not drain: {f.drain_says}"))
    elif f.put_out < limit.PUT_OUT_SHARE_MIN * f.came:
        says = (
            f"Within the window {f.put_out} outputs came, while {f.came} came of its slots: "
            f"most were held back until it was over."
        )
        yield Doubt("not-sustained", says)
    elif f.last_ms_p50 is not None and len(f.slot_medians_ms) > 1:
        drift_ms = slope_over_window(f.slot_medians_ms)
        allowed_ms = max(limit.DRIFT_SHARE_OF_MEDIAN * f.last_ms_p50, limit.DRIFT_MS_MIN)
        if drift_ms > allowed_ms:
            says = (
                f"The slots' medians grew by {drift_ms:.0f} ms over the window; {allowed_ms:.0f} "
                f"are allowed at a median of {f.last_ms_p50:.0f} ms."
            )
            yield Doubt("not-sustained", says)
        elif _catches_up(f):
            first_ms, last_ms = thirds(f.slot_medians_ms)
            says = (
                f"The first third of the window had a median of {first_ms:.0f} ms and the last "
                f"third {last_ms:.0f} ms: the engine was still working off what came before."
            )
            yield Doubt("not-sustained", says)


def _catches_up(f: Facts) -> bool:
    first_ms, last_ms = thirds(f.slot_medians_ms)
    if first_ms is None or last_ms is None or f.last_ms_p50 is None:
        return False
    allowed_ms = max(limit.FALL_SHARE_OF_MEDIAN * f.last_ms_p50, limit.FALL_MS_MIN)
    return first_ms - last_ms > allowed_ms


def _deaths(f: Facts) -> Iterator[Doubt]:
    for death in f.deaths:
        service = str(death["service"])
        how = death.get("says") or f"ended with exit code {death.get('exit_code')}"
        says = f"{service} died: it {how}."
        if service.startswith("broker"):
            yield Doubt("broker-died", says)
        elif not service.startswith("publisher"):
            yield Doubt("engine-died", says)
    if f.not_collected is not None and not any(
        str(d["service"]).startswith("broker") for d in f.deaths
    ):
        says = _sentence(f"The topics could not be collected: {f.not_collected}")
        yield Doubt("interrupted" if f.interrupted else "broker-died", says)
    elif f.interrupted:
        yield Doubt("interrupted", "The run was interrupted.")


def _host(f: Facts) -> Iterator[Doubt]:
    if f.busy_share is not None and f.busy_share > limit.HOST_BUSY_SHARE:
        says = f"{f.busy_share:.0%} of the CPU was busy while measuring: the figure is the host's."
        yield Doubt("host-saturated", says)
    noise = {"stolen by the hypervisor": f.steal_share, "used by others": f.foreign_share}
    told = [
        f"{share:.0%} of the CPU was {how}"
        for how, share in noise.items()
        if share is not None and share > limit.HOST_NOISE_SHARE
    ]
    if told:
        yield Doubt("noisy-host", f"{' and '.join(told)} while measuring.")
    if not f.monitoring:
        yield Doubt("no-monitoring", "Nobody measured what the services used.")
    elif f.unseen:
        yield Doubt("no-monitoring", f"Nobody measured what {_few(f.unseen)} used.")
    if f.stood_in:
        says = (
            f"cAdvisor did not report all of {_few(f.stood_in)}: the Docker engine's own "
            f"statistics stand in, which are coarser."
        )
        yield Doubt("monitoring-stood-in", says)
    if f.swapped_bytes > 0:
        says = f"The machine swapped {f.swapped_bytes / 2**20:.1f} MiB out during the run."
        yield Doubt("swapping", says)
    if f.disk_free_bytes is not None and f.disk_free_bytes < limit.DISK_FREE_BYTES_MIN:
        says = f"Only {f.disk_free_bytes / 2**30:.1f} GiB of disk were free."
        yield Doubt("low-disk", says)


def _few(names: Sequence[str]) -> str:
    """A list that stays a sentence."""
    if len(names) <= _NAMED_MAX:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED_MAX])} and {len(names) - _NAMED_MAX} more"


def _figures(f: Facts) -> Iterator[Doubt]:
    if f.due_ms_p50 is not None and f.late_ms_p99 is not None:
        allowed_ms = max(limit.LATE_SHARE_OF_DUE * f.due_ms_p50, limit.LATE_MS_P99_NOTED)
        if f.late_ms_p99 > allowed_ms:
            says = (
                f"One record in a hundred was sent {f.late_ms_p99:.1f} ms late or more, at a "
                f"median `due` of {f.due_ms_p50:.1f} ms: `due` and `mean` are partly the "
                f"publisher's."
            )
            yield Doubt("late-publisher", says)
    if f.checkpoint_s and f.window_s is not None:
        held = f.window_s / f.checkpoint_s
        if held < limit.CHECKPOINTS_MIN:
            says = (
                f"The window of {f.window_s:g} s holds {held:.1f} checkpoints of "
                f"{f.checkpoint_s:g} s; a fair figure takes {limit.CHECKPOINTS_MIN}."
            )
            yield Doubt("few-checkpoints", says)
    if f.stalled > limit.STALLED_SHARE_MAX * f.samples:
        says = (
            f"{f.stalled / f.samples:.0%} of the outputs came in stalls: what is told of those "
            f"outside stalls is not the engine's figure."
        )
        yield Doubt("mostly-stalled", says)
    needed = limit.SAMPLES_BEYOND_QUANTILE
    # 1e-9: 10 000 samples have ten beyond the quantile 0.999, whatever 1 - 0.999 rounds to
    thin = [name for name, q in QUANTILES if f.samples * min(q, 1 - q) < needed - 1e-9]
    if f.samples and thin:
        says = f"Of {f.samples} samples fewer than {needed} lie beyond {', '.join(thin)}."
        yield Doubt("few-samples", says)
    first_ms, last_ms = thirds(f.slot_medians_ms)
    if first_ms is None or last_ms is None or _catches_up(f):
        return
    if first_ms > last_ms * (1 + limit.WARMING_SHARE) and first_ms - last_ms > limit.WARMING_MS_MIN:
        says = (
            f"The first third of the window had a median of {first_ms:.1f} ms and the last third "
            f"{last_ms:.1f} ms: the warm-up was too short (WARMUP= makes it longer)."
        )
        yield Doubt("warming", says)


#: services that a sentence names
_NAMED_MAX = 4
_CHECKS: tuple[Callable[[Facts], Iterator[Doubt]], ...] = (
    _leaders,
    _append_time,
    _clock,
    _publisher,
    _outputs,
    _sustained,
    _deaths,
    _host,
    _figures,
)
