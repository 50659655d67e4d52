"""Governance: changes of protocol parameters at given steps, as recorded actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mayavi.agents.base import Agent, Details, Intent, StepResult, World


@dataclass(frozen=True, slots=True)
class ParameterUpdate:
    """Change of parameters of one target, such as `aave_v3.WETH`, at a step.

    `apply` sends the transactions of the protocol's administrator and returns the values before and after.
    """

    step: int
    target: str
    apply: Callable[[], Details]


class GovernanceAgent(Agent):
    """Agent that changes protocol parameters: one intent per update, in the step it is planned for.

    An update that the protocol refuses fails with its reason and changes nothing.
    """

    def __init__(self, name: str, *, updates: Sequence[ParameterUpdate]) -> None:
        super().__init__(name)
        self.updates = tuple(updates)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Return the updates of this step."""
        del world
        due = [update for update in self.updates if update.step == step_idx]
        if not due:
            return self.rests("no change is due")
        return StepResult(tuple(Intent("set_parameters", each.apply, {"target": each.target}) for each in due))
