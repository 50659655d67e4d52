"""Figures that the kernel writes are those that Python's integers, division and JSON give."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.records.figures import FigureNames, Figures, SnapshotColumns
from mayavi.records.parquet import parquet_bytes, table_bytes
from mayavi.sim.store.database.schema import TABLES

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
EXPONENTS = st.sampled_from([0, 1, 4, 6, 8, 18, 19, 20, 22, 23, 27])
SIZES = st.integers(1, 300).flatmap(lambda bits: st.integers(-(2**bits), 2**bits))
HALVES = st.builds(lambda whole, shift: whole << shift, st.integers(0, 2**53), st.integers(0, 80))
"""Floats with few digits after the point, some of which lie halfway between two shorter decimals."""
VALUES = st.one_of(SIZES, HALVES, st.integers(0, 2**64 - 1), EXPONENTS.map(lambda power: 10**power))
FIGURE = st.tuples(TEXTS, TEXTS, VALUES, EXPONENTS)


def figures_of(rows: Sequence[tuple[str, str, int, int]]) -> Figures:
    units = [f"e{exponent}" for *_, exponent in rows]
    scales = [10**exponent for *_, exponent in rows]
    names = FigureNames([row[0] for row in rows], [row[1] for row in rows], units, scales)
    return Figures(names, [row[2] for row in rows])


@given(rows=st.lists(FIGURE, max_size=20))
def test_texts_numbers_and_lines_are_those_of_python(rows: list[tuple[str, str, int, int]]) -> None:
    figures = figures_of(rows)
    numbers = [value / 10**exponent for *_, value, exponent in rows]
    assert figures.texts() == [str(value) for *_, value, _ in rows]
    assert figures.numbers() == numbers
    assert list(map(math.copysign, [1.0] * len(rows), figures.numbers())) == [
        math.copysign(1, each) for each in numbers
    ]
    lines = [
        json.dumps(
            ["SnapshotRow", 3, 19_000_000, 1_700_000_000, subject, metric, str(value), number, f"e{exponent}"],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for (subject, metric, value, exponent), number in zip(rows, numbers, strict=True)
    ]
    assert figures.lines(3, 19_000_000, 1_700_000_000).decode() == "".join(f"{line}\n" for line in lines)


@given(values=st.lists(st.integers(0, 2**64 - 1), min_size=1), exponent=EXPONENTS)
def test_arrays_give_the_same_as_lists(values: list[int], exponent: int) -> None:
    count = len(values)
    names = FigureNames(["s"] * count, ["m"] * count, ["u"] * count, [10**exponent] * count)
    array, listed = Figures(names, np.array(values, dtype=np.uint64)), Figures(names, values)
    assert (array.texts(), array.numbers()) == (listed.texts(), listed.numbers())


def test_halfway_between_two_decimals_the_even_digit_is_written() -> None:
    assert repr(2126130701460211170 / 10**4) == "212613070146021.12"  # 212613070146021.125
    assert b',212613070146021.12,"e4"]' in figures_of([("a", "b", 2126130701460211170, 4)]).lines(0, 0, 0)


@pytest.mark.parametrize("value", [True, 1.0, "1", np.int64(1), None])
def test_only_integers_are_figures(value: object) -> None:
    names = FigureNames(["s"], ["m"], ["u"], [1])
    with pytest.raises(TypeError):
        Figures(names, [value])  # type: ignore[list-item]


def test_names_and_values_have_one_length() -> None:
    with pytest.raises(ValueError, match="one length"):
        FigureNames(["s"], [], ["u"], [1])
    with pytest.raises(ValueError, match="2 values for 1 figures"):
        Figures(FigureNames(["s"], ["m"], ["u"], [1]), [1, 2])


@pytest.mark.parametrize("moments", [1, 40])
def test_columns_are_the_file_of_their_rows(moments: int) -> None:
    """Of two runs, with shared figures, equal names, and rows that were made one by one."""
    shared = figures_of([("AaveV3.WETH", "price", 2_562_924_400 + 7, 8), ("borrowers", "liquidatable", 0, 0)])
    columns, other = SnapshotColumns(), SnapshotColumns()
    rows: list[tuple[object, ...]] = []
    for run, into in (("RUN-1", columns), ("RUN-2", other)):
        number = 0
        for step in range(moments):
            own = figures_of([(f"alice-{step % 3}", "health_factor", 10**18 + step, 18)])
            moment = step, 19_000_000 + step, 1_700_000_000 + 12 * step
            for figures, named in (
                (shared, [("AaveV3.WETH", "price", "e8"), ("borrowers", "liquidatable", "e0")]),
                (own, [(f"alice-{step % 3}", "health_factor", "e18")]),
            ):
                into.add(run, number, moment, figures)
                for (subject, metric, unit), text, value in zip(named, figures.texts(), figures.numbers(), strict=True):
                    rows.append((run, number, *moment, subject, metric, text, value, unit))
                    number += 1
            single = (*moment, "pool", "price", "-5", -5.0, "count")
            into.add_rows(run, number, [single])
            rows.append((run, number, *single))
            number += 1
    columns.extend(other)
    assert (len(columns), len(other)) == (len(rows), 0)
    kinds = TABLES["market_snapshots"]
    listed = zip(kinds.items(), zip(*rows, strict=True), strict=True)
    assert table_bytes(columns, kinds) == parquet_bytes({name: (kind, values) for (name, kind), values in listed})  # type: ignore[misc]


def test_columns_of_a_file_have_one_length_and_a_known_kind() -> None:
    with pytest.raises(ValueError, match="column 'b' has 1 values, not 2"):
        parquet_bytes({"a": ("integer", [1, 2]), "b": ("text", ["x"])})
    with pytest.raises(ValueError, match="'money' is not a kind of column"):
        parquet_bytes({"a": ("money", [1])})  # type: ignore[dict-item]
    with pytest.raises(OverflowError):
        parquet_bytes({"a": ("integer", [2**63])})
