"""What our Parquet writer puts down, DuckDB reads back."""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.records.parquet import parquet_bytes

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 2**64 - 1),
        st.floats(allow_nan=False),
        TEXTS,
        st.sampled_from(["", "borrow", "répay"]),
        st.integers(0, 3),
    ),
    max_size=40,
)
NUMBERS = itertools.count()
KINDS = {"i": "integer", "u": "unsigned", "f": "float", "t": "text", "few": "text", "small": "integer"}


@pytest.fixture(scope="module")
def shell() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def read(content: bytes, folder: Path, shell: duckdb.DuckDBPyConnection) -> list[tuple]:
    file = folder / f"rows-{next(NUMBERS)}.parquet"  # a reader may remember what it saw under a name
    file.write_bytes(content)
    return shell.execute(f"SELECT * FROM read_parquet('{file}')").fetchall()


def written(rows: list[tuple]) -> bytes:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(KINDS)
    return parquet_bytes(
        {name: (kind, list(column)) for (name, kind), column in zip(KINDS.items(), columns, strict=True)}
    )


@given(rows=ROWS, repeat=st.sampled_from([1, 2, 50]))
def test_rows_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, shell: duckdb.DuckDBPyConnection, rows: list[tuple], repeat: int
) -> None:
    rows = rows * repeat
    found = read(written(rows), tmp_path_factory.getbasetemp(), shell)
    assert found == rows
    assert [struct.pack("d", row[2]) for row in found] == [struct.pack("d", row[2]) for row in rows]  # −0.0 too


@pytest.mark.slow(0.2)
@pytest.mark.parametrize("distinct", [1, 2, 3, 8, 9, 255, 257, 70_000])
@pytest.mark.parametrize("changing", [True, False])
def test_dictionaries_of_every_width_and_files_of_many_groups(
    tmp_path: Path, shell: duckdb.DuckDBPyConnection, distinct: int, changing: bool
) -> None:
    count = 300_000 if distinct in {3, 70_000} else 2000
    values = [f"v{i % distinct if changing else i * distinct // count}" for i in range(count)]
    content = parquet_bytes({"v": ("text", values), "n": ("integer", range(count))})
    assert read(content, tmp_path, shell) == list(zip(values, range(count), strict=True))


def test_the_bytes_depend_on_the_rows_alone() -> None:
    rows = [(i, 2**64 - 1 - i, i / 7, f"agent-{i}", "borrow" if i % 3 else "", i % 4) for i in range(1000)]
    assert (
        hashlib.sha256(written(rows)).hexdigest() == "b6ecdf618bc1e312dc600f9eb6860fe87d3d9244d29a8519a8bfcea30d5c7c0d"
    )
