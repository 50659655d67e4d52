"""Columns of the market that follow from others: the same rules for a drawn market and for a file that lacks them."""

from __future__ import annotations

import numpy as np

from mayavi.markets.process import Floats
from mayavi.portfolio.market.assets import MI4_DOLLARS, MI4_WEIGHTS

ETH_SUPPLY, BTC_SUPPLY = 120.7e6, 19.9e6
"""Coins there are."""


def mi4_apy(meth_apy: Floats, usdy_apy: Floats, sol_staking_apy: float, dollar_spread: float) -> Floats:
    """What MI4's parts earn, as a yield on the whole of it: ETH and SOL staked, dollars USDY's and a spread."""
    total: Floats = meth_apy * MI4_WEIGHTS["eth_price"]
    total += MI4_DOLLARS * usdy_apy
    total += MI4_DOLLARS * dollar_spread + MI4_WEIGHTS["sol_price"] * sol_staking_apy
    return total


def btc_dominance(eth: Floats, btc: Floats, sol: Floats, start: Floats, out: Floats) -> None:
    """BTC's percent of what all coins are worth, into `out`: all arrays (paths, hours), `start` one number a path.

    ETH and BTC are worth their prices times their supplies; all other coins so much at the first hour that BTC has
    `start`, and then they move half as ETH does, half as SOL.
    """
    btc_first, eth_first = BTC_SUPPLY * btc[:, 0], ETH_SUPPLY * eth[:, 0]
    others = np.maximum(btc_first * (100.0 / np.clip(start, 1.0, 99.0) - 1.0) - eth_first, 0.0)
    np.multiply(btc, BTC_SUPPLY, out=out)
    rest = eth * (ETH_SUPPLY + 0.5 * others / eth[:, 0])[:, None]
    rest += sol * (0.5 * others / sol[:, 0])[:, None]
    rest += out
    out *= 100.0
    out /= rest


def utilised(rate: Floats | float, utilisation: float, reserve_factor: float) -> Floats:
    """What a lender on Aave earns where borrowers pay `rate`."""
    earned: Floats = np.asarray(rate * (utilisation * (1.0 - reserve_factor)))
    return earned
