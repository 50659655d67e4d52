"""Curve on the Ethereum replica: pools at their addresses, with the table's parameters and balances."""

from __future__ import annotations

import pytest

from mayavi.evm.address import checksum, to_address
from mayavi.evm.fork import Fork
from mayavi.worlds import describe_world
from mayavi.worlds.deploy.deployment import MARKET
from mayavi.worlds.tables.chain import ChainTable
from mayavi.worlds.tables.curve import CurvePool
from tests.worlds.contract_of import ContractOf


@pytest.fixture(params=["3pool", "fraxusdc"])
def pool(request: pytest.FixtureRequest, table: ChainTable) -> CurvePool:
    assert table.curve is not None
    return next(pool for pool in table.curve.pools if pool.name == request.param)


def test_pools_stand_where_mainnet_has_them(fork: Fork) -> None:
    assert fork.labels["Curve.3pool"] == "0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7"
    assert fork.labels["Curve.3pool.LP"] == checksum("0x6c3f90f043a72fa612cbac8115ee7e52bde6e490")
    assert fork.labels["Curve.fraxusdc"] == "0xDcEF968d416a41Cdac0ED8702fAC8128A64241A2"
    assert fork.labels["Curve.fraxusdc.LP"] == "0x3175Df0976dFA876431C2E9eE6Bc45b65d3473CC"


def test_a_pool_has_its_parameters(pool: CurvePool, fork: Fork, contract: ContractOf) -> None:
    placed = contract(f"Curve.{pool.name}", f"StableSwap{len(pool.coins)}")
    assert (placed.A(), placed.fee(), placed.admin_fee()) == (pool.a, pool.fee_e10, pool.admin_fee_e10)
    assert placed.owner() == to_address(pool.owner)
    assert [placed.coins(i) for i in range(len(pool.coins))] == [fork.address_of(coin) for coin in pool.coins]


def test_a_pool_holds_what_the_table_says(pool: CurvePool, fork: Fork, contract: ContractOf, table: ChainTable) -> None:
    placed = contract(f"Curve.{pool.name}", f"StableSwap{len(pool.coins)}")
    for i, (symbol, whole) in enumerate(zip(pool.coins, pool.balances, strict=True)):
        amount = whole * 10 ** table.tokens[symbol].decimals
        assert placed.balances(i) == contract(symbol, "Token").balanceOf(placed.address) == amount
        assert placed.admin_balances(i) == 0


def test_the_market_holds_all_shares(pool: CurvePool, contract: ContractOf) -> None:
    shares = contract(f"Curve.{pool.name}.LP", "CurveLpToken")
    assert (shares["name"](), shares.symbol(), shares.decimals()) == (pool.lp_name, pool.lp_symbol, 18)
    assert shares.balanceOf(MARKET) == shares.totalSupply() > 10**25
    assert shares.minter() == to_address(pool.address)


def test_the_description_tells_of_curve() -> None:
    world = describe_world("ethereum")
    assert "Curve: 3pool (DAI/USDC/USDT), fraxusdc (FRAX/USDC)" in world.contents
    assert {"Curve code", "Curve liquidity", "Curve parameters"} <= {each.subject for each in world.differences}
    assert "gas" in next(each.text for each in world.differences if each.subject == "Curve code")
