"""The back matter: settings, machine and pins, how to check, what words mean."""

from __future__ import annotations

import shlex
from typing import Any

from evaluator.listing import listed
from evaluator.report.markup import Html, el, text
from evaluator.report.material import Campaign
from evaluator.report.table import data_table
from evaluator.report.words import NONE, dig, mapping, memory, number, plain, rows_of

WORDS = (
    (
        "last",
        "An output's append time less the append time of its last input: what the engine added. "
        "Prices are made of it.",
    ),
    (
        "mean",
        "The same, less the mean append time of all its inputs: as van Dongen et al. count. It "
        "holds the wait for the inputs to be complete.",
    ),
    (
        "due",
        "The same, less the time at which its last input was due: a publisher that lags cannot "
        "hide in it. Known only where publisher and clock share a machine.",
    ),
    (
        "gathering, residence, engine",
        "What “mean” is made of, output by output: from the mean of its inputs to the last of "
        "them; from then until its window may close (nought where nothing waits for a window); "
        "and the rest, which the engine added.",
    ),
    (
        "stall",
        "A gap in the outputs, while inputs arrive, of more than 100 ms and ten times the median "
        "latency, with what piled up behind it until it is worked off. “Outside stalls” leaves "
        "those outputs out; all other figures hold them.",
    ),
    (
        "price",
        "The median latency of a stage less that of its predecessor: a difference of medians of "
        "two populations. It may be negative. The interval is Student's over independent runs, "
        "widened by the clock's grain; of single runs a bootstrap over their slots.",
    ),
    ("slot", "One data minute: every lane reports one flow and one speed in it."),
    (
        "valid",
        "No doubt that makes a run invalid: outputs checked value by value against an independent "
        "computation, one steady clock, the load as ordered, the rate sustained.",
    ),
)
LABELS = {
    "rate": "rate, observations/s",
    "warmup_s": "warm-up, s",
    "duration_s": "measured, s",
    "cooldown_s": "cool-down, s",
    "checkpoint_s": "checkpoint, s",
    "temporal_scale": "temporal scale",
    "engine": "engine's settings",
}


def facts(pairs: list[tuple[str, Any]]) -> Html:
    """Names and values in two columns."""
    rows = [part for k, v in pairs for part in (el("dt", k), el("dd", plain(v)))]
    return el("dl", *rows, class_="facts")


def settings_section(campaign: Campaign) -> list[Html]:
    """What was ordered."""
    run = campaign.one
    variants = rows_of(campaign.json.get("variants"))
    engines = [f"{v.get('engine')} {v.get('engine_version') or ''}".strip() for v in variants]
    pairs_run = [f"{v.get('mode')}, {v.get('dialect')}" for v in variants]
    pairs: list[tuple[str, Any]] = [
        ("question", campaign.json.get("question")),
        ("stages", campaign.json.get("stages")),
        ("repetitions", campaign.json.get("repeat")),
        ("engine", ", ".join(dict.fromkeys(engines)) or None),
        ("mode, dialect", "; ".join(dict.fromkeys(pairs_run)) or None),
        ("delivery", _deliveries(campaign)),
        ("workload, runtime", f"{run.get('workload')}, {run.get('runtime')}" if run else None),
    ]
    settings = mapping(run.get("settings")) or mapping(campaign.json.get("settings"))
    if len({v.get("engine") for v in variants}) > 1:
        # each has its own, which stand side by side
        settings = {k: v for k, v in settings.items() if k != "engine"}
    pairs += [(LABELS.get(k, k.replace("_", " ")), v) for k, v in settings.items()]
    return [facts(pairs), *_lower_bounds(campaign)]


def _promises(campaign: Campaign) -> dict[str, str]:
    """Engine → what it promises after a crash."""
    told = [view.run for view in campaign.runs if view.run.get("delivery")]
    return {str(run.get("engine")): str(run["delivery"]) for run in told}


def _deliveries(campaign: Campaign) -> str | None:
    promises = _promises(campaign)
    if len(set(promises.values())) < 2:
        return next(iter(promises.values()), None)
    return "; ".join(f"{engine} {delivery}" for engine, delivery in promises.items())


