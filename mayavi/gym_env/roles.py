"""Roles of an environment, with their spaces and strategies, and the outcome of a step.

A single-agent environment has one role with one agent. A market has several roles, each with a number of agents in
every row. Agents are ordered role by role: the borrowers first, then the liquidators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gymnasium import spaces

Floats = NDArray[np.float64]
Observations = NDArray[np.float32]
Script = Callable[[Any], NDArray[Any]]
"""Scripted strategy: takes the environment and returns the actions of all agents of a role."""

AGENT = "agent"
"""The role of a single-agent environment."""


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of agents that share spaces, strategies and, in training, one policy.

    Arrays of a role have the shape (rows, agents, …); in a single-agent environment the axis of agents is left out.
    """

    name: str
    agents: int
    """Number of agents in each row."""
    observation_space: spaces.Box
    action_space: spaces.Space[Any]
    strategies: Mapping[str, Script]
    reference: str = "noop"
    """Strategy of this role while strategies of another role are compared."""

    @property
    def agent_names(self) -> tuple[str, ...]:
        """`borrower_0`, `borrower_1`, …"""
        return tuple(f"{self.name}_{at}" for at in range(self.agents))


@dataclass(frozen=True, slots=True)
class Stepped:
    """Outcome of one step.

    Single-agent: observations (rows, entries), the rest (rows,). With several roles: observations and actions are
    mappings from a role's name to (rows, agents of the role, …), the rest is (rows, all agents).
    """

    observations: Any
    rewards: Floats
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    actions: Any = None
    """Played actions, clipped to the action space."""

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the episode, or the agent's part in it, is over."""
        return self.terminated | self.truncated


def clip_observations(space: spaces.Box, seen: Floats) -> Observations:
    """Clip `seen` to the bounds of `space`, as float32."""
    return np.clip(seen, space.low, space.high).astype(np.float32, copy=False)
