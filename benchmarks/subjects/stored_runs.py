"""Check that the store holds every run exactly once, with all its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from mayavi.sim.rows import Row
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.store.database.row_conversion import MADE
from mayavi.sim.store.database.views import reading


def not_once(store: Path, run_ids: list[str]) -> list[str]:
    """Return what is wrong with runs that are not stored exactly once and finished, rows included.

    The store is opened once, and each table is read once.
    """
    rows: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    with reading(store) as connection:
        runs = connection.execute("SELECT run_id, digest FROM runs WHERE status = 'finished'").fetchall()
        for table, make in MADE.items():
            answer = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in answer.description or ()]
            for values in answer.fetchall():
                row = dict(zip(names, values, strict=True))
                rows[row["run_id"]].append((row["seq"], make(row)))
    counted, digests = Counter(run_id for run_id, _ in runs), dict(runs)
    wrong = [f"run {run_id} is stored {counted[run_id]} times" for run_id in run_ids if counted[run_id] != 1]
    wrong += [f"run {run_id} was never submitted" for run_id in counted.keys() - set(run_ids)]
    for run_id in run_ids:
        if counted[run_id] == 1 and _digest(rows[run_id]) != digests[run_id]:
            wrong.append(f"run {run_id} has lost or repeated rows")
    return wrong


def _digest(rows: list[tuple[int, Row]]) -> str:
    digest = RowsDigest()
    digest.add(row for _, row in sorted(rows, key=lambda each: each[0]))
    return digest.hexdigest()
