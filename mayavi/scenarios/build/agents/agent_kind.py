"""`AgentKind`: the settings model and the builder of one kind of agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mayavi.plugins.provenance import Provenance

if TYPE_CHECKING:
    from mayavi.agents.base import Agent
    from mayavi.scenarios.build.agents.agent_set import AgentSet
    from mayavi.scenarios.models.agents.shared import AgentSettings

Builder = Callable[["AgentSet", str, Any], "list[Agent]"]
"""Function `build(agents, name, settings)` that returns the agents of one entry of a scenario."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of agent: the model of its settings and its builder."""

    name: str
    model: type[AgentSettings]
    build: Builder
    last: bool = False
    """Build after all other kinds, because the builder reads their entries in the `AgentSet`."""
    provenance: Provenance | None = None
    """Where its code came from; None if it is built in."""


def numbered(name: str, number: int, count: int) -> str:
    """Return `bot`, or `bot-3` if there are several."""
    return name if count == 1 else f"{name}-{number}"
