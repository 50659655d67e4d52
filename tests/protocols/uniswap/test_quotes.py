"""The real WBTC/WETH pool of block 24,407,242 on the npm bytecode: every recorded quote, to the last unit."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap.pool import MAX_TICK, MIN_TICK
from mayavi.replay.quotes import HIGHEST_ROOT, LOWEST_ROOT
from mayavi.replay.recorded_pool import rebuild_uniswap_pool

FEE = 3000


@pytest.fixture(scope="module")
def recorded(cases: Path) -> dict[str, Any]:
    folder = cases / "mainnet" / "quotes"
    pool: dict[str, Any] = json.loads((folder / "uniswap_v3_wbtc_weth_block_24407242.json").read_bytes())
    quotes = json.loads((folder / "uniswap_v3_wbtc_weth_quotes.json").read_bytes())
    return {**pool, "quotes": quotes["entries"]}


@pytest.fixture(scope="module")
def uniswap(recorded: dict[str, Any]) -> UniswapV3:
    """Uniswap on an empty chain, with this pool rebuilt from its ticks."""
    return rebuild_uniswap_pool(recorded)


def asked(recorded: dict[str, Any], function: str) -> list[tuple[tuple[str, str, int], int, int]]:
    """Return route, amount and on-chain answer of every quote by `function`."""
    found = []
    for key, answer in recorded["quotes"].items():
        _, name, direction, amount = key.split("|")
        if name == function:
            sold, bought = direction.split("->")
            found.append(((sold, bought, FEE), int(amount), answer["value"]))
    return found


def test_the_pool_stands_where_it_does_on_mainnet_and_is_the_one_recorded(
    uniswap: UniswapV3, recorded: dict[str, Any]
) -> None:
    pool, scalars = uniswap.pool("WBTC", "WETH", FEE), recorded["scalars"]
    assert pool.address == bytes.fromhex(recorded["pool"][2:])
    assert (pool.fee, pool.tick_spacing, pool.tick) == (scalars["fee"], scalars["tick_spacing"], scalars["tick"])
    assert (pool.sqrt_price_x96, pool.liquidity) == (scalars["sqrt_price_x96"], scalars["liquidity"])
    assert [(str(each.tick), each.liquidity_gross, each.liquidity_net) for each in pool.ticks()] == [
        (text, gross, net) for text, (gross, net, *_) in sorted(recorded["tick_data"].items(), key=lambda x: int(x[0]))
    ]


def test_the_profile_holds_the_liquidity_that_trades_and_ends_in_nothing(uniswap: UniswapV3) -> None:
    pool = uniswap.pool("WBTC", "WETH", FEE)
    profile = pool.liquidity_profile(MIN_TICK, MAX_TICK)
    assert (profile[0].lower_tick, profile[-1].upper_tick) == (MIN_TICK, MAX_TICK)
    assert profile[0].liquidity == profile[-1].liquidity == 0
    assert all(before.upper_tick == after.lower_tick for before, after in pairwise(profile))
    assert [each.liquidity for each in profile if each.lower_tick <= pool.tick < each.upper_tick] == [pool.liquidity]


def test_all_forty_exact_input_quotes_are_those_of_the_chain(uniswap: UniswapV3, recorded: dict[str, Any]) -> None:
    quotes = asked(recorded, "quoteExactInputSingle")
    assert len(quotes) == 40
    for route, amount, on_chain in quotes:
        assert uniswap.quote_exact_input(route, amount).amount_out == on_chain, (route, amount)
        assert uniswap.amounts_out(route, [amount]) == [on_chain], (route, amount)


def test_all_forty_exact_output_quotes_are_those_of_the_chain(uniswap: UniswapV3, recorded: dict[str, Any]) -> None:
    """The recording limited the price, so a pool with too little answers for what it has."""
    quotes = asked(recorded, "quoteExactOutputSingle")
    assert len(quotes) == 40
    for route, amount, on_chain in quotes:
        limit = LOWEST_ROOT if route[0] == "WBTC" else HIGHEST_ROOT
        assert uniswap.quote_exact_output(route, amount, sqrt_price_limit_x96=limit).amount_in == on_chain, route
        assert uniswap.amount_in(route, amount, sqrt_price_limit_x96=limit) == on_chain, route


def test_a_swap_pays_what_the_chain_quoted(uniswap: UniswapV3, recorded: dict[str, Any]) -> None:
    fork, trader = uniswap.fork, "0x" + "7a" * 20
    for route, amount, on_chain in asked(recorded, "quoteExactInputSingle"):
        if on_chain and amount < 10**22:
            with fork.snapshot():
                fork.deal(route[0], trader, amount)
                assert uniswap.swap_exact_input(route, amount, sender=trader).amount_out == on_chain
