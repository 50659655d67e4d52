"""Twenty pools of Uniswap V4 for its tests: fees, spacings, decimals and the native coin, each with several ranges."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import NamedTuple

from mayavi import Fork
from mayavi.protocols import UniswapV4
from mayavi.protocols.uniswap_v4.currency import Currency
from mayavi.protocols.uniswap_v4.pool import UniswapV4Pool
from mayavi.protocols.uniswap_v4.pool_key import Fee
from mayavi.worlds.deploy.uniswap_v4 import deploy_uniswap_v4

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
LP = bytes.fromhex("1b00000000000000000000000000000000000001")
WIDTHS = ("1.02", "1.1", "2")
"""Ranges of each pool: from price / width to price * width."""


class Made(NamedTuple):
    """A pool to make: one whole `currency` costs `price`; `deep` whole ones are in each range."""

    currency: str
    other: str
    fee: Fee
    price: str
    deep: str


POOLS = (
    Made("ETH", "USDC", 500, "2500", "100"),
    Made("ETH", "USDC", 3000, "2510", "30"),
    Made("ETH", "USDT", 10_000, "2490", "5"),
    Made("ETH", "WBTC", (3000, 60), "0.0625", "50"),
    Made("ETH", "WETH", (1, 1), "1", "1000"),
    Made("ETH", "DAI", (0, 10), "2500", "20"),
    Made("ETH", "wstETH", 100, "0.87", "500"),
    Made("WETH", "USDC", 500, "2500", "100"),
    Made("WETH", "USDC", (500, 1), "2505", "100"),
    Made("WETH", "USDC", (500, 200), "2495", "100"),
    Made("WBTC", "USDC", 3000, "40000", "3"),
    Made("WBTC", "DAI", (2500, 50), "40010.5", "2"),
    Made("USDC", "USDT", (8, 1), "1.0002", "1000000"),
    Made("DAI", "USDC", 100, "0.9999", "500000"),
    Made("DAI", "USDT", (150, 3), "1.001", "250000"),
    Made("LINK", "ETH", 3000, "0.006", "5000"),
    Made("CRV", "USDC", (10_000, 32_767), "0.45", "100000"),
    Made("AAVE", "WBTC", (50_000, 1000), "0.0021", "300"),
    Made("GHO", "USDC", (123_456, 77), "0.98", "10000"),
    Made("MKR", "USDT", (999_999, 2), "2000", "10"),
)


@cache
def _world() -> tuple[Fork, tuple[UniswapV4Pool, ...]]:
    fork = Fork.replica("ethereum", hardfork="cancun")
    deploy_uniswap_v4(fork)
    uniswap = UniswapV4(fork)
    for holder in (LP, ALICE):
        fork.set_balance(holder, 10**30)
        for symbol in {each for made in POOLS for each in (made.currency, made.other)} - {"ETH"}:
            fork.deal(symbol, holder, 10**28)
    return fork, tuple(_make(uniswap, made) for made in POOLS)


def _make(uniswap: UniswapV4, made: Made) -> UniswapV4Pool:
    pool = uniswap.create_pool(made.currency, made.other, made.fee, made.price)
    first, second = Currency(uniswap.fork, made.currency), Currency(uniswap.fork, made.other)
    amount = int(Decimal(made.deep) * 10**first.decimals)
    value = int(Decimal(made.deep) * Decimal(made.price) * 10**second.decimals)
    amounts = (amount, value) if pool.is_currency0(made.currency) else (value, amount)
    for width in WIDTHS:
        ticks = sorted(pool.tick_at(each, made.currency) for each in _range(made, width))
        spacing = pool.tick_spacing
        lower, upper = ticks[0] - spacing, ticks[1] + spacing  # holds the price however wide the spacing is
        uniswap.mint(pool, lower, upper, amounts, sender=LP)
    return pool


def _range(made: Made, width: str) -> tuple[Decimal, Decimal]:
    return Decimal(made.price) / Decimal(width), Decimal(made.price) * Decimal(width)


def open_world() -> UniswapV4:
    """Open a fresh copy of the world; alice holds plenty of everything."""
    return UniswapV4(_world()[0].copy())


def pool_on(uniswap: UniswapV4, made: Made) -> UniswapV4Pool:
    return uniswap.pool(made.currency, made.other, made.fee)
