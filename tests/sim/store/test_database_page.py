"""docs/database.md tells the truth: its tables are those of a database, its queries run."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from mayavi.sim.store import Store, schema
from tests.sim.store.sample_runs import store_run

PAGE = (Path(__file__).resolve().parents[3] / "docs/database.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_lists_every_table_and_column_with_its_type() -> None:
    found = {}
    for name, body in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE):
        found[name] = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", body, re.MULTILINE))
    expected = {
        table: {column: schema.SQL_TYPES[kind] for column, kind in columns.items()}
        for table, columns in schema.TABLES.items()
    }
    assert found == expected
    assert [list(columns) for columns in found.values()] == [list(columns) for columns in expected.values()]


@pytest.mark.parametrize("query", QUERIES, ids=[query.splitlines()[0][3:40] for query in QUERIES])
def test_the_queries_run_in_a_shell_and_through_the_store(tmp_path: Path, query: str) -> None:
    path = tmp_path / "runs.duckdb"
    for seed in (1, 1, 2):
        store_run(path, seed=seed)
    with duckdb.connect(path, read_only=True) as shell:
        assert shell.execute(query).fetchall()


def test_there_are_queries() -> None:
    assert len(QUERIES) >= 6


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("MAYAVI_STORE", str(tmp_path / "runs.duckdb"))
    store_run(tmp_path / "runs.duckdb")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    space: dict = {}
    exec(compile(example, "docs/database.md", "exec"), space)
    assert "depeg_cascade" in capsys.readouterr().out
    assert len(space["frame"]) == 12
    assert Store().path == tmp_path / "runs.duckdb"


def test_rows_that_wait_can_be_read_in_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("data/runs/runs.duckdb")
    store_run(path)
    with duckdb.connect(str(path), read_only=True) as shell:
        store_run(path)
        (query,) = re.findall(r"```\n(SELECT .*?)```", PAGE, re.DOTALL)
        assert len(shell.execute(query).fetchall()) == 12
