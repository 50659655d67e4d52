"""Uniswap V3 on every replica: quotes equal swaps, pool state is right, errors are explained."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise, permutations
from pathlib import Path

import pytest

from mayavi.errors import ActionRefused, BadArgument, BadInteger, CallReverted, InsufficientBalance, UnknownName
from mayavi.protocols import PriceFeed, UniswapV3
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.pool import MAX_TICK, MIN_TICK, UniswapV3Pool
from mayavi.protocols.uniswap.router import Router
from mayavi.replay.case import read_bytecodes
from mayavi.worlds import world_names
from mayavi.worlds.tables.chain import Pool, load_table
from tests.protocols.uniswap.worlds import ALICE, BOB, POOLS, WETH_USDC, uniswap_on

SHARES = [Decimal(text) for text in ("1e-12", "1e-9", "1e-6", "1e-4", "0.003", "0.05", "0.3", "0.9")]
"""Sizes of a swap, as shares of the pool's balance of the token."""


def sizes(pool: UniswapV3Pool, token: Erc20) -> list[int]:
    held = token.balance_of(pool.address)
    return sorted({max(1, int(held * share)) for share in SHARES})


# -- quotes and swaps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chain", "facts"), POOLS)
def test_a_swap_of_an_exact_input_pays_what_was_quoted(chain: str, facts: Pool) -> None:
    uniswap = uniswap_on(chain)
    fork = uniswap.fork
    for sold, bought in permutations((facts.base, facts.quote)):
        route = (sold, bought, facts.fee)
        pool = uniswap.pool(*route)
        token_in, token_out = Erc20(fork, sold), Erc20(fork, bought)
        amounts = [*sizes(pool, token_in), 3 * token_in.balance_of(pool.address)]
        for amount, quote in zip(amounts, uniswap.quote_exact_inputs(route, amounts), strict=True):
            with fork.snapshot():
                fork.deal(sold, ALICE, amount)
                swap = uniswap.swap_exact_input(route, amount, sender=ALICE, min_amount_out=quote.amount_out)
                assert (swap.amount_in, swap.amount_out) == (amount, quote.amount_out)
                assert (token_in.balance_of(ALICE), token_out.balance_of(ALICE)) == (0, quote.amount_out)
                assert (pool.sqrt_price_x96,) == quote.sqrt_prices_after_x96
                assert token_in.allowance(ALICE, "UniswapV3.SwapRouter") == 0


@pytest.mark.parametrize(("chain", "facts"), POOLS)
def test_a_swap_for_an_exact_output_costs_what_was_quoted(chain: str, facts: Pool) -> None:
    uniswap = uniswap_on(chain)
    fork = uniswap.fork
    for sold, bought in permutations((facts.base, facts.quote)):
        route = (sold, bought, facts.fee)
        pool = uniswap.pool(*route)
        token_in, token_out = Erc20(fork, sold), Erc20(fork, bought)
        amounts = sizes(pool, token_out)
        for amount, quote in zip(amounts, uniswap.quote_exact_outputs(route, amounts), strict=True):
            with fork.snapshot():
                fork.deal(sold, ALICE, quote.amount_in + 7)
                swap = uniswap.swap_exact_output(route, amount, sender=ALICE, max_amount_in=quote.amount_in)
                assert (swap.amount_in, swap.amount_out) == (quote.amount_in, amount)
                assert (token_in.balance_of(ALICE), token_out.balance_of(ALICE)) == (7, amount)
                assert (pool.sqrt_price_x96,) == quote.sqrt_prices_after_x96
                assert token_in.allowance(ALICE, "UniswapV3.SwapRouter") == 0


def two_hops(chain: str) -> list[tuple[str | int, ...]]:
    """Return routes through two pools of a chain with a common token."""
    found: list[tuple[str | int, ...]] = []
    for first, second in permutations(load_table(chain).uniswap.pools, 2):
        ends = {first.base, first.quote} ^ {second.base, second.quote}
        shared = {first.base, first.quote} & {second.base, second.quote}
        if len(ends) == 2 and len(shared) == 1:
            (start,) = ends & {first.base, first.quote}
            (end,) = ends - {start}
            found.append((start, first.fee, *shared, second.fee, end))
    return found


