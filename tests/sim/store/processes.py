"""Other processes that use a store at the same time: writers, and a shell that an analyst left open."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]

SHELL = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read-only")
connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
print("open", flush=True)
sys.stdin.read()
"""


def start_writer(path: Path, runs: int, steps: int, rows: int) -> subprocess.Popen[str]:
    words = [str(each) for each in (path, runs, steps, rows)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sim.store.writing", *words],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def open_shell(path: Path, mode: str = "read-write") -> Iterator[subprocess.Popen[str]]:
    """A DuckDB session of another process, open while the body runs."""
    shell = subprocess.Popen(
        [sys.executable, "-c", SHELL, str(path), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "open\n"
        yield shell
    finally:
        shell.communicate()
