"""Random play of a market, whose agents all act at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from mayavi.markets.streams import stream

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.market_rows import AaveMarketRows
    from mayavi.gym_env.rows import Floats, RowsEnv


def play_market(env: RowsEnv[Any], episodes: Sequence[int], *, seed: int) -> Floats:
    """The sum of all agents' rewards of each episode, played at random; an episode's actions follow from its number."""
    rows = cast("AaveMarketRows", env)
    return np.concatenate(
        [_batch(rows, episodes[at : at + rows.rows], seed) for at in range(0, len(episodes), rows.rows)]
    )


def _batch(rows: AaveMarketRows, episodes: Sequence[int], seed: int) -> Floats:
    count = len(episodes)
    filled = [*episodes, *(episodes[-1] for _ in range(rows.rows - count))]
    rows.begin(range(rows.rows), filled)
    chances = [stream(seed, "random play", rows.name, str(episode)) for episode in filled]
    earned = np.zeros(rows.rows)
    live = np.arange(rows.rows) < count
    for _ in range(rows.config.horizon):
        borrowers = [_drawn(rows.borrower_actions, rows.config.borrowers, chance) for chance in chances]
        liquidators = [_drawn(rows.liquidator_actions, rows.config.liquidators, chance) for chance in chances]
        stepped = rows.step_all(np.stack(borrowers), np.stack(liquidators), live)
        earned += np.where(live, stepped.rewards.sum(axis=1), 0.0)
        live = live & rows.acting().any(axis=1)
        if not live.any():
            break
    return earned[:count]


def _drawn(space: spaces.Space[Any], agents: int, chance: np.random.Generator) -> NDArray[Any]:
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return np.asarray(chance.integers(int(space.n), size=agents) + int(space.start))
    assert isinstance(space, spaces.Box)
    return np.asarray(chance.uniform(space.low, space.high, (agents, *space.shape)))
