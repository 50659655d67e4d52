"""Largest fall and largest rise of each price from one step to the next, jumps included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mayavi.report.sources.quoting import quoted_list

if TYPE_CHECKING:
    from mayavi.sim.store import Store

FALL, RISE = "largest_step_fall", "largest_step_rise"
"""Names of the two figures; the KPI `largest_fall` leaves out the jumps that a scenario asks for."""
_MOVES = """
SELECT run_id, subject, least(min(move), 0), greatest(max(move), 0) FROM (
    SELECT run_id, subject, number / lag(number) OVER (PARTITION BY run_id, subject ORDER BY step, seq) - 1 AS move
    FROM market_snapshots WHERE metric = 'market_price' AND run_id IN {runs} AND number > 0
) WHERE move IS NOT NULL GROUP BY run_id, subject ORDER BY run_id, subject
"""


def price_moves(store: Store, run_ids: Iterable[str]) -> list[tuple[str, str, float]]:
    """Return (run id, name of the figure, share) for every market price of the runs."""
    found = []
    for run_id, token, fall, rise in store.sql(_MOVES.format(runs=quoted_list(run_ids))).fetchall():
        found += [(run_id, f"{FALL}.{token}", fall), (run_id, f"{RISE}.{token}", rise)]
    return found
