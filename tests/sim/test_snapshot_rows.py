"""Figures by column are the rows, and the digest, of figures one by one."""

from __future__ import annotations

import pickle

from mayavi import Fork
from mayavi.sim.figure_table import Figure, FigureIndex, FigureTable
from mayavi.sim.market_snapshot import MarketSnapshotHook
from mayavi.sim.rows import SnapshotRow
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.snapshot_rows import FigureRows, SnapshotRows
from mayavi.sim.world_state import WorldState

FIGURES = [Figure("AaveV3.WETH", "price", 256_292_440_000, "usd_e8"), Figure("alice", "health_factor", 10**18, "wad")]
ROWS = [
    SnapshotRow(2, 19, 1_700, "AaveV3.WETH", "price", "256292440000", 2562.9244, "usd_e8"),
    SnapshotRow(2, 19, 1_700, "alice", "health_factor", "1000000000000000000", 1.0, "wad"),
]


def digest(*parts: object) -> str:
    found = RowsDigest()
    for part in parts:
        found.add(part)  # type: ignore[arg-type]
    return found.hexdigest()


def test_a_table_is_its_figures() -> None:
    table = FigureTable.of(FIGURES)
    assert list(table) == FIGURES
    assert (table[0], table[-1], table[:1], len(table)) == (FIGURES[0], FIGURES[1], FIGURES[:1], 2)
    assert FigureTable.of(table) is table
    assert FigureTable.of(iter(FIGURES)).names is table.names
    assert list(FigureTable.of([])) == []


def test_rows_are_made_from_columns() -> None:
    rows = SnapshotRows([FigureRows((2, 19, 1_700), FigureTable.of(FIGURES))])
    assert rows == ROWS
    assert ROWS[1] == rows[-1]
    rows.add(ROWS[:1])
    rows.add([])
    assert (list(rows), len(rows), len(rows.parts)) == ([*ROWS, ROWS[0]], 3, 2)
    assert digest(rows) == digest(ROWS, ROWS[:1])
    copied = pickle.loads(pickle.dumps(rows))
    assert copied == rows
    assert digest(copied) == digest(rows)


def test_of_figures_with_one_name_the_last_counts() -> None:
    tables = [FigureTable.of(FIGURES), FigureTable.of([FIGURES[1]._replace(value=5)])]
    index = FigureIndex(tables)
    assert index["alice", "health_factor"].value == 5
    assert (len(index), list(index)) == (2, [each[:2] for each in FIGURES])
    assert index == {each[:2]: each for each in [FIGURES[0], tables[1][0]]}
    assert ("bob", "debt") not in index
    assert not FigureIndex()
    assert not FigureIndex([FigureTable.of([])])


class Flags:
    """Reader of a figure that is no plain integer."""

    def read(self, world: object, worth: object) -> list[Figure]:
        return [Figure("market", "paused", True, "count"), Figure("market", "blocks", 7, "count")]


def test_other_values_than_integers_are_rows_one_by_one(fork: Fork) -> None:
    rows = MarketSnapshotHook([Flags()]).after_step(WorldState(fork, [], seed=1), [])
    assert [(row.metric, row.value, row.number) for row in rows] == [("paused", "True", 1.0), ("blocks", "7", 7.0)]
    assert digest(rows) == digest(list(rows))
