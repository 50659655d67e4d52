"""An unlock sold into a pool: what it brings and where the price goes is the pool's own arithmetic."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mayavi.protocols.uniswap.pool import UniswapV3Pool
from tests.scenarios.play import Played, play
from tests.scenarios.uniswap_maths import sqrt_price_at_tick, swapped

POOL = "UniswapV3.NOVA/USDC.3000"
UNLOCKS = [50_000, 500_000, 2_000_000, 5_000_000, 20_000_000, 60_000_000]


def unlocked(amount: int, *overrides: str, steps: int = 3, chain: str = "ethereum") -> Played:
    """Nobody but the investors trades, and all is released in the first step."""
    investors = f"{{kind: vesting, token: {amount} NOVA, pool: NOVA/USDC.3000}}"
    agents = f"agents={{investors: {investors}}}"
    return play("vesting_cliff", chain=chain, steps=steps, overrides=[agents, *overrides])


@pytest.mark.parametrize("chain", ["ethereum", "base", "avalanche"])
@pytest.mark.parametrize("amount", UNLOCKS)
def test_a_sale_brings_exactly_what_the_pools_own_maths_say(amount: int, chain: str) -> None:
    played = unlocked(amount, chain=chain)
    (sale,) = played.details("sell")
    pool = UniswapV3Pool(played.built.world.fork, POOL)
    before = int(sale["sqrt_price_before_x96"])
    zero_for_one = pool.token0.symbol == "NOVA"
    expected, after = swapped(
        before,
        _tick_of(before),
        pool.liquidity,
        pool.tick_spacing,
        pool.fee,
        amount * 10**18,
        zero_for_one=zero_for_one,
    )
    assert int(sale["sold"]) == amount * 10**18
    assert int(sale["received"]) == expected
    assert int(sale["sqrt_price_after_x96"]) == after
    assert played.kpis["proceeds.investors.USDC"] == expected


def test_both_orders_of_the_tokens_are_among_those_tested() -> None:
    orders = {UniswapV3Pool(unlocked(1_000, chain=each, steps=1).built.world.fork, POOL).token0.symbol
              for each in ("ethereum", "base", "avalanche")}  # fmt: skip
    assert orders == {"NOVA", "USDC"}


def test_larger_unlocks_move_the_price_more_and_sell_at_a_lower_price() -> None:
    runs = [unlocked(amount) for amount in UNLOCKS]
    impacts = [run.kpis["price_impact.NOVA/USDC.3000"] for run in runs]
    prices = [run.kpis["average_price.investors.NOVA/USDC"] for run in runs]
    assert all(deeper < lighter < 0 for lighter, deeper in pairwise(impacts))
    assert all(lower < higher for higher, lower in pairwise(prices))


def test_more_liquidity_moves_the_price_less() -> None:
    impacts = [
        unlocked(2_000_000, f"pools.NOVA/USDC.3000.liquidity_factor={factor}").kpis["price_impact.NOVA/USDC.3000"]
        for factor in ("0.25", "0.5", "1")
    ]
    assert impacts == sorted(impacts)
    assert len(set(impacts)) == 3


def test_nothing_is_sold_before_the_cliff() -> None:
    played = unlocked(1_000_000, "agents.investors.cliff=12h", steps=4)
    assert [row.step for row in played.actions] == [2, 2]  # steps of six hours: released and sold in the third
    assert [row.kind for row in played.actions] == ["release", "sell"]


def test_selling_over_many_steps_ends_at_the_same_price_as_selling_at_once() -> None:
    """One position over all prices has no memory: what counts is how much was sold, but for fees and rounding."""
    at_once = unlocked(2_000_000, steps=12)
    spread = unlocked(2_000_000, "agents.investors.sells=twap", "agents.investors.over=10", steps=12)
    assert len(spread.details("sell")) == 10
    assert spread.kpis["sold.investors.NOVA"] == at_once.kpis["sold.investors.NOVA"]
    assert spread.kpis["price_impact.NOVA/USDC.3000"] == pytest.approx(
        at_once.kpis["price_impact.NOVA/USDC.3000"], rel=1e-9
    )


def _tick_of(root: int) -> int:
    low, high = -887_272, 887_272
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sqrt_price_at_tick(middle) <= root else (low, middle)
    return low
