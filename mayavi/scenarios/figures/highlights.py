"""Facts of a run that its printed summary names beside the KPIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.scenarios.figures.tally import ScenarioTally
    from mayavi.sim.market_snapshot import MarketSnapshotHook


@dataclass(frozen=True, slots=True)
class Highlights:
    """Failures and decisions by reason, agents that raised, the first liquidated account, first and last prices."""

    failures: Mapping[str, int]
    """Number of failed actions by reason, with the range of the amounts in it."""
    declined: Mapping[str, int]
    """Number of actions that agents decided against, by reason."""
    raised: Mapping[str, int]
    """Number of exceptions by agent."""
    first_liquidated: str
    """Account that was liquidated first; empty if none was."""
    price_moves: Mapping[str, tuple[float, float]]
    """Price before the first and after the last step, by the figure's subject."""

    @classmethod
    def of(cls, tally: ScenarioTally, snapshots: MarketSnapshotHook) -> Highlights:
        """Collect the highlights of a finished run."""
        from mayavi.sim.figure_table import number

        moves = {
            subject: (number(before.value, before.unit), number(after.value, after.unit))
            for (subject, metric), before in snapshots.first.items()
            if metric == "price" and (after := snapshots.latest.get((subject, metric))) is not None
        }
        first = next(iter(tally.liquidated_accounts), "")
        return cls(tally.failures.counts(), tally.decisions.counts(), dict(tally.raised_by), first, moves)

    def prices(self, subject: str | None, token: str) -> tuple[float, float] | None:
        """Return first and last price of `subject`, or if None those of `token` on the first market that lists it."""
        for of, move in self.price_moves.items():
            if of == subject or (subject is None and of.rpartition(".")[2] == token):
                return move
        return None
