"""How long does the evaluation of a run take, and beside it DuckDB, for the same topics?

`make bench-evaluator MILLIONS='0.1 1 5 20'`: each size in processes of their own, one after the
other. DuckDB does what the evaluator's heart does, in SQL and nothing besides: it reads the same
Parquet files and their JSON, finds each output's inputs, compares all fields with what they
must be, writes a verdict for each, and tells the quantiles.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.topics import make_topics

_MIB = 1024**2
_MILLIONS = ("0.1", "1", "5", "20")
#: what DuckDB is given, as much as a run's evaluator
_MEMORY = "1GB"
#: a record's fields and DuckDB's types of them
_RECORD = {
    **dict.fromkeys(("internalId", "timestamp"), "VARCHAR"),
    **dict.fromkeys(("lat", "long", "speed"), "DOUBLE"),
    **dict.fromkeys(("flow", "period", "accuracy", "num_lanes"), "BIGINT"),
}


def ours(run_dir: Path, store: str) -> dict[str, object]:
    """The whole evaluation of a run whose topics were collected."""
    from evaluator.evaluate import evaluate_run
    from evaluator.hadoop import Hadoop

    evaluate_run(Hadoop(), run_dir, store, "c", collecting=False)
    told = json.loads((run_dir / "run.json").read_text())
    last = told["latency_ms"]["last"]
    return {"correct": told["outputs"]["correct"], "p50": last["p50"], "p99": last["p99"]}


def duckdb(run_dir: Path, store: str) -> dict[str, object]:
    """The lineage join, verdicts and quantiles in SQL."""
    import duckdb as peer

    stored = Path(store.removeprefix("file:"), "c", run_dir.name)
    told = json.loads((run_dir / "evidence" / "conditions.json").read_text())
    window, start_s = told["window"], told["event_start_s"]
    connection = peer.connect()
    connection.execute(f"SET threads = {len(os.sched_getaffinity(0))}")
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute(f"SET temp_directory = '{run_dir}/duckdb'")
    spec = json.dumps(_RECORD)
    whole = json.dumps({**_RECORD, "location": "VARCHAR", "lane": "VARCHAR"})
    connection.execute(
        f"""
        CREATE VIEW records AS
        SELECT kind, timestamp_ms, regexp_extract(k, '^(.+)/([^/]+)$', 1) AS location,
            regexp_extract(k, '^(.+)/([^/]+)$', 2) AS lane, said.*,
            CAST(said.timestamp AS TIMESTAMP) AS at,
            epoch(date_trunc('second', CAST(said.timestamp AS TIMESTAMP))) AS second
        FROM (
            SELECT kind, timestamp_ms, decode(key) AS k,
                from_json(decode(value), '{spec}') AS said
            FROM read_parquet('{stored}/inputs/*.parquet')
        );
        CREATE VIEW outputs AS
        SELECT timestamp_ms AS output_ms, "partition", "offset", decode(key) AS k,
            said.*, epoch(date_trunc('second', CAST(said.timestamp AS TIMESTAMP))) AS second
        FROM (
            SELECT *, from_json(decode(value), '{whole}') AS said
            FROM read_parquet('{stored}/outputs/*.parquet')
        );
        CREATE VIEW joined AS
        SELECT f.location, f.lane, f.second, f.lat, f.long, f.flow, s.speed, f.period,
            least(f.accuracy, s.accuracy) AS accuracy, f.num_lanes,
            (f.timestamp_ms + s.timestamp_ms) / 2 AS input_mean_ms,
            greatest(f.timestamp_ms, s.timestamp_ms) AS input_last_ms,
            greatest(epoch_ms(f.at), epoch_ms(s.at)) AS event_ms
        FROM records f JOIN records s USING (location, lane, second)
        WHERE f.kind = 'flow' AND s.kind = 'speed';
        CREATE VIEW numbered AS
        SELECT *, row_number() OVER (
            PARTITION BY location, lane, second ORDER BY output_ms, "partition", "offset"
        ) AS ordinal FROM outputs;
        COPY (
            SELECT coalesce(o.location, j.location) AS location, coalesce(o.lane, j.lane) AS lane,
                coalesce(o.second, j.second) - {start_s} AS slot, "partition", "offset",
                output_ms, input_mean_ms, input_last_ms, event_ms AS due_ms,
                CASE WHEN o.second IS NULL THEN 'missing' WHEN j.second IS NULL THEN 'unexpected'
                    WHEN ordinal > 1 THEN 'duplicate'
                    WHEN o.flow IS DISTINCT FROM j.flow OR o.period IS DISTINCT FROM j.period
                        OR o.accuracy IS DISTINCT FROM j.accuracy
                        OR o.num_lanes IS DISTINCT FROM j.num_lanes
                        OR abs(o.speed - j.speed) > 1e-9 * greatest(abs(o.speed), abs(j.speed))
                        OR abs(o.lat - j.lat) > 1e-9 * greatest(abs(o.lat), abs(j.lat))
                        OR abs(o.long - j.long) > 1e-9 * greatest(abs(o.long), abs(j.long))
                    THEN 'wrong' ELSE 'correct' END AS verdict
            FROM numbered o FULL OUTER JOIN joined j USING (location, lane, second)
        ) TO '{run_dir}/duckdb.parquet' (FORMAT parquet, COMPRESSION zstd);
        """
    )
    found = connection.execute(
        f"""
        SELECT count(*) FILTER (verdict = 'correct' AND slot <= {window["last_slot"]}),
            quantile_cont(output_ms - input_last_ms, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999])
                FILTER (slot BETWEEN {window["first_slot"]} AND {window["last_slot"]})
        FROM read_parquet('{run_dir}/duckdb.parquet')
        """
    ).fetchone()
    assert found is not None
    return {"correct": found[0], "p50": found[1][2], "p99": found[1][5]}


def install_peer(folder: Path) -> None:
    """DuckDB, for the time of the benchmark."""
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes"]
    words += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", str(folder)]
    subprocess.run([*words, "-r", str(Path(__file__).with_name("requirements.lock"))], check=True)


def alone(what: str, run_dir: Path, store: str, peer: Path) -> dict[str, object]:
    """Do it in a process of its own."""
    words = [sys.executable, "-m", "tests.bench.evaluator", what, str(run_dir), store]
    paths = filter(None, [os.environ.get("PYTHONPATH"), str(peer)])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        sys.exit(done.stderr)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(millions: float, peer: Path) -> None:
    """Both, for so many observations."""
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as root:
        began = time.monotonic()
        run_dir, store = make_topics(Path(root), round(millions * 1_000_000))
        # what is still to be written would be in the way of whoever is first
        os.sync()
        print(f"{millions:g} million observations, made in {time.monotonic() - began:.1f} s")
        for what in ("ours", "duckdb"):
            found = alone(what, run_dir, store, peer)
            told = "  ".join(f"{name} {value}" for name, value in found.items())
            print(f"  {what:8} {told}", flush=True)


def main(arguments: list[str]) -> None:
    """Sizes in millions; or, in a process of its own, one side of one size."""
    arguments = arguments or list(_MILLIONS)
    if arguments[0] in ("ours", "duckdb"):
        work = ours if arguments[0] == "ours" else duckdb
        began = time.monotonic()
        found = work(Path(arguments[1]), arguments[2])
        used = resource.getrusage(resource.RUSAGE_SELF)
        cost = {"s": round(time.monotonic() - began, 2)}
        cost |= {"cpu_s": round(used.ru_utime + used.ru_stime, 2)}
        print(json.dumps({**cost, "MiB": used.ru_maxrss * 1024 // _MIB, **found}))
        return
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as peer:
        install_peer(Path(peer))
        for millions in arguments:
            compare(float(millions), Path(peer))


if __name__ == "__main__":
    main(sys.argv[1:])
