"""Settings that all kinds of agents share."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.values.quantities import Wei
from mayavi.settings.model import Model

Protocol = Literal["aave_v3", "spark", "compound_v3", "aave_v2", "morpho"]
BehaviourName = Literal["hold", "band", "panic"]
Count = Annotated[int, Field(ge=1, le=100_000)]
Step = Annotated[int, Field(ge=0, le=10_000_000), Mark.IN_STEPS]
Steps = Annotated[int, Field(ge=1, le=10_000_000), Mark.IN_STEPS]


class AgentSettings(Model):
    """Settings that all kinds share. A kind is a subclass with `kind: Literal["…"]`."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"kind", "protocol"})
    """Fields that are no assumptions, and that `mayavi sensitivity` leaves alone; subclasses add theirs."""

    priority_fee: Wei = 0
    """Tip of its transactions above the base fee; it decides the order where `ordering` is priority_fee."""


class OwnAgentSettings(AgentSettings):
    """Settings of an agent kind of one's own: subclass it as `Settings` of the agent, and add its keys."""

    kind: str
    """Import path of the agent, `my_agents:Saver`, or the name of an entry point."""
    count: Count = 1
    """Number of agents; distributions are drawn for each."""
