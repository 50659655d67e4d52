"""Exceptions in agents' code, from the actions of a run: whose step raised, when, and what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mayavi.sim.store.database.schema import literal
from mayavi.sim.traceback_text import RaisedText

if TYPE_CHECKING:
    from mayavi.sim.store.store import Store


@dataclass(frozen=True, slots=True)
class RaisedActions:
    """Actions of one agent and kind that raised the same error at the same place."""

    agent: str
    kind: str
    """Kind of the action; `step` if `Agent.step` itself raised."""
    step: int
    """Step of the first of them."""
    block: str
    account: str
    """Account of the first of them."""
    count: int
    traceback: str

    @property
    def raised(self) -> RaisedText:
        """Error, hint and place."""
        return RaisedText.parse(self.traceback)

    def __str__(self) -> str:
        whose = "" if self.account == self.agent else f" for {self.account}"
        when = f"in step {self.step}" if self.count == 1 else f"{self.count:,} times, first in step {self.step}"
        return f"agent '{self.agent}'{whose} raised {when}, block '{self.block}', {self.kind}: {self.raised}"


def raised_actions(store: Store, run_id: str) -> list[RaisedActions]:
    """Return the exceptions of a run, each once with its count, in order of their first appearance."""
    rows = store.sql(
        "SELECT agent, kind, arg_min(step, seq), arg_min(block, seq), arg_min(account, seq), count(*), reason"
        f" FROM actions WHERE run_id = {literal(run_id)} AND status = 'raised'"
        " GROUP BY agent, kind, reason ORDER BY min(seq)"
    ).fetchall()
    return [RaisedActions(*row) for row in rows]
