"""Actions of a liquidator: the rank of an account, and the share of its largest allowed repayment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.gym_env.liquidator.config import LiquidatorConfig
from mayavi.gym_env.roles import Floats

SHARES = (0.25, 0.5, 1.0)
"""Discrete choices: shares of the largest repayment that the close factor allows."""


def action_space(config: LiquidatorConfig) -> spaces.Space[Any]:
    """Discrete: 0 waits, 1 + 3 · rank + k pays `SHARES[k]`. Continuous: rank and share, each from -1 to 1."""
    if config.actions == "discrete":
        return spaces.Discrete(1 + len(SHARES) * config.borrowers)
    return spaces.Box(-1.0, 1.0, (2,), np.float32)


def decode(config: LiquidatorConfig, actions: NDArray[Any]) -> tuple[NDArray[np.int64], Floats]:
    """Rank and share of each action; a share of zero waits."""
    count = config.borrowers
    if config.actions == "discrete":
        rank, which = np.divmod(np.maximum(actions - 1, 0), len(SHARES))
        return rank, np.where(actions > 0, np.array(SHARES)[which], 0.0)
    rank = np.minimum(((actions[..., 0] + 1) / 2 * count).astype(np.int64), count - 1)
    return rank, np.maximum(actions[..., 1], 0.0)


def encode(config: LiquidatorConfig, rank: NDArray[np.int64], share: Floats) -> NDArray[Any]:
    """Actions that pay `share` for the account of `rank`; a share of zero waits."""
    if config.actions == "discrete":
        which = np.searchsorted(np.array(SHARES), share)
        return np.where(share > 0, 1 + rank * len(SHARES) + np.minimum(which, len(SHARES) - 1), 0)
    centre = (2 * rank + 1) / config.borrowers - 1
    return np.stack((centre, share), axis=1).astype(np.float32)
