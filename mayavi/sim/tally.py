"""Totals of one run, counted in a single pass over its action rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mayavi.sim.rows import ActionRow, RunCounts, SnapshotRow

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState


class RunTally:
    """Running totals of a run. Each action row is counted once; the digest, the store and the KPIs read the totals.

    The scheduler calls `begin` before the first step and `add_step` after each step, before time passes. A subclass
    may extend both methods to compute further totals. They may read the chain but never write to it.
    """

    def __init__(self) -> None:
        self.steps_done = 0
        self.rows = 0
        """Number of action rows, including those of agents that rest."""
        self.actions = self.failed = self.raised = 0
        """Number of actions, and of those that failed or raised; what an agent declined is no action."""
        self.transactions = self.gas_used = self.fees_wei = 0
        self.snapshots = 0

    def begin(self, world: WorldState) -> None:
        """Read initial values for later comparison; called once, after all agents are prepared."""

    def add_step(self, world: WorldState, actions: Sequence[ActionRow]) -> None:
        """Add the actions of one step."""
        for row in actions:
            self.count(row)

    def count(self, row: ActionRow) -> None:
        """Add one action to the totals that need no chain reads."""
        self.rows += 1
        if row.kind == "rest" and row.position < 0:
            return
        if row.status == "declined":
            return
        self.actions += 1
        self.transactions += row.transactions
        self.gas_used += row.gas_used
        self.fees_wei += int(row.fee_wei)
        if row.status == "failed":
            self.failed += 1
        elif row.status == "raised":
            self.raised += 1

    def end_step(self, actions: Sequence[ActionRow], snapshots: Sequence[SnapshotRow], done: int = 0) -> RunCounts:
        """Finish a step after `add_step`, and return the row counts so far; `done` counts steps, also without rows."""
        if not done:
            last = actions[-1].step if actions else snapshots[-1].step if snapshots else -1
            done = last + 1
        self.steps_done = max(self.steps_done, done)
        self.snapshots += len(snapshots)
        return RunCounts(self.steps_done, self.rows, self.failed, self.raised, self.snapshots)
