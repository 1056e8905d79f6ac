"""Feed the brokers before a campaign's first run, to topics of its own: fresh ones are slow."""

from __future__ import annotations

import time

from conductor.progress import Progress
from conductor.run_plan import RunPlan
from conductor.runtime import Runtime
from conductor.topics import Cluster
from contract.engine import Topics
from contract.workload import load_workload

#: half a minute would be better; more than the engine's start would lengthen the campaign
REHEARSAL_S_MAX = 8.0
#: on top of that, for the publisher's own start and end
_PATIENCE_S = 20.0
_LOOK_S = 0.25


def rehearse(plan: RunPlan, runtime: Runtime, cluster: Cluster, progress: Progress) -> None:
    """Publish at the rate of the run to come; nobody reads it, and how it went decides nothing.

    What is published does not matter to brokers: a recording, which may take minutes to read, is
    left to the run. It is no longer than the warm-up: who shortens that is in a hurry.
    """
    settings = plan.settings
    span_s = min(REHEARSAL_S_MAX, settings.warmup_s)
    if span_s <= 0:
        return
    topics = Topics.of(f"{plan.run_id}-rehearsal", load_workload(settings.workload).kinds)
    names = list(topics.inputs.values())
    clock = runtime.clock_broker
    cluster.create(names, settings.partitions, settings.replication, settings.brokers, clock)
    evidence = runtime.scratch / "rehearsal"
    env = plan.publisher_environment(runtime.bootstrap_servers, topics, span_s)
    publisher = runtime.start_publisher(
        {**env, "SOURCE": "network", "EVIDENCE_DIR": str(evidence)},
        runtime.scratch / "rehearsal.log",
    )
    deadline = time.monotonic() + span_s + _PATIENCE_S
    try:
        while publisher.exit_code() is None and time.monotonic() < deadline:
            # what died besides is for the run to see
            if any(child is not publisher for child in runtime.dead()):
                return
            progress.tick("the brokers warm up on topics of their own")
            time.sleep(_LOOK_S)
    finally:
        publisher.kill()
        runtime.run_children.remove(publisher)
