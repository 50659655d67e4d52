"""Scripted borrowers, as baselines. Each returns the actions of all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MILLION = 10**6
BAND = (1.3, 2.0)
"""Health factor below which `hold_band` repays, and the one above which it borrows."""

SPREAD_TARGET = 1.5
"""Target health factor of `follow_spread`."""


def noop(env: Any) -> NDArray[Any]:
    """Do nothing."""
    actions: NDArray[Any] = env.actions_for(np.zeros(env.rows, dtype=np.int64))
    return actions


def repay_all(env: Any) -> NDArray[Any]:
    """Repay as much as the wallet holds, then do nothing."""
    actions: NDArray[Any] = env.actions_for(np.full(env.rows, -MILLION))
    return actions


def hold_band(env: Any) -> NDArray[Any]:
    """Below a health factor of 1.3 repay to 1.65, the band's middle; above 2.0 borrow."""
    health, middle = env.health(), sum(BAND) / 2
    repaid = np.rint((1 - health / middle) * MILLION).astype(np.int64)
    shares = np.where(health < BAND[0], -np.maximum(repaid, 0), np.where(health > BAND[1], MILLION // 4, 0))
    actions: NDArray[Any] = env.actions_for(shares)
    return actions


def borrow_max(env: Any) -> NDArray[Any]:
    """Borrow as much as one action can, in every step."""
    actions: NDArray[Any] = env.actions_for(np.full(env.rows, MILLION))
    return actions


def follow_spread(env: Any) -> NDArray[Any]:
    """While dollars earn more than debt costs, aim at a health factor of 1.5; else repay all."""
    debt, target = env.figure("debt_value_e8"), env.figure("limit_e8") / SPREAD_TARGET
    earns = env.columns["cash_yield_ppm"] * 1e12 > env.figure("borrow_rate_wad")
    wanted = np.where(earns, target, 0.0)
    headroom = np.maximum(env.headroom_value_e8(), 1.0)
    repaid, borrowed = 1.0 - wanted / np.maximum(debt, 1.0), (wanted - debt) / headroom
    shares = np.where(wanted < debt, -repaid, np.clip(borrowed, 0.0, 1.0))
    actions: NDArray[Any] = env.actions_for(np.rint(shares * MILLION))
    return actions


STRATEGIES: dict[str, Callable[[Any], NDArray[Any]]] = {
    "noop": noop,
    "repay_all": repay_all,
    "hold_band": hold_band,
    "borrow_max": borrow_max,
    "follow_spread": follow_spread,
}
