"""However a run is laid apart, nothing is lost and the same is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.results import RunFolder, read_json
from evaluator import judging, latency
from evaluator.evaluate import evaluate_run
from evaluator.hadoop import Hadoop
from evaluator.identity import numbered
from evaluator.piles import Piles, by_text
from evaluator.workload import IDENTITY
from tests.unit.evaluator.synthetic import make_run

#: topics in a folder of this machine are judged without it
ROWS = pa.schema([("location", pa.string()), ("row", pa.int64())])
texts = st.sampled_from(["", "a", "b", "a/b", "é", "x" * 50])


@given(batches=st.lists(st.lists(texts, max_size=9)), number=st.integers(1, 5))
def test_every_row_is_on_the_pile_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]], number: int
) -> None:
    scratch = tmp_path_factory.mktemp("piles")
    piles, count = Piles("rows", ROWS, number, scratch), 0
    for batch in batches:
        numbers = range(count, count + len(batch))
        count += len(batch)
        rows = pa.table([pa.array(batch, pa.string()), pa.array(numbers, pa.int64())], ROWS)
        piles.lay(rows, by_text(rows["location"], number))
    found = [piles.take(pile) for pile in range(number)]
    assert all(column.num_chunks <= 1 for rows in found for column in rows.columns)
    assert sorted(pa.concat_tables(found)["row"].to_pylist()) == list(range(count))
    told = [set(rows["location"].to_pylist()) for rows in found]
    assert sum(map(len, told)) == len(set().union(*told))
    assert not list(scratch.iterdir())


@given(st.lists(st.lists(st.tuples(texts, st.integers(-2, 2)), max_size=9), min_size=1))
def test_the_same_identities_have_the_same_number_in_all_tables(
    told: list[list[tuple[str, int]]],
) -> None:
    schema = pa.schema([(n, pa.int64() if n == "second" else pa.string()) for n in IDENTITY])
    tables = [
        pa.Table.from_pylist(
            [{**dict.fromkeys(IDENTITY, text), "second": second} for text, second in rows], schema
        )
        for rows in told
    ]
    numbers, many = numbered(tables)
    of = [one for table in numbers for one in table.tolist()]
    identities = [identity for rows in told for identity in rows]
    assert [len(rows) for rows in told] == [table.size for table in numbers]
    assert len(set(zip(of, identities, strict=True))) == len(set(identities)) == len(set(of))
    assert set(of) <= set(range(many))


@pytest.mark.parametrize(
    ("stage", "cheat"),
    [
        *((stage, None) for stage in ("ingest", "parse", "join", "tumbling", "sliding")),
        *(("join", cheat) for cheat in ("double", "late_double", "junk", "truncated", "forged")),
    ],
)
def test_many_piles_say_what_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, cheat: str | None
) -> None:
    folder, store = make_run(tmp_path, stage=stage, cheat=cheat, locations=6)
    run = RunFolder(folder)

    def judged() -> tuple[dict[str, Any], list[Any], list[Any]]:
        evaluate_run(Hadoop(), folder, store, "c", collecting=False)
        verdicts = pq.read_table(tmp_path / "store" / "c" / folder.name / "verdicts")
        told = {k: v for k, v in read_json(run.run_json).items() if k != "phases_s"}
        order = [(name, "ascending") for name in ("partition", "offset", *IDENTITY[:3], "slot")]
        measured = pq.read_table(run.latency)
        by_output = [(name, "ascending") for name in ("slot", "output_ms", *IDENTITY[:3])]
        return told, verdicts.sort_by(order).to_pylist(), measured.sort_by(by_output).to_pylist()

    one = judged()
    monkeypatch.setattr(judging, "_RECORDS_PER_PILE", 90)
    monkeypatch.setattr(latency, "_SPAN_ROWS", 50)
    assert judged() == one
