"""The closing table: the answer first, then what it rests on."""

from __future__ import annotations

from typing import Any

from conductor.summary_claims import claims_lines
from conductor.summary_contest import contest_lines
from conductor.summary_doubts import doubts_counted, doubts_each
from conductor.text_table import aligned
from contract.results import CampaignFolder, read_json
from contract.workload import load_workload

VERDICTS = {
    "costs": "it costs",
    "saves": "it saves",
    "cannot-be-told": "cannot be told from zero",
    "too-few-runs": "no verdict below three runs each (REPEAT=3)",
}


def summary_lines(campaign: dict[str, Any], folder: CampaignFolder) -> list[str]:
    """What a user reads at the end of a campaign."""
    if campaign["verb"] == "reproduce":
        return claims_lines(campaign, folder)
    if campaign["verb"] == "compare":
        return [*contest_lines(campaign), *doubts_counted(campaign, folder)]
    lines = [campaign["question"], ""]
    lines += [f"  {sentence}" for sentence in _answers(campaign)]
    lines += ["", *_table(folder, campaign), ""]
    lines += doubts_each(campaign, folder)
    return lines


def _answers(campaign: dict[str, Any]) -> list[str]:
    wanted = campaign["stages"] if campaign["asked_all"] else campaign["stages"][-1:]
    prices = {p["stage"]: p for p in campaign["prices"] if p["attribution"] == "last"}
    figures = {f["stage"]: f for f in campaign["figures"] if f["attribution"] == "last"}
    said = []
    for stage in wanted:
        price, figure = prices.get(stage), figures.get(stage)
        if price is not None and price["price_ms"] is not None:
            said.append(
                f"{stage} costs {price['price_ms']:.1f} ms at the median, {_interval(price)}, over "
                f"{price['predecessor']}: {VERDICTS[price['verdict']]}"
            )
        elif figure is not None and figure["p50_ms"] is not None and not figure["valid_runs"]:
            said.append(
                f"no answer: no run of {stage} is valid, and its figures are not to be trusted; "
                f"why is said below"
            )
        elif figure is not None and figure["p50_ms"] is not None:
            said.append(
                f"all up to {stage} takes {figure['p50_ms']:.1f} ms at the median, "
                f"{_interval(figure)}{_why_no_price(campaign, stage)}"
            )
        else:
            said.append(f"{stage}: no figure; see below")
    return said


def _why_no_price(campaign: dict[str, Any], stage: str) -> str:
    """Where the stage before was run too, a price was owed."""
    before = load_workload(campaign["settings"]["workload"]).stage(stage).predecessor
    if before is None or before not in campaign["stages"]:
        return ""
    valid = {run["stage"] for run in campaign["runs"] if run["ended"] == "valid"}
    lacking = [name for name in (before, stage) if name not in valid]
    return f"; no price: there is no valid run of {' and '.join(lacking)}" if lacking else ""


def _interval(of: dict[str, Any]) -> str:
    if of["low_ms"] is None or of["high_ms"] is None:
        return "no interval"
    return f"95 % {of['low_ms']:.1f} to {of['high_ms']:.1f}"


def _table(folder: CampaignFolder, campaign: dict[str, Any]) -> list[str]:
    head = ("stage", "p50", "p95", "p99", "no stalls", "outputs", "out/s", "engine", "verdict")
    rows: list[tuple[str, ...]] = [head]
    for entry in campaign["runs"]:
        path = folder.path / entry["path"] / "run.json"
        if not path.exists():
            rows.append((entry["stage"], *["–"] * 7, entry["ended"] or "not run"))
            continue
        rows.append(_row(read_json(path)))
    lines = aligned(rows, left=(0, len(head) - 1))
    unit = "latency in ms from the last input's append; «no stalls»: median and p99 outside stalls"
    return [*lines, f"({unit})"]


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    last, calm = run["latency_ms"]["last"], run["latency_ms"]["last_outside_stalls"]
    outputs = run["outputs"]
    verdict = "valid" if run["valid"] else "INVALID"
    return (
        run["stage"],
        _ms(last["p50"]),
        _ms(last["p95"]),
        _ms(last["p99"]),
        f"{_ms(calm['p50'])} {_ms(calm['p99'])}",
        f"{_count(outputs['correct'])}/{_count(outputs['expected'])}",
        _ms(run["throughput"]["output_per_s"], 0),
        _cores(run),
        verdict,
    )


def _cores(run: dict[str, Any]) -> str:
    """What all processes of the engine used together."""
    own = run.get("engine_services") or [run["engine"]]
    used = [run["resources"].get(name, {}).get("cpu_cores_avg") for name in own]
    told = [cores for cores in used if cores is not None]
    return f"{sum(told):.2f} cores" if told else "–"


def _ms(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
