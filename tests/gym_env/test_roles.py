"""Roles: a single-agent environment has one role with one agent, a market several."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import BadArgument, UsageError
from mayavi.gym_env import make_rows
from mayavi.gym_env.roles import AGENT


def test_a_single_agent_environment_has_one_role_with_one_agent() -> None:
    env = make_rows("aave", 3)
    (role,) = env.roles
    assert (role.name, role.agents, role.agent_names) == (AGENT, 1, ("agent_0",))
    assert env.role() == env.role(AGENT)
    assert (role.observation_space, role.action_space) == (env.observation_space, env.action_space)
    assert role.strategies is env.strategies
    assert env.role_agents == {AGENT: slice(0, 1)}
    assert env.acting().tolist() == [[True]] * 3
    with pytest.raises(UsageError, match="'aave' has no role 'lender'"):
        env.role("lender")


def test_actions_are_given_back_as_they_were_played() -> None:
    env = make_rows("aave", 3, actions="continuous")
    env.begin(range(3), range(3))
    stepped = env.step(np.array([[-3.0], [0.5], [1.0]]), np.array([True, True, False]))
    assert stepped.actions.tolist() == [[-1.0], [0.5], [0.0]]
    assert env.clipped_by_agent.tolist() == [[1], [0], [0]]


def test_a_market_takes_the_actions_of_all_roles_by_name() -> None:
    env = make_rows("market", 2, borrowers=3, horizon=4)
    assert env.agents == ("borrower_0", "borrower_1", "borrower_2", "liquidator_0", "liquidator_1")
    assert env.role_agents == {"borrower": slice(0, 3), "liquidator": slice(3, 5)}
    env.begin([0, 1], [0, 1])
    nothing = {"borrower": np.zeros((2, 3), dtype=np.int64), "liquidator": np.zeros((2, 2), dtype=np.int64)}
    stepped = env.step(nothing)
    assert {role: seen.shape[:2] for role, seen in stepped.observations.items()} == {
        "borrower": (2, 3),
        "liquidator": (2, 2),
    }
    assert stepped.rewards.shape == stepped.done.shape == (2, 5)
    for wrong in (nothing["borrower"], {"borrower": nothing["borrower"]}, nothing | {"lender": np.zeros((2, 1))}):
        with pytest.raises(BadArgument, match="'market' takes actions by role"):
            env.step(wrong)
    with pytest.raises(UsageError, match="several roles"):
        env.role()
