"""The same seed is the same episode, alone, in a batch and on several threads."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from mayavi.gym_env.registry import make_single
from mayavi.portfolio.market.data import ASSETS
from tests.portfolio.env.rows import rwa


def played_alone(env: gymnasium.Env[Any, Any], seed: int, actions: NDArray[np.float32]) -> list[Any]:
    seen, info = env.reset(seed=seed)
    told = [(seen.tolist(), info["portfolio_value"])]
    for action in actions:
        seen, reward, terminated, truncated, info = env.step(action)
        told.append((seen.tolist(), reward, terminated, truncated, info["portfolio_value"], info["weights"]))
        if terminated or truncated:
            break
    return told


@pytest.mark.slow(7)
@pytest.mark.parametrize(("horizon", "each_end"), [(36, 200), (720, 6)], ids=["every row", "a month"])
def test_a_batch_is_two_hundred_single_environments(horizon: int, each_end: int) -> None:
    """Compare a batch with single environments: all rows of a day and a half, the first and last six of a month."""
    count = 200
    settings: dict[str, Any] = {"horizon": horizon, "stop_drawdown": 0.02 if horizon < 100 else 0.15}
    batch = gymnasium.make_vec("mayavi/RWAYield-v0", count, vectorization_mode="vector_entry_point", **settings)
    single = gymnasium.make("mayavi/RWAYield-v0", **settings)
    wishes = np.random.default_rng(3).uniform(-1, 1, (horizon // 12, count, 3)).astype(np.float32)
    actions = np.repeat(wishes, 12, axis=0)  # who wants something else every hour is ruined by its costs
    seen, infos = batch.reset(seed=100)
    told: list[list[Any]] = [[(seen[row].tolist(), infos["portfolio_value"][row])] for row in range(count)]
    assert len({row.tobytes() for row in seen}) == count  # each a market of its own
    over, ruined = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for action in actions:
        seen, rewards, terminated, truncated, infos = batch.step(action)
        for row in np.flatnonzero(~over):
            fact = (seen[row].tolist(), rewards[row], terminated[row], truncated[row])
            weights = {asset: infos["weights"][asset][row] for asset in ASSETS}
            told[row].append((*fact, infos["portfolio_value"][row], weights))
        ruined |= terminated & ~over
        over |= terminated | truncated
    some = [np.flatnonzero(which)[:each_end].tolist() for which in (ruined, ~ruined)]
    compared = {0, count - 1, *some[0], *some[1]}
    for row in sorted(compared):
        assert played_alone(single, 100 + row, actions[:, row]) == told[row]
    ends = {told[row][-1][2:4] for row in compared}
    assert {(True, False), (False, True)} == ends
    assert len(compared) == count if horizon < 100 else len(compared) >= 2 * each_end


def test_paths_drawn_on_several_threads_are_those_drawn_on_one() -> None:
    told = []
    for threads in (1, 2, 5):
        env = rwa(130, horizon=48, threads=threads)
        env.begin(range(130), range(130))
        env.begin([7, 99], [1_000, 1_001])
        for at in range(3):
            env.step(np.random.default_rng(at).uniform(-1, 1, (130, 3)))
        told.append((env.observe().tobytes(), env.columns["value"].tobytes(), env.identities(np.arange(130))))
    assert told[0] == told[1] == told[2]


def test_the_same_seed_is_the_same_episode_and_another_is_another() -> None:
    env, again = make_single("rwa", horizon=20), make_single("rwa", horizon=20)
    actions = np.random.default_rng(9).uniform(-1, 1, (20, 3)).astype(np.float32)
    assert played_alone(env, 5, actions) == played_alone(again, 5, actions)
    assert played_alone(env, 6, actions) != played_alone(again, 5, actions)
