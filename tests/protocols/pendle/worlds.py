"""Pendle markets for its tests."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from mayavi import Fork
from mayavi.protocols import PendleMarket
from mayavi.worlds.deploy.pendle import create_pendle_market

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
DAY = 86_400


class Made(NamedTuple):
    """A market to make: its yield token and asset, terms, and days to expiry."""

    token: str
    asset: str | None
    rate: str
    growth: str
    implied: str
    days: int
    scalar_root: str
    fee: str


MARKETS = (
    Made("sDAI", "DAI", "1.05", "0.05", "0.05", 180, "75", "0.001"),
    Made("wstETH", "WETH", "1.1547", "0.034", "0.031", 700, "110.5", "0.0005"),
    Made("USDC", None, "1", "0.12", "0.145", 30, "20.123456789", "0.003"),
    Made("WBTC", None, "1", "0", "0.007", 3, "400", "0.0001"),
)


@cache
def _world() -> tuple[Fork, dict[str, str]]:
    fork = Fork.replica("ethereum", hardfork="cancun")
    labels = {}
    for made in MARKETS:
        fork.deal(made.token, ALICE, 10**30)
        expiry = (fork.timestamp // DAY + made.days) * DAY
        contracts = create_pendle_market(
            fork,
            made.token,
            expiry=expiry,
            implied_rate=made.implied,
            rate=made.rate,
            growth=made.growth,
            asset=made.asset,
            scalar_root=made.scalar_root,
            fee=made.fee,
        )
        labels[made.token] = contracts.market
        market = PendleMarket(fork, contracts.market)
        unit = 10**market.sy.decimals
        market.wrap(10**9 * unit, sender=ALICE)
        market.mint_py(3 * 10**8 * unit, sender=ALICE)
    return fork, labels


def open_market(made: Made, *, liquid: bool = True) -> PendleMarket:
    """Open a fresh market; alice holds hundreds of millions of SY, PT and YT."""
    fork, labels = _world()
    market = PendleMarket(fork.copy(), labels[made.token])
    if liquid:
        unit = 10**market.sy.decimals
        market.add_liquidity(10**6 * unit, 10**6 * unit * market.index_e18 // 10**18, sender=ALICE)
    return market
