"""Error messages of Uniswap V3's adapter: foreign objects, tokens a range needs, revert codes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mayavi import Fork
from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadInteger,
    CallReverted,
    InsufficientBalance,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.evm.abi.revert_tables import TEXTS
from mayavi.protocols import UniswapV3
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from mayavi.protocols.uniswap.position import UniswapV3Position
from mayavi.protocols.uniswap.reverts import _NEXT
from tests.protocols.uniswap.worlds import ALICE, BOB, WETH_USDC, uniswap_on


def around(pool: UniswapV3Pool) -> tuple[int, int]:
    return pool.tick_range(2_200, 2_900, "WETH")


# -- another fork ------------------------------------------------------------------------------------------------------


def test_a_pool_of_another_fork_is_refused_and_nothing_is_written_there(
    uniswap: UniswapV3, pool: UniswapV3Pool
) -> None:
    for fork in (uniswap.fork, twin := uniswap.fork.copy()):
        fork.deal("WETH", ALICE, 10**18)
        fork.deal("USDC", ALICE, 10**10)
    digests = [fork.digest() for fork in (uniswap.fork, twin)]
    with pytest.raises(UsageError, match=r"<pool UniswapV3\.WETH/USDC\.500> belongs to another fork") as refused:
        UniswapV3(twin).mint(pool, *around(pool), {"WETH": 10**18, "USDC": 10**10}, sender=ALICE)
    assert "a copy is another fork too" in str(refused.value.hint)
    assert [fork.digest() for fork in (uniswap.fork, twin)] == digests


def test_tokens_and_positions_of_another_fork_are_refused(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    other = UniswapV3(uniswap.fork.copy())
    for ask in (
        lambda: other.quote_exact_input((pool.token0, "WETH", 500), 1),
        lambda: other.pools(pool.token0, "WETH"),
        lambda: other.pool(*WETH_USDC).price(pool.token0),
        lambda: UniswapV3Pool(other.fork, pool),
    ):
        with pytest.raises(UsageError, match="belongs to another fork"):
            ask()
    assert uniswap.quote_exact_input((pool.token1, pool.token0, 500), 10**18) == uniswap.quote_exact_input(
        WETH_USDC, 10**18
    )


@pytest.mark.parametrize("make", [UniswapV3, lambda fork: UniswapV3Pool(fork, "x"), lambda f: UniswapV3Position(f, 1)])
def test_what_is_no_fork_is_refused(make: Any) -> None:
    with pytest.raises(UsageError, match="'ethereum' is not a fork"):
        make("ethereum")


# -- constructors ------------------------------------------------------------------------------------------------------


def test_a_fork_without_uniswap_says_so() -> None:
    with pytest.raises(UnknownName, match=r"no Uniswap V3 is known on this fork of ethereum: UniswapV3\.Factory"):
        UniswapV3(Fork.empty())
    bare = Fork.empty(chain_id=12345)
    bare.labels |= uniswap_on("ethereum").fork.labels
    with pytest.raises(UnknownName, match="on this fork of chain 12345"):
        UniswapV3(bare)


def test_what_is_no_pool_is_refused_at_once(uniswap: UniswapV3) -> None:
    with pytest.raises(UsageError, match=r"WETH is not a pool of Uniswap V3"):
        UniswapV3Pool(uniswap.fork, "WETH")
    with pytest.raises(NoCode):
        UniswapV3Pool(uniswap.fork, b"\xb0" * 20)


def test_a_position_that_is_not_there_is_refused_at_once(uniswap: UniswapV3) -> None:
    with pytest.raises(UnknownName, match="there is no position 9999 of Uniswap V3"):
        uniswap.position(9999)
    with pytest.raises(BadInteger):
        uniswap.position("1")  # type: ignore[arg-type]


def test_it_says_where_it_stands(uniswap: UniswapV3) -> None:
    count = sum("/" in label for label in uniswap.fork.labels if label.startswith("UniswapV3."))
    assert repr(uniswap) == f"<Uniswap V3 on ethereum: {count} pools by name>"


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_a_route_is_explained(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    for route in (pool, 1, None, "WETH/USDC"):
        with pytest.raises(BadArgument, match="is not a route through pools") as refused:
            uniswap.quote_exact_input(route, 1)  # type: ignore[arg-type]
        assert str(refused.value.hint).startswith("a route names the token put in, the token taken out and the fees")


def test_amounts_of_a_position_are_a_pair_or_a_mapping(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    fork = uniswap.fork
    fork.deal("WETH", ALICE, 10**19)
    fork.deal("USDC", ALICE, 10**11)
    named, lower_upper = {"WETH": 10**18, "USDC": 3_000 * 10**6}, around(pool)
    with fork.snapshot():
        expected = uniswap.mint(pool, *lower_upper, named, sender=ALICE)[1:4]
    with fork.snapshot():
        minted = uniswap.mint(pool, *lower_upper, [3_000 * 10**6, 10**18], sender=ALICE, min_amounts=(0, 1))
        assert minted[1:4] == expected
        assert minted.position.increase((3_000 * 10**6, 10**18))[1:3] == expected[1:]
    for amounts in ([1], [1, 2, 3], 5, "12"):
        with pytest.raises(BadArgument, match="are not amounts of USDC and WETH"):
            uniswap.mint(pool, *lower_upper, amounts, sender=ALICE)  # type: ignore[arg-type]
    for wrong in ([1.5, 2], {"WETH": "1"}):
        with pytest.raises(BadInteger):
            uniswap.mint(pool, *lower_upper, wrong, sender=ALICE)  # type: ignore[arg-type]


@pytest.mark.parametrize("spelled", [WETH_USDC, ["USDC", 500, "WETH"], "UniswapV3.WETH/USDC.500"])
def test_a_pool_may_be_spelled(uniswap: UniswapV3, pool: UniswapV3Pool, spelled: Any) -> None:
    uniswap.fork.deal("WETH", ALICE, 10**18)
    uniswap.fork.deal("USDC", ALICE, 10**10)
    minted = uniswap.mint(spelled, *around(pool), {"WETH": 10**18, "USDC": 10**10}, sender=ALICE)
    assert minted.position.pool.address == pool.address


def test_what_is_no_pool_to_mint_in_is_explained(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    for wrong in (7, ("WETH", "USDC"), ("WBTC", 3000, "WETH", 500, "USDC")):
        with pytest.raises(BadArgument, match="is not a pool") as refused:
            uniswap.mint(wrong, 0, 10, [1, 1], sender=ALICE)  # type: ignore[arg-type]
        assert '("WETH", "USDC", 500)' in str(refused.value.hint)
    for tick in (1.0, "0", None):
        with pytest.raises(BadInteger, match="is not an integer"):
            uniswap.mint(pool, tick, 10, [1, 1], sender=ALICE)  # type: ignore[arg-type]
        with pytest.raises(BadInteger, match="is not an integer"):
            pool.ticks(tick, 10)  # type: ignore[arg-type]
    for price in ("much", None, Decimal("NaN"), "Infinity"):
        with pytest.raises(BadArgument):
            pool.tick_at(price, "WETH")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="not a valid price"):
        pool.price_at(0, "WETH")


def test_one_amount_where_many_are_quoted_and_one_too_large(uniswap: UniswapV3) -> None:
    with pytest.raises(BadArgument, match="5 are not several amounts"):
        uniswap.quote_exact_inputs(WETH_USDC, 5)  # type: ignore[arg-type]
    with pytest.raises(BadInteger, match="more than a pool can count"):
        uniswap.quote_exact_input(WETH_USDC, 2**255)
    with pytest.raises(BadInteger, match="is not a square root price"):
        uniswap.quote_exact_input(WETH_USDC, 1, sqrt_price_limit_x96=2**160)


# -- positions ---------------------------------------------------------------------------------------------------------


def test_a_range_says_which_tokens_it_needs(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    uniswap.fork.deal("WETH", ALICE, 10**18)
    uniswap.fork.deal("USDC", ALICE, 10**10)
    low, high = pool.tick_range(1_000, 2_000, "WETH"), pool.tick_range(3_000, 4_000, "WETH")
    digest = uniswap.fork.digest()
    for given, missing in (("WETH", "USDC"), ("USDC", "WETH")):
        with pytest.raises(ActionRefused, match="this range needs both tokens") as refused:
            uniswap.mint(pool, *around(pool), {given: 10**6}, sender=ALICE)
        assert f"give an amount of {missing} too" in str(refused.value.hint)
    with pytest.raises(ActionRefused, match="it takes USDC alone"):
        uniswap.mint(pool, *low, {"WETH": 10**6}, sender=ALICE)
    with pytest.raises(ActionRefused, match="it takes WETH alone"):
        uniswap.mint(pool, *high, {"USDC": 10**6}, sender=ALICE)
    with pytest.raises(CallReverted) as little:
        uniswap.mint(pool, *pool.tick_range(1, 10**9, "WETH"), (1, 1), sender=ALICE)
    assert "give more" in str(little.value.hint)
    assert uniswap.fork.digest() == digest
    position = uniswap.mint(pool, *low, {"USDC": 10**6}, sender=ALICE).position
    with pytest.raises(ActionRefused, match="it takes USDC alone"):
        position.increase({"WETH": 10**6})


def test_only_what_a_range_takes_has_to_be_there(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    fork, manager = uniswap.fork, "UniswapV3.PositionManager"
    usdc, weth = Erc20(fork, "USDC"), Erc20(fork, "WETH")
    offered = {"WETH": 10**18, "USDC": 10**12}
    fork.deal("WETH", ALICE, 10**18)
    fork.deal("USDC", ALICE, 10**12)
    with fork.snapshot():
        taken = uniswap.mint(pool, *around(pool), offered, sender=ALICE)
    assert taken.amount0 < 10**12
    fork.deal("USDC", ALICE, taken.amount0)
    fork.deal("WETH", ALICE, taken.amount1)
    with fork.snapshot():
        assert uniswap.mint(pool, *around(pool), offered, sender=ALICE)[1:4] == taken[1:4]
        assert (usdc.balance_of(ALICE), weth.balance_of(ALICE)) == (0, 0)
        assert (usdc.allowance(ALICE, manager), weth.allowance(ALICE, manager)) == (0, 0)
    fork.deal("USDC", ALICE, taken.amount0 - 1)
    needed = usdc.text(taken.amount0)
    with pytest.raises(InsufficientBalance, match=f"but {needed} are needed"):
        uniswap.mint(pool, *around(pool), offered, sender=ALICE)


def test_limits_that_do_not_hold_say_what_would(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    fork = uniswap.fork
    fork.deal("WETH", ALICE, 10**19)
    fork.deal("USDC", ALICE, 10**11)
    offered = {"WETH": 10**18, "USDC": 3_000 * 10**6}
    position = uniswap.mint(pool, *around(pool), offered, sender=ALICE).position
    for act, verb in (
        (
            lambda: uniswap.mint(pool, *around(pool), offered, min_amounts=(10**10, 0), sender=ALICE),
            "it takes 3,000 USDC",
        ),
        (lambda: position.increase(offered, min_amounts=(10**10, 0)), "it takes 3,000 USDC"),
        (lambda: position.decrease(min_amounts=(10**10, 0)), "it gives 2,999.999999 USDC"),
        (lambda: position.burn(min_amounts=(10**10, 0)), "it gives 2,999.999999 USDC"),
    ):
        with pytest.raises(CallReverted, match="reverted: Price slippage check") as refused:
            act()
        assert str(refused.value.hint).startswith(verb)
        assert "now, and 10,000 USDC and 0 WETH were the least" in str(refused.value.hint)
    with pytest.raises(CallReverted, match=f"burn of position {position.token_id} reverted: Not approved") as refused:
        position.burn(sender=BOB)
    assert "only its owner" in str(refused.value.hint)


# -- the codes of a pool -----------------------------------------------------------------------------------------------


def test_a_quote_that_fails_says_what_was_asked_what_the_code_means_and_what_to_do(uniswap: UniswapV3) -> None:
    route = ("USDC", 500, "WETH", 3000, "WBTC")
    with pytest.raises(CallReverted) as refused:
        uniswap.quote_exact_inputs(("WETH", 500, "USDC", 500, "WETH"), [10**18, 1])
    assert str(refused.value) == (
        "a quote of 0.000000000000000001 WETH for WETH reverted: AS, the amount of a swap must not be zero"
    )
    assert "so small that a pool on the way gives nothing" in str(refused.value.hint)
    assert uniswap.quote_exact_input(route, 10**9).amount_out


def test_a_price_limit_on_the_wrong_side_says_where_the_price_is(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    for route, side in ((WETH_USDC, "above"), (("USDC", "WETH", 500), "below")):
        limit = pool.sqrt_price_x96 * (9 if side == "above" else 11) // 10
        with pytest.raises(CallReverted, match="reverted: SPL, the price limit lies on the wrong side") as refused:
            uniswap.quote_exact_input(route, 10**6, sqrt_price_limit_x96=limit)
        assert str(refused.value.hint) == (
            f"the pool's square root price is {pool.sqrt_price_x96} now: give a limit {side} it, or none"
        )


def test_every_code_of_a_pool_has_a_sentence_and_a_next_step() -> None:
    codes = {"AI", "AS", "F0", "F1", "I", "IIA", "L", "LA", "LO", "LOK", "LS", "M0", "M1", "NP", "OLD", "R", "SPL"}
    codes |= {"STF", "T", "TF", "TLM", "TLU", "TUM"}
    assert codes <= TEXTS.keys()
    assert codes <= _NEXT.keys()
