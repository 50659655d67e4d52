"""Market columns derived from others, for simulated markets and for files that lack them."""

from __future__ import annotations

import numpy as np

from mayavi.markets.process import Floats
from mayavi.portfolio.market.assets import MI4_DOLLARS, MI4_WEIGHTS

ETH_SUPPLY, BTC_SUPPLY = 120.7e6, 19.9e6
"""Circulating supplies, in coins."""


def mi4_apy(meth_apy: Floats, usdy_apy: Floats, sol_staking_apy: float, dollar_spread: float) -> Floats:
    """Yield of MI4: ETH and SOL earn staking yields, dollars earn USDY's yield plus a spread."""
    total: Floats = meth_apy * MI4_WEIGHTS["eth_price"]
    total += MI4_DOLLARS * usdy_apy
    total += MI4_DOLLARS * dollar_spread + MI4_WEIGHTS["sol_price"] * sol_staking_apy
    return total


def btc_dominance(eth: Floats, btc: Floats, sol: Floats, start: Floats, out: Floats) -> None:
    """Write BTC's share of the total market capitalisation, in percent, into `out`, of shape (paths, hours).

    ETH and BTC count with price times supply. The other coins make up the rest at the first hour, where BTC's share is
    `start` (one number a path), and then move half with ETH and half with SOL.
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
    """Supply yield on Aave where borrowers pay `rate`."""
    earned: Floats = np.asarray(rate * (utilisation * (1.0 - reserve_factor)))
    return earned
