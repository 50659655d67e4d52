"""`Hook`: observe the actions of a run and read the chain, without changing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mayavi.sim.rows import ActionRow, SnapshotRow

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState


class Hook:
    """Base class of hooks. Override what you need; a hook that writes to the chain stops the run.

    `after_step` is also called once before the first step, with no actions and `world.step` -1, for the figures of the
    initial state.
    """

    def begin(self, world: WorldState) -> None:
        """Called once, when all agents are prepared."""

    def after_block(self, world: WorldState, block: str, actions: Sequence[ActionRow]) -> None:
        """Called after each agent block with its actions, before time passes."""

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        """Called after each step with its actions; return market figures to record."""
        return ()
