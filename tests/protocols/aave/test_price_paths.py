"""Accounts on price paths: sums and data on a device are those of the pool's code on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.subjects.borrowers import open_borrowers
from mayavi.errors import BadArgument, UsageError
from mayavi.evm.units import WAD
from mayavi.protocols import AaveV3
from mayavi.protocols.aave.price_paths import account_data_on_paths, totals_on_paths
from mayavi.protocols.chainlink.price_feed import PriceFeed
from tests.evm.native.devices import needs_device

DEVICES = ["emulated", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device])]
ETH, BTC = "Chainlink.ETH/USD", "Chainlink.BTC/USD"


@pytest.fixture(scope="module")
def market_and_accounts() -> tuple[AaveV3, list[bytes]]:
    return open_borrowers(24, leverage=6)


def paths_of(market: AaveV3) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two paths of three hours: ether falls on one, bitcoin on the other."""
    ether, bitcoin = (PriceFeed(market.fork, feed).answer for feed in (ETH, BTC))
    shares = np.array([[100, 60, 30], [100, 100, 90]])
    times = market.fork.timestamp + 3_600 * np.arange(1, 4)
    return {ETH: ether * shares // 100, BTC: bitcoin * shares[::-1] // 100}, times


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("device", DEVICES)
def test_totals_and_data_are_those_of_the_processor(
    market_and_accounts: tuple[AaveV3, list[bytes]], device: str
) -> None:
    market, accounts = market_and_accounts
    prices, times = paths_of(market)
    before = market.fork.digest()
    totals = totals_on_paths(market, accounts, prices, times, device=device)
    data = account_data_on_paths(market, accounts, prices, times, device=device)
    assert market.fork.digest() == before
    here = totals_on_paths(market, accounts, prices, times)
    assert totals.liquidatable.tolist() == here.liquidatable.tolist()
    assert totals.liquidatable.shape == (2, 3)
    assert totals.liquidatable[0, 2] > totals.liquidatable[0, 0]
    for one, other in zip(totals[1:], here[1:], strict=True):
        assert one.ints() == other.ints()
    for scenario, (path, step) in enumerate((path, step) for path in range(2) for step in range(3)):
        with market.fork.snapshot():
            for feed, answers in prices.items():
                market.fork.set_storage(feed, 1, int(answers[path, step]))
            market.fork.set_block(timestamp=int(times[step]))
            expected = market.account_data(accounts)
        rows = slice(24 * scenario, 24 * scenario + 24)
        debts, collaterals = expected.debt_usd_e8.ints(), expected.collateral_usd_e8.ints()
        assert data.health_factor_wad.ints()[rows] == expected.health_factor_wad.ints()
        assert data.debt_usd_e8.ints()[rows] == debts
        unsafe = [factor < WAD for factor in expected.health_factor_wad]
        assert totals.liquidatable[path, step] == sum(unsafe)
        assert totals.liquidatable_debt_usd_e8[scenario] == sum(d for d, bad in zip(debts, unsafe, strict=True) if bad)
        assert totals.bad_debt_usd_e8[scenario] == sum(
            max(0, debt - value) for debt, value in zip(debts, collaterals, strict=True)
        )
        assert totals.debt_usd_e8[scenario] == sum(debts)
    assert sum(totals.bad_debt_usd_e8.ints()) > 0


def test_mistakes_are_named(market_and_accounts: tuple[AaveV3, list[bytes]]) -> None:
    market, accounts = market_and_accounts
    prices, times = paths_of(market)
    with pytest.raises(BadArgument, match=r"prices of Chainlink\.ETH/USD are of the type float64"):
        totals_on_paths(market, accounts, {ETH: prices[ETH] / 2})
    with pytest.raises(BadArgument, match=r"shapes \(2, 3\), \(2,\) do not fit") as raised:
        totals_on_paths(market, accounts, {ETH: prices[ETH]}, times[:2])
    assert "take timestamps of (steps,) or (paths, steps)" in str(raised.value.hint)
    with pytest.raises(UsageError, match="there are no accounts"):
        totals_on_paths(market, [], prices)
    with pytest.raises(UsageError, match="there are no prices"):
        account_data_on_paths(market, accounts, {})
    with pytest.raises(UsageError, match="computes it"):
        totals_on_paths(market, accounts, {"Aave.wstETH/USD": [1]})
