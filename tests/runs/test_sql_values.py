"""Values written as SQL are read back as they were, and no query of ours makes DuckDB import pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from mayavi.runs.sql_values import filled, sql_value

VALUES = [None, True, False, 0, -7, 2**62, 0.1, -1e-300, 1e22, "", "it's", "a?b", "ü\n", ["a", "b'c"], [1, 2]]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_back_as_it_was(value: object) -> None:
    with duckdb.connect() as database:
        ((found,),) = database.execute(f"SELECT {sql_value(value)}").fetchall()
    assert found == value
    assert type(found) is type(value)


def test_values_take_the_places_of_question_marks() -> None:
    assert filled("a = ? AND b IN (?)", ["it's?", 3]) == "a = 'it''s?' AND b IN (3)"
    with pytest.raises(ValueError, match="zip"):
        filled("a = ?", [1, 2])


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="a value of type bytes cannot be written as SQL"):
        sql_value(b"\x00")


QUERIES = """
import sys
from pathlib import Path
import duckdb, mayavi
from mayavi.markets.table_file import read_all
from mayavi.replay.history.store import HistoryStore, Scan
folder = Path(sys.argv[1])
for resumed in (0, 2):
    found = mayavi.sweep("aave_borrower", seeds="0:2", steps=1, store=folder / "runs.duckdb", jobs=1)
    assert found.resumed == resumed, found.resumed
with HistoryStore(folder / "history.duckdb") as store:
    scan = Scan(1, bytes(32), "", "none")
    store.forget(scan, 1, 2)
    assert (store.done(scan, 1, 2), store.differences(scan, 1, 2), store.totals(scan, 1, 2)["blocks"]) == ({}, [], 0)
with duckdb.connect() as database:
    database.execute(f"COPY (SELECT 1 AS a) TO '{folder}/a.parquet'")
assert read_all(folder / "a.parquet").names == ["a"]
print("pandas" in sys.modules)
"""


@pytest.mark.slow(2)
def test_sweeps_replays_and_price_files_do_without_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    command = [sys.executable, "-c", QUERIES, str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (0, "False\n"), finished.stderr
