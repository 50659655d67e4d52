"""The borrower's environments are simulations: the same episodes through agents and the scheduler, to the unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.gym_env import make_rows
from tests.gym_env.lending.by_scheduler import PlayedBySimulation
from tests.states import state_of

ROWS = 4
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("aave", {}),
    ("aave", {"actions": "continuous", "reward": "carry"}),
    ("aave", {"start": "fixed"}),
    ("aave-shock", {}),
    ("aave-shock", {"actions": "continuous", "reward": "carry"}),
    ("aave-shock", {"reward": "guarded", "health_factor": (1.05, 1.3)}),
    ("aave-shock", {"reward": "health", "step_blocks": 50_000, "health_factor": (1.05, 1.3)}),
    ("compound", {}),
    ("compound", {"actions": "continuous", "reward": "carry", "collateral_amount": (0.05, 5.0)}),
]


def played_alike(name: str, settings: dict[str, Any], first: int, horizon: int) -> int:
    """Play `ROWS` episodes from `first` on both ways, at random, and compare everything; how many were liquidated."""
    env = make_rows(name, ROWS + 1, split="test", horizon=horizon, **settings)
    rng = np.random.default_rng(first)
    episodes = list(range(first, first + ROWS))
    simulations = [PlayedBySimulation(env, each) for each in episodes]
    rows = list(range(ROWS))
    env.begin([*rows, ROWS], [*episodes, first])
    alive = np.ones(ROWS + 1, dtype=np.bool_)
    assert_same(env, simulations, alive)
    for _ in range(horizon):
        actions = np.array([_sampled(env, rng) for _ in range(ROWS + 1)])
        shares = env.shares_of(actions)
        stepped = env.step(actions, alive.copy())
        for row, simulation in enumerate(simulations):
            if alive[row]:
                reward, liquidated = simulation.step(int(shares[row]))
                assert stepped.rewards[row] == pytest.approx(reward, rel=1e-12, abs=1e-15)
                assert stepped.terminated[row] == liquidated
                assert "failed" not in simulation.statuses
        assert_same(env, simulations, alive)
        alive &= ~stepped.done
    return sum(each.liquidator.liquidated for each in simulations)


def _sampled(env: Any, rng: np.random.Generator) -> Any:
    if env.config.actions == "discrete":
        return rng.integers(len(env.shares_ppm))
    return np.array([rng.uniform(-1, 1) if rng.random() < 0.8 else rng.choice([-1.0, 1.0])], dtype=np.float32)


def assert_same(env: Any, simulations: list[PlayedBySimulation], alive: np.ndarray[Any, Any]) -> None:
    exact, seen = env.exact(), env.observe()
    for row, simulation in enumerate(simulations):
        if alive[row]:
            told = simulation.last
            assert {name: exact[name][row] for name in told} == told
            assert seen[row].tolist() == [float(each) for each in simulation.observation()]
            assert state_of(env.fleet.fork(row)) == state_of(simulation.fork)


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=lambda each: each if isinstance(each, str) else None)
def test_a_few_episodes_are_the_same_through_agents_and_the_scheduler(name: str, settings: dict[str, Any]) -> None:
    played_alike(name, settings, first=0, horizon=3)


@pytest.mark.slow
def test_two_hundred_episodes_are_the_same_through_agents_and_the_scheduler() -> None:
    liquidated = 0
    for number in range(50):
        name, settings = VARIANTS[number % len(VARIANTS)]
        liquidated += played_alike(name, settings, first=1_000 + number * ROWS, horizon=6 + number % 7)
    assert liquidated > 10
