"""Check docs/reference/database.md: its tables match the schema, and its queries run."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from mayavi.sim.store import Store
from mayavi.sim.store.database import schema
from tests.pages import page
from tests.sim.store.sample_runs import store_run

PAGE = page("reference/database.md")
QUERIES = PAGE.blocks("sql")


def test_the_page_lists_every_table_and_column_with_its_type() -> None:
    found = {}
    for name, body in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE.text, re.DOTALL | re.MULTILINE):
        found[name] = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", body, re.MULTILINE))
    expected = {
        table: {column: schema.SQL_TYPES[kind] for column, kind in columns.items()}
        for table, columns in schema.TABLES.items()
    }
    assert found == expected
    assert [list(columns) for columns in found.values()] == [list(columns) for columns in expected.values()]


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("query", QUERIES, ids=[query.splitlines()[0][3:40] for query in QUERIES])
def test_the_queries_run_in_a_shell_and_through_the_store(tmp_path: Path, query: str) -> None:
    path = tmp_path / "runs.duckdb"
    for seed in (1, 1, 2):
        store_run(path, seed=seed)
    with duckdb.connect(path, read_only=True) as shell:
        assert shell.execute(query).fetchall()


def test_there_are_queries() -> None:
    assert len(QUERIES) >= 6


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_STORE", str(tmp_path / "runs.duckdb"))
    store_run(tmp_path / "runs.duckdb")
    space: dict = {}
    assert "depeg_cascade" in PAGE.execute(PAGE.only_block("python"), space)
    assert len(space["frame"]) == 12
    assert Store().path == tmp_path / "runs.duckdb"


def test_rows_that_wait_can_be_read_in_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("data/runs/runs.duckdb")
    store_run(path)
    with duckdb.connect(str(path), read_only=True) as shell:
        store_run(path)
        assert len(shell.execute(PAGE.block_starting("SELECT ")).fetchall()) == 12