@pytest.mark.parametrize(("chain", "route"), [(chain, route) for chain in world_names() for route in two_hops(chain)])
def test_swaps_through_two_pools_do_what_was_quoted(chain: str, route: tuple[str | int, ...]) -> None:
    uniswap = uniswap_on(chain)
    fork = uniswap.fork
    start, first_fee, middle, second_fee, end = route
    pools = uniswap.pool(str(start), str(middle), int(first_fee)), uniswap.pool(str(middle), str(end), int(second_fee))
    token_in, token_out = Erc20(fork, str(start)), Erc20(fork, str(end))
    for share in (10**6, 10**3, 20):
        amount = token_in.balance_of(pools[0].address) // share
        with fork.snapshot():
            quote = uniswap.quote_exact_input(route, amount)
            fork.deal(str(start), ALICE, amount)
            swap = uniswap.swap_exact_input(route, amount, sender=ALICE, recipient=BOB)
            assert swap[:2] == (amount, quote.amount_out) == (amount, token_out.balance_of(BOB))
            assert tuple(pool.sqrt_price_x96 for pool in pools) == quote.sqrt_prices_after_x96
        with fork.snapshot():
            wanted = quote.amount_out
            quote = uniswap.quote_exact_output(route, wanted)
            # Buying what the sale gave costs no more than what was sold, up to the rounding of both.
            assert quote.amount_in <= amount + 2
            fork.deal(str(start), ALICE, quote.amount_in)
            swap = uniswap.swap_exact_output(route, wanted, sender=ALICE)
            assert swap[:2] == (quote.amount_in, wanted) == (quote.amount_in, token_out.balance_of(ALICE))
            assert token_in.balance_of(ALICE) == 0
            assert tuple(pool.sqrt_price_x96 for pool in pools) == quote.sqrt_prices_after_x96