def _lower_bounds(campaign: Campaign) -> list[Html]:
    promises = _promises(campaign)
    bound = [engine for engine, delivery in promises.items() if delivery == "exactly-once"]
    if not bound:
        return []
    who = "The engine declares" if len(promises) == 1 else f"{listed(bound)}: declared is"
    here = "here" if len(promises) == 1 else f"of {listed(bound)}"
    says = (
        f"{who} exactly-once delivery. If it commits in transactions it appends "
        f"before it commits, and a reader of committed records waits longer: then the latencies "
        f"{here} are lower bounds."
    )
    return [el("p", says, class_="note")]


def machine_section(campaign: Campaign) -> list[Html]:
    """Where it ran, and what exactly ran."""
    machine = dict(mapping(campaign.json.get("machine")))
    held = number(machine.pop("memory_bytes", None))
    pairs: list[tuple[str, Any]] = [(k.replace("_", " "), v) for k, v in machine.items()]
    pairs.append(("memory", memory(held)))
    pins = dict(mapping(campaign.json.get("pins")))
    packages = mapping(pins.pop("packages", None))
    pinned: list[tuple[str, Any]] = [(k.replace("_", " "), v) for k, v in pins.items()]
    parts = [el("h3", "Machine"), facts(pairs), el("h3", "Pins"), facts(pinned)]
    if packages:
        parts += [el("h3", "Packages"), facts(list(packages.items()))]
    return [*parts, *_containers(campaign)]


def _containers(campaign: Campaign) -> list[Html]:
    """Which image each service ran, and what it was allowed to take."""
    images, limits = (_of_all_runs(campaign, name) for name in ("images", "limits"))
    if not images:
        return []
    names = ("service", "image", "id", "CPUs", "on cores", "memory")
    head = [el("tr", *(el("th", name, scope="col", class_="left") for name in names))]
    rows = []
    for service, image in images.items():
        limit = mapping(limits.get(service))
        cells = (
            str(dig(image, "tag")),
            str(dig(image, "id")).removeprefix("sha256:")[:12],
            str(limit.get("cpus") or NONE),
            str(limit.get("cpuset") or NONE),
            memory(number(limit.get("memory_bytes"))),
        )
        named = el("th", service, scope="row", class_="name")
        rows.append(el("tr", named, *(el("td", cell) for cell in cells)))
    caption = "The image that each service ran, and what it was allowed to take."
    return [el("h3", "Containers and their limits"), data_table(caption, head, rows)]


def _of_all_runs(campaign: Campaign, name: str) -> dict[str, Any]:
    """Service → what is told of it; runs of several engines have several services."""
    found: dict[str, Any] = {}
    for view in campaign.runs:
        found = {**mapping(view.run.get(name)), **found}
    return found


def check_section(campaign: Campaign) -> list[Html]:
    """How a reader checks all this without trusting the report."""
    command = shlex.join(str(c) for c in campaign.json.get("command") or [])
    name = str(campaign.json.get("campaign_id") or campaign.path.name)
    parts = [
        el(
            "p",
            text("Every figure can be computed again from the samples beside this file, without "),
            text("Kafka and without Spark; the hash of every file is checked too:"),
        ),
        el("pre", f"./tollgate verify results/{name}", tabindex=0, aria_label="Command to check"),
    ]
    if command:
        parts.append(el("p", "To make the measurement again:"))
        parts.append(el("pre", f"./{command}", tabindex=0, aria_label="Command to repeat"))
    store = dig(campaign.json, "store_kept") or dig(campaign.json, "store")
    if store:
        parts.append(
            el("p", "The topics as they were collected, and the verdict on each output: ",
               el("code", str(store)), class_="note")
        )  # fmt: skip
    return parts


def words_section() -> list[Html]:
    """What the words mean."""
    rows = [part for k, v in WORDS for part in (el("dt", k), el("dd", v))]
    return [el("dl", *rows, class_="glossary words")]
