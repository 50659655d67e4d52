"""`AgentBlock`: agents that act on the same state in one block of the chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mayavi.agents.base import Agent
from mayavi.errors import UsageError
from mayavi.sim.world_state import WorldState


@dataclass(frozen=True, slots=True)
class AgentBlock:
    """Agents that act on the same state, in one block of the chain (cadCAD's partial state update block)."""

    name: str
    agents: tuple[Agent, ...]
    by_name: tuple[Agent, ...] = field(init=False, repr=False, compare=False)
    """Agents sorted by name, the order in which they observe."""

    def __init__(self, name: str, agents: Sequence[Agent]) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "agents", tuple(agents))
        object.__setattr__(self, "by_name", tuple(sorted(agents, key=lambda agent: agent.name)))


def checked_blocks(world: WorldState, blocks: Sequence[AgentBlock]) -> tuple[AgentBlock, ...]:
    """Return the agent blocks; raise `UsageError` unless names are unique and all agents belong to the world."""
    if not any(block.agents for block in blocks):
        raise UsageError("a run without agents does nothing", "give at least one block with an agent in it")
    names = [block.name for block in blocks]
    if len(set(names)) < len(names):
        raise UsageError(f"two blocks have the same name: {', '.join(names)}", "give each block its own name")
    known = {id(agent) for agent in world.agents}
    for block in blocks:
        listed = [agent.name for agent in block.agents]
        if len(set(listed)) < len(listed):
            raise UsageError(f"an agent is listed twice in block '{block.name}'", "list it once")
        for agent in block.agents:
            if id(agent) not in known:
                raise UsageError(
                    f"agent '{agent.name}' of block '{block.name}' is not part of this world",
                    "give all agents to `WorldState` first",
                )
    return tuple(blocks)


def repeated_blocks(blocks: Sequence[AgentBlock]) -> tuple[AgentBlock, ...]:
    """Return the agents that act in every block of the chain, in their agent blocks."""
    own = ((block.name, [agent for agent in block.agents if agent.every_block]) for block in blocks)
    return tuple(AgentBlock(name, agents) for name, agents in own if agents)


def first_repeated(blocks: Sequence[AgentBlock]) -> int:
    """Return the place of the first agent block with an agent that acts in every block of the chain."""
    return next((at for at, block in enumerate(blocks) if any(each.every_block for each in block.agents)), len(blocks))
