"""Settings of agents that move price feeds."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import (
    model_validator,
)

from mayavi.scenarios.models.agents.shared import AgentSettings, Step, Steps
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.values.quantities import (
    Move,
    Positive,
    Symbol,
    fault,
)


class OracleShock(AgentSettings):
    """A move of a price feed: at once, in equal parts over `steps`, or along a `path` of prices."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"at", "size", "steps", "path"})

    kind: Literal["oracle_shock"]
    asset: Symbol
    """Token whose feeds it moves."""
    at: Step = 0
    """Step in which agents first see the change."""
    size: Move | None = None
    """Relative change, such as -25%."""
    steps: Steps = 1
    """Number of equal parts, one per step; 1 is at once."""
    path: Annotated[list[Positive], Mark.IN_STEPS] | None = None
    """Prices in US dollars, one per step from `at` on."""

    @model_validator(mode="after")
    def _one_way(self) -> OracleShock:
        if (self.size is None) == (self.path is None):
            raise fault("moves by a 'size' or along a 'path': one of the two")
        return self

    @property
    def last_change(self) -> int:
        """Last step at which it moves the feed."""
        if self.path is not None:
            return self.at + max(0, len(self.path) - 1)
        return self.at + (self.steps if self.steps > 1 else 0)
