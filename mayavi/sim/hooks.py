"""What looks at a run from the side: it sees every action and reads the market, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mayavi.sim.rows import ActionRow, SnapshotRow

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState


class Hook:
    """Override what is needed. A hook reads; one that writes to the chain stops the run.

    `after_step` is called once before the first step too, with no actions and `world.step` -1: what it gives there is
    the market as the run found it.
    """

    def begin(self, world: WorldState) -> None:
        """All agents are prepared; the first step comes next."""

    def after_block(self, world: WorldState, block: str, actions: Sequence[ActionRow]) -> None:
        """The block named `block` was executed, and these are its actions. Time has not moved on yet."""

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        """All blocks of a step were executed, and these are their actions; figures of the market as rows."""
        return ()
