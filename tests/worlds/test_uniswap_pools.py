"""Pools trade around the price of January 2024, at the assumed depth, through Uniswap's periphery."""

from __future__ import annotations

import pytest

from mayavi.evm.fork import Fork
from mayavi.worlds.deploy.deployment import named_account
from mayavi.worlds.tables.chain import ChainTable, Pool, load_table
from tests.worlds.contract_of import ContractOf

TRADER = named_account("trader")
POOLS = [pytest.param(pool, id=pool.name) for pool in load_table("ethereum").uniswap.pools]
# What each pair should trade at, give or take: ETH 2,563 and BTC 42,808 USD, wstETH at its rate.
PLAUSIBLE = {"WETH/USDC": 2_563, "WBTC/WETH": 16.70, "DAI/USDC": 1.0, "wstETH/WETH": 1.153}


def mid_price(contract: ContractOf, fork: Fork, table: ChainTable, pool: Pool) -> float:
    """Return the price of one whole base in whole quote."""
    live = contract(f"UniswapV3.{pool.name}", "UniswapV3Pool")
    raw = (live.slot0().sqrtPriceX96 / 2**96) ** 2
    if live.token0() != fork.address_of(pool.base):
        raw = 1 / raw
    return float(raw * 10 ** (table.tokens[pool.base].decimals - table.tokens[pool.quote].decimals))


@pytest.mark.parametrize("pool", POOLS)
def test_a_pool_stands_at_the_price_of_the_table(
    contract: ContractOf, fork: Fork, table: ChainTable, pool: Pool
) -> None:
    assert mid_price(contract, fork, table, pool) == pytest.approx(float(pool.price), rel=1e-9)
    assert float(pool.price) == pytest.approx(PLAUSIBLE[f"{pool.base}/{pool.quote}"], rel=1e-3)
    assert contract(f"UniswapV3.{pool.name}", "UniswapV3Pool").liquidity() > 0


@pytest.mark.parametrize("pool", POOLS)
def test_a_pool_holds_the_value_assumed(fork: Fork, contract: ContractOf, table: ChainTable, pool: Pool) -> None:
    held = {}
    for symbol in (pool.base, pool.quote):
        kind = "WETH9" if symbol == "WETH" else "Token"
        held[symbol] = contract(symbol, kind).balanceOf(pool.address) / 10 ** table.tokens[symbol].decimals
    value_usd = float(pool.base_price_usd) * (held[pool.base] + held[pool.quote] / float(pool.price))
    assert value_usd == pytest.approx(pool.value_locked_usd, rel=1e-6)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("selling_base", [True, False], ids=["sell", "buy"])
def test_a_small_quote_is_the_price_less_the_fee(
    contract: ContractOf, fork: Fork, table: ChainTable, pool: Pool, selling_base: bool
) -> None:
    sold, bought = (pool.base, pool.quote) if selling_base else (pool.quote, pool.base)
    price = float(pool.price) if selling_base else 1 / float(pool.price)
    amount_in = 10 ** table.tokens[sold].decimals // 100
    asked = (fork.address_of(sold), fork.address_of(bought), amount_in, pool.fee, 0)
    quote = contract("UniswapV3.QuoterV2", "QuoterV2").quoteExactInputSingle.call(asked)
    expected = price * (1 - pool.fee / 1e6) * amount_in / 10 ** table.tokens[sold].decimals
    assert quote.amountOut / 10 ** table.tokens[bought].decimals == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("pool", POOLS)
def test_liquidity_thins_out_away_from_the_price(
    contract: ContractOf, fork: Fork, table: ChainTable, pool: Pool
) -> None:
    quoter = contract("UniswapV3.QuoterV2", "QuoterV2")
    whole_usd = [10_000, 1_000_000, pool.value_locked_usd // 10, pool.value_locked_usd // 4]
    unit = 10 ** table.tokens[pool.base].decimals
    rates = []
    for usd in whole_usd:
        amount = int(usd / float(pool.base_price_usd) * unit)
        asked = (fork.address_of(pool.base), fork.address_of(pool.quote), amount, pool.fee, 0)
        rates.append(quoter.quoteExactInputSingle.call(asked).amountOut / amount)
    assert rates == sorted(rates, reverse=True)
    assert rates[1] > 0.97 * rates[0]


@pytest.mark.parametrize("pool", POOLS)
def test_the_router_pays_what_the_quoter_said(contract: ContractOf, fork: Fork, table: ChainTable, pool: Pool) -> None:
    base, quote = fork.address_of(pool.base), fork.address_of(pool.quote)
    amount = 10 * 10 ** table.tokens[pool.base].decimals
    fork.deal(pool.base, TRADER, amount)
    router, token = contract("UniswapV3.SwapRouter", "SwapRouter"), contract(pool.base, "Token")
    token.approve(router.address, amount, sender=TRADER)
    quoted = contract("UniswapV3.QuoterV2", "QuoterV2").quoteExactInputSingle.call((base, quote, amount, pool.fee, 0))
    router.exactInputSingle((base, quote, pool.fee, TRADER, 2**255, amount, 0, 0), sender=TRADER)
    assert contract(pool.quote, "Token").balanceOf(TRADER) == quoted.amountOut
    assert token.balanceOf(TRADER) == 0


def test_the_factory_has_all_four_tiers_and_mainnets_owner(contract: ContractOf, fork: Fork) -> None:
    factory = contract("UniswapV3.Factory", "UniswapV3Factory")
    assert [factory.feeAmountTickSpacing(fee) for fee in (100, 500, 3000, 10000)] == [1, 10, 60, 200]
    assert factory.owner() == fork.address_of("0x1a9C8182C09F50C8318d769245beA52c32BE35BC")


def test_positions_are_owned_by_the_market_and_describe_themselves(contract: ContractOf, fork: Fork) -> None:
    manager = contract("UniswapV3.PositionManager", "NonfungiblePositionManager")
    assert manager.ownerOf(1) == fork.address_of("Mayavi.Market")
    assert manager.tokenURI(1).startswith("data:application/json;base64,")
    assert contract("UniswapV3.TickLens", "TickLens").getPopulatedTicksInWord(
        fork.address_of("UniswapV3.WETH/USDC.3000"), 12
    )
