"""Read-only part of the adapters, as functions of a fork, with invariants of the results.

They run against a real provider (`tests/network`, where `MAYAVI_RPC_URL` names one) and against a local node that holds
the replica (`tests/node`), whose answers must equal the replica's.
"""

from __future__ import annotations

from collections.abc import Callable

from mayavi import Fork
from mayavi.protocols import AaveV3, CompoundV3, CurveStableSwap, PriceFeed, SparkLend, UniswapV3

Reading = Callable[[Fork], list[object]]
SOMEBODY = ("0x00000000000000000000000000000000000a11ce", "AaveV3.Treasury", "UniswapV3.Factory")
"""Accounts that exist on every chain, with or without a position."""


def aave(fork: Fork) -> list[object]:
    """Read reserves with rates, prices and configuration; accounts one by one and in a batch."""
    return _lender(AaveV3(fork), fork, {"WETH", "USDC", "WBTC", "DAI"})


def spark(fork: Fork) -> list[object]:
    """Read SparkLend as `aave` does."""
    return _lender(SparkLend(fork), fork, {"WETH", "DAI", "wstETH"})


def _lender(market: AaveV3, fork: Fork, expected: set[str]) -> list[object]:
    assert expected <= set(market.symbols)
    reserves = [market.reserve(symbol) for symbol in sorted(expected)]
    for reserve in reserves:
        assert 0 <= reserve.supply_rate <= reserve.variable_borrow_rate < 2, reserve
        assert 0 <= reserve.utilisation <= 1
        assert reserve.price_usd_e8 > 0
    addresses = [fork.address_of(account) for account in SOMEBODY]
    batch = market.account_data(addresses)
    singles = [market.account(address).data() for address in addresses]
    assert [batch[row] for row in range(len(addresses))] == singles
    return [reserves, singles, market.account(addresses[1]).position()]


def compound(fork: Fork) -> list[object]:
    """Read the USDC market: base, collateral, rates, totals, accounts."""
    comet = CompoundV3(fork)
    rates, totals = comet.rates(), comet.totals()
    assert comet.base.symbol == "USDC"
    assert {"WETH", "WBTC"} <= {asset.symbol for asset in comet.assets}
    assert 0 <= rates.supply_rate <= rates.borrow_rate < 2
    addresses = [fork.address_of(account) for account in SOMEBODY]
    batch = comet.account_data(addresses)
    singles = [comet.account(address) for address in addresses]
    assert list(batch.debt) == [account.debt for account in singles]
    assert list(batch.liquidatable) == [account.liquidatable for account in singles]
    return [comet.assets, rates, totals, comet.reserves, [account.position() for account in singles]]


def curve(fork: Fork) -> list[object]:
    """Read the 3pool: balances, parameters, quotes in all directions."""
    pool = CurveStableSwap(fork, "Curve.3pool")
    assert pool.symbols == ("DAI", "USDC", "USDT")
    assert pool.virtual_price >= 1
    quotes = [
        pool.quote(coin, other, 1_000 * 10 ** pool.coins[pool.index(coin)].decimals)
        for coin in pool.symbols
        for other in pool.symbols
        if coin != other
    ]
    return [pool.balances, pool.a, pool.fee_e10, pool.virtual_price_wad, quotes]


def uniswap(fork: Fork) -> list[object]:
    """Read a pool's state, and quotes that move its price in the right direction."""
    uni = UniswapV3(fork)
    pool = uni.pool("WETH", "USDC", 500)
    small, large = uni.quote_exact_inputs(("WETH", 500, "USDC"), [10**18, 100 * 10**18])
    assert 0 < large.amount_out < 100 * small.amount_out
    return [pool.sqrt_price_x96, pool.tick, pool.liquidity, small[:3], large[:3]]


def feed(fork: Fork) -> list[object]:
    """Read Chainlink's price of ether."""
    ether = PriceFeed(fork, "Chainlink.ETH/USD")
    assert ether.decimals == 8
    assert 10 < ether.price < 100_000
    assert ether.updated_at <= fork.timestamp
    return [ether.latest_round]


READINGS: dict[str, Reading] = {reading.__name__: reading for reading in (aave, spark, compound, curve, uniswap, feed)}