def test_a_price_limit_stops_a_swap_where_it_says(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    limit = pool.sqrt_price_x96 * 101 // 100  # of USDC and WETH, WETH is token1: selling it raises the root
    uniswap.fork.deal("WETH", ALICE, 10**23)
    quote = uniswap.quote_exact_input(WETH_USDC, 10**23, sqrt_price_limit_x96=limit)
    swap = uniswap.swap_exact_input(WETH_USDC, 10**23, sender=ALICE, sqrt_price_limit_x96=limit)
    assert swap.amount_out == quote.amount_out
    assert swap.amount_in < 10**23
    assert Erc20(uniswap.fork, "WETH").balance_of(ALICE) == 10**23 - swap.amount_in
    assert pool.sqrt_price_x96 == limit == quote.sqrt_prices_after_x96[0]


def test_a_route_is_written_in_two_ways(uniswap: UniswapV3) -> None:
    assert uniswap.quote_exact_input(WETH_USDC, 10**18) == uniswap.quote_exact_input(("WETH", 500, "USDC"), 10**18)


def test_the_second_router_does_the_same(uniswap: UniswapV3, cases: Path) -> None:
    """With SwapRouter02 only, as on Base: its own code, recorded on mainnet."""
    codes = read_bytecodes(cases / "mainnet" / "blocks")
    fork, router = uniswap.fork, "0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45"
    fork.set_code(router, codes["0x6ec798e80f3a19de650826338677604e54d6664f44a33b53a20b22b1939f402e"])
    expected = {}
    way = ("WBTC", 3000, "WETH", 500, "USDC")
    fork.deal("WETH", ALICE, 10**20)
    fork.deal("WBTC", ALICE, 10**10)
    for second in (False, True):
        if second:
            del fork.labels["UniswapV3.SwapRouter"]
            fork.labels["UniswapV3.SwapRouter02"] = router
        with fork.snapshot():
            expected[second] = [
                uniswap.swap_exact_input(WETH_USDC, 10**18, sender=ALICE)[:2],
                uniswap.swap_exact_output(WETH_USDC, 10**9, sender=ALICE)[:2],
                uniswap.swap_exact_input(way, 10**8, sender=ALICE, recipient=BOB)[:2],
                uniswap.swap_exact_output(way, 10**9, sender=ALICE)[:2],
            ]
    assert expected[True] == expected[False]
    with pytest.raises(CallReverted, match="Transaction too old"):
        uniswap.swap_exact_input(WETH_USDC, 10**18, sender=ALICE, deadline=fork.timestamp - 1)
    with pytest.raises(CallReverted, match="Too little received"):
        uniswap.swap_exact_input(WETH_USDC, 10**18, sender=ALICE, min_amount_out=10**12)


def test_a_chain_without_the_original_router_has_the_second() -> None:
    fork = uniswap_on("base").fork
    del fork.labels["UniswapV3.SwapRouter"]
    with pytest.raises(UnknownName, match="no router of Uniswap V3"):
        Router(fork)
    fork.set_code("0x2626664c2603336E57B271c5C0b26F421741e481", b"\xfe")
    assert Router(fork).address.hex() == "2626664c2603336e57b271c5c0b26f421741e481"


# -- pools -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chain", "facts"), POOLS)
def test_a_pool_knows_its_price_in_both_directions(chain: str, facts: Pool) -> None:
    pool = uniswap_on(chain).pool(facts.base, facts.quote, facts.fee)
    assert float(pool.price(facts.base)) == pytest.approx(float(facts.price), rel=1e-9)
    assert float(pool.price(facts.base) * pool.price(facts.quote)) == pytest.approx(1, abs=1e-30)
    assert pool.other(facts.base).address == pool.fork.address_of(facts.quote)
    root_of_tick = Decimal("1.0001") ** pool.tick
    assert root_of_tick <= (Decimal(pool.sqrt_price_x96) / 2**96) ** 2 < root_of_tick * Decimal("1.0001")
    for price in (pool.price(facts.base), pool.price(facts.base) * 3):
        tick = pool.tick_at(price, facts.base)
        assert tick % pool.tick_spacing == 0
        at_tick = pool.price_at(int((Decimal("1.0001") ** tick).sqrt() * 2**96), facts.base)
        assert abs((at_tick / price).ln() / Decimal("1.0001").ln()) <= Decimal(pool.tick_spacing) / 2 + Decimal("1e-6")


@pytest.mark.parametrize(("chain", "facts"), POOLS)
def test_the_profile_sums_to_the_liquidity_in_range(chain: str, facts: Pool) -> None:
    pool = uniswap_on(chain).pool(facts.base, facts.quote, facts.fee)
    ticks = pool.ticks()
    assert sum(tick.liquidity_net for tick in ticks if tick.tick <= pool.tick) == pool.liquidity > 0
    assert sum(tick.liquidity_net for tick in ticks) == 0
    whole = pool.liquidity_profile(MIN_TICK, MAX_TICK)
    near = pool.liquidity_profile()
    for profile in (whole, near):
        assert all(before.upper_tick == after.lower_tick for before, after in pairwise(profile))
        assert [each.liquidity for each in profile if each.lower_tick <= pool.tick < each.upper_tick] == [
            pool.liquidity
        ]
    # A part of the range, wherever it lies, is that part of the whole.
    for lower, upper in ((pool.tick - 900, pool.tick - 300), (pool.tick + 1, pool.tick + 5_000), (-50_000, 50_000)):
        part = pool.liquidity_profile(lower, upper)
        assert (part[0].lower_tick, part[-1].upper_tick) == (lower, upper)
        for each in part:
            assert each.liquidity in [
                range_.liquidity
                for range_ in whole
                if range_.lower_tick <= each.lower_tick and each.upper_tick <= range_.upper_tick
            ]


def test_a_profile_follows_a_swap_across_its_ticks(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    before = pool.liquidity_profile(MIN_TICK, MAX_TICK)
    for sold, bought in permutations(("WETH", "USDC")):
        amount = Erc20(uniswap.fork, sold).balance_of(pool.address) // 2
        uniswap.fork.deal(sold, ALICE, amount)
        crossed = uniswap.quote_exact_input((sold, bought, 500), amount).ticks_crossed[0]
        uniswap.swap_exact_input((sold, bought, 500), amount, sender=ALICE)
        assert crossed > 0
        assert pool.liquidity_profile(MIN_TICK, MAX_TICK) == before
        assert [each.liquidity for each in before if each.lower_tick <= pool.tick < each.upper_tick] == [pool.liquidity]


def test_all_pools_of_a_pair_are_found(uniswap: UniswapV3) -> None:
    assert [pool.fee for pool in uniswap.pools("USDC", "WETH")] == [500, 3000]
    assert uniswap.pools("LINK", "DAI") == []
    named = UniswapV3Pool(uniswap.fork, "UniswapV3.WETH/USDC.500")
    assert named.address == uniswap.pool(*WETH_USDC).address
    assert repr(named) == "<pool UniswapV3.WETH/USDC.500>"


def test_a_moved_feed_leaves_the_pool_alone(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    price = pool.price("WETH")
    PriceFeed(uniswap.fork, "Chainlink.ETH/USD").move_by(-0.5)
    assert pool.price("WETH") == price


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_a_swap_beyond_the_balance_names_token_and_amounts(uniswap: UniswapV3) -> None:
    uniswap.fork.deal("WETH", ALICE, 15 * 10**17)
    digest = uniswap.fork.digest()
    with pytest.raises(InsufficientBalance, match=r"has 1\.5 WETH, but 2 WETH are needed"):
        uniswap.swap_exact_input(WETH_USDC, 2 * 10**18, sender=ALICE)
    with pytest.raises(InsufficientBalance, match=r"has 1\.5 WETH, but 3\.9\d* WETH are needed"):
        uniswap.swap_exact_output(WETH_USDC, 10_000 * 10**6, sender=ALICE)
    assert uniswap.fork.digest() == digest


def test_a_failed_swap_says_why_and_leaves_no_trace(uniswap: UniswapV3) -> None:
    fork = uniswap.fork
    fork.deal("WETH", ALICE, 10**20)
    digest = fork.digest()
    with pytest.raises(CallReverted, match="Too little received") as refused:
        uniswap.swap_exact_input(WETH_USDC, 10**18, sender=ALICE, min_amount_out=2_600 * 10**6)
    assert str(refused.value.hint) == "it gives 2,561.703089 USDC now, and 2,600 USDC were the least to take"
    with pytest.raises(CallReverted, match="Too much requested") as refused:
        uniswap.swap_exact_output(WETH_USDC, 2_600 * 10**6, sender=ALICE, max_amount_in=10**18)
    assert "and 1 WETH were the most to give" in str(refused.value.hint)
    with pytest.raises(CallReverted, match="Transaction too old") as refused:
        uniswap.swap_exact_input(WETH_USDC, 10**18, sender=ALICE, deadline=fork.timestamp - 1)
    assert "deadline has passed" in str(refused.value.hint)
    with pytest.raises(CallReverted, match="SPL"):
        uniswap.swap_exact_input(WETH_USDC, 10**18, sender=ALICE, sqrt_price_limit_x96=2**90)
    assert fork.digest() == digest


def test_more_than_the_pool_has_cannot_be_bought(uniswap: UniswapV3) -> None:
    for buy in (
        lambda: uniswap.quote_exact_output(WETH_USDC, 10**15),
        lambda: uniswap.swap_exact_output(WETH_USDC, 10**15, sender=ALICE),
    ):
        with pytest.raises(CallReverted) as refused:
            buy()
        assert "the pools cannot give so much; the last of them holds 74,9" in str(refused.value.hint)


def test_a_pool_that_is_not_there_is_answered_with_those_that_are(uniswap: UniswapV3) -> None:
    for ask in (
        lambda: uniswap.pool("WETH", "USDC", 400),
        lambda: uniswap.quote_exact_input(("WETH", "USDC", 400), 10**18),
    ):
        with pytest.raises(UnknownName, match="no pool of WETH and USDC with a fee of 400 millionths") as unknown:
            ask()
        assert "fees of 500, 3000 millionths" in str(unknown.value.hint)
    with pytest.raises(UnknownName, match="no pool of WBTC and LINK") as unknown:
        uniswap.pool("WBTC", "LINK", 3000)
    assert str(unknown.value.hint) == "pools of either: UniswapV3.WBTC/WETH.3000"
    with pytest.raises(UnknownName, match="unknown address or contract 'WETHH'"):
        uniswap.pool("WETHH", "USDC", 500)
    with pytest.raises(UnknownName, match="WBTC is not in <pool") as unknown:
        uniswap.pool(*WETH_USDC).price("WBTC")
    assert str(unknown.value.hint) == "its tokens are USDC and WETH"


def test_amounts_and_routes_that_make_no_sense_are_refused(uniswap: UniswapV3, pool: UniswapV3Pool) -> None:
    with pytest.raises(ActionRefused, match="a swap of 0 WETH moves nothing"):
        uniswap.swap_exact_input(WETH_USDC, 0, sender=ALICE)
    with pytest.raises(ActionRefused, match="a swap of 0 USDC moves nothing"):
        uniswap.quote_exact_output(WETH_USDC, 0)
    for amount in (-1, 1.5, 2**256):
        with pytest.raises(BadInteger):
            uniswap.quote_exact_input(WETH_USDC, amount)  # type: ignore[arg-type]
    for route in (("WETH", "USDC"), ("WETH",), "WETH/USDC", (500, "WETH", "USDC"), ("WETH", 500, "USDC", 500)):
        with pytest.raises(BadArgument, match="is not a route through pools"):
            uniswap.quote_exact_input(route, 1)
    with pytest.raises(BadArgument, match="swap of WETH for itself"):
        uniswap.pool("WETH", "WETH", 500)
    with pytest.raises(BadArgument, match="is not a fee in millionths"):
        uniswap.pool("WETH", "USDC", -5)
    with pytest.raises(BadArgument, match="price limit is for a swap through one pool"):
        uniswap.quote_exact_input(("WBTC", 3000, "WETH", 500, "USDC"), 1, sqrt_price_limit_x96=1)
    with pytest.raises(BadArgument, match="has no tick"):
        pool.tick_at(0, "WETH")
    with pytest.raises(BadArgument, match="is empty"):
        pool.liquidity_profile(10, 10)
