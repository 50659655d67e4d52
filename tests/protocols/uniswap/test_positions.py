"""Uniswap V3 positions on every replica: deposits come back, and fees follow shares."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.errors import ActionRefused, BadArgument, CallReverted, InsufficientBalance, UnknownName
from mayavi.protocols import UniswapV3
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from mayavi.worlds.tables.chain import Pool
from tests.protocols.uniswap.worlds import ALICE, BOB, POOLS, uniswap_on


@pytest.mark.parametrize(("chain", "facts"), POOLS)
@pytest.mark.parametrize("side", ["below", "around", "above"])
def test_a_burnt_position_gives_back_what_was_put_in(chain: str, facts: Pool, side: str) -> None:
    uniswap = uniswap_on(chain)
    fork, pool = uniswap.fork, uniswap.pool(facts.base, facts.quote, facts.fee)
    tokens = pool.token0, pool.token1
    spacing = pool.tick_spacing
    here = pool.tick // spacing * spacing
    lower, upper = {
        "below": (here - 40 * spacing, here - 10 * spacing),
        "around": (here - 20 * spacing, here + 30 * spacing),
        "above": (here + 10 * spacing, here + 40 * spacing),
    }[side]
    amounts = {token.address: token.balance_of(pool.address) // 1000 for token in tokens}
    for token in tokens:
        fork.deal(token.address, ALICE, amounts[token.address])
    in_range = pool.liquidity
    minted = uniswap.mint(pool, lower, upper, amounts, sender=ALICE)
    position = minted.position
    put_in = minted.amount0, minted.amount1
    assert [token.balance_of(ALICE) for token in tokens] == [
        amounts[token.address] - paid for token, paid in zip(tokens, put_in, strict=True)
    ]
    assert [paid > 0 for paid in put_in] == [side != "below", side != "above"]
    assert pool.liquidity - in_range == (minted.liquidity if side == "around" else 0)
    assert position.data[2:6] == (facts.fee, lower, upper, minted.liquidity)
    assert position.owner == fork.address_of(ALICE)
    assert position.owed == (0, 0)
    expected = position.amounts
    assert all(0 <= paid - back <= 1 for paid, back in zip(put_in, expected, strict=True))
    assert position.burn()[:2] == expected
    assert uniswap.positions_of(ALICE) == []
    assert pool.liquidity == in_range
    with pytest.raises(UnknownName, match=f"there is no position {position.token_id}"):
        _ = position.data


def test_a_position_grows_shrinks_and_pays_out_in_steps(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    fork = uniswap.fork
    fork.deal("WETH", ALICE, 10 * 10**18)
    fork.deal("USDC", ALICE, 30_000 * 10**6)
    lower, upper = pool.tick_range(2_300, 2_800, "WETH")
    minted = uniswap.mint(pool, lower, upper, {"WETH": 4 * 10**18, "USDC": 10_000 * 10**6}, sender=ALICE, recipient=BOB)
    position = minted.position
    assert [each.token_id for each in uniswap.positions_of(BOB)] == [position.token_id]
    assert position.pool.address == pool.address
    grown = position.increase({"WETH": 4 * 10**18, "USDC": 10_000 * 10**6}, sender=ALICE)
    assert position.liquidity == minted.liquidity + grown.liquidity
    assert abs(grown.liquidity - minted.liquidity) <= 1
    shrunk = position.decrease(minted.liquidity)
    assert position.liquidity == grown.liquidity
    assert position.owed == (shrunk.amount0, shrunk.amount1)
    assert position.collect(recipient=ALICE)[:2] == (shrunk.amount0, shrunk.amount1)
    rest = position.burn(recipient=ALICE)
    assert Erc20(fork, "WETH").balance_of(ALICE) == pytest.approx(10 * 10**18, abs=4)
    assert Erc20(fork, "USDC").balance_of(ALICE) == pytest.approx(30_000 * 10**6, abs=4)
    assert abs(rest.amount0 - shrunk.amount0) <= 1


def test_a_position_that_was_emptied_can_be_burnt(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    uniswap.fork.deal("USDC", ALICE, 10**9)
    lower, upper = pool.tick_range(1_000, 2_000, "WETH")
    position = uniswap.mint(pool, lower, upper, {"USDC": 10**9}, sender=ALICE).position
    position.decrease()
    assert position.amounts == (0, 0)
    assert position.collect()[:2] == (10**9 - 1, 0)
    assert position.burn()[:2] == (0, 0)


@pytest.mark.parametrize("sold", ["WETH", "USDC"])
def test_fees_add_up_to_what_swaps_paid_and_go_by_share(uniswap: UniswapV3, pool: UniswapV3Pool, sold: str) -> None:
    fork = uniswap.fork
    bought = pool.other(sold).symbol
    fork.deal("WETH", ALICE, 10**21)
    fork.deal("USDC", ALICE, 3 * 10**12)
    lower, upper = pool.tick_range(2_000, 3_300, "WETH")
    mine = uniswap.mint(pool, lower, upper, {"WETH": 10**21, "USDC": 2 * 10**12}, sender=ALICE).position
    positions = [mine, *(each for each in uniswap.positions_of("Mayavi.Market") if each.pool.address == pool.address)]
    share = Decimal(mine.liquidity) / pool.liquidity
    # Small enough to stay between two ticks, so that the share does not change on the way.
    amount = Erc20(fork, sold).balance_of(pool.address) // 500
    swaps = 5
    for _ in range(swaps):
        fork.deal(sold, BOB, amount)
        assert uniswap.quote_exact_input((sold, bought, 500), amount).ticks_crossed == (0,)
        uniswap.swap_exact_input((sold, bought, 500), amount, sender=BOB)
    paid = swaps * -(-amount * 500 // 10**6)
    side = 0 if pool.token0.symbol == sold else 1
    owed = [position.owed for position in positions]
    total = sum(each[side] for each in owed)
    assert 0 <= paid - total <= len(positions) + swaps
    assert sum(each[1 - side] for each in owed) == 0
    assert abs(owed[0][side] - paid * share) <= swaps
    before = Erc20(fork, sold).balance_of(ALICE)
    assert mine.collect()[:2] == owed[0]
    assert Erc20(fork, sold).balance_of(ALICE) == before + owed[0][side]
    with pytest.raises(ActionRefused, match="is owed nothing"):
        mine.collect()


def test_positions_that_make_no_sense_are_refused_and_change_nothing(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    fork = uniswap.fork
    fork.deal("USDC", ALICE, 10**9)
    lower, upper = pool.tick_range(1_000, 2_000, "WETH")
    position = uniswap.mint(pool, lower, upper, {"USDC": 10**8}, sender=ALICE).position
    digest = fork.digest()
    with pytest.raises(BadArgument, match="cannot begin or end at tick 7") as refused:
        uniswap.mint(pool, 7, 20, {"USDC": 1}, sender=ALICE)
    assert "multiples of 10 from -887270 to 887270, such as 0" in str(refused.value.hint)
    with pytest.raises(BadArgument, match="is empty"):
        uniswap.mint(pool, upper, lower, {"USDC": 1}, sender=ALICE)
    with pytest.raises(ActionRefused, match="adds no liquidity"):
        uniswap.mint(pool, lower, upper, {"USDC": 0}, sender=ALICE)
    with pytest.raises(UnknownName, match="WBTC is not in <pool"):
        uniswap.mint(pool, lower, upper, {"WBTC": 1}, sender=ALICE)
    with pytest.raises(InsufficientBalance, match="has 900 USDC, but 1,000 USDC are needed"):
        uniswap.mint(pool, lower, upper, {"USDC": 10**9}, sender=ALICE)
    with pytest.raises(CallReverted, match="Price slippage check"):
        uniswap.mint(pool, lower, upper, {"USDC": 10**8}, min_amounts={"USDC": 10**8 + 1}, sender=ALICE)
    with pytest.raises(CallReverted, match="Transaction too old"):
        position.increase({"USDC": 10**8}, deadline=fork.timestamp - 1)
    with pytest.raises(ActionRefused, match="cannot be taken from position"):
        position.decrease(position.liquidity + 1)
    with pytest.raises(CallReverted, match="Not approved"):
        position.burn(sender=BOB)
    assert fork.digest() == digest
