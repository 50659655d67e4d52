"""The real WBTC/WETH pool of block 24,407,242 on the npm bytecode: every quote recorded on chain, to the last unit."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mayavi import Fork
from mayavi.evm.hashing import keccak256
from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap_pool import MAX_TICK, MIN_TICK, UniswapV3Pool
from mayavi.worlds.deployment import Deployment
from mayavi.worlds.table import load_table
from mayavi.worlds.tokens import deploy_tokens
from mayavi.worlds.uniswap import deploy_uniswap

FEE = 3000
LOWEST_ROOT, HIGHEST_ROOT = 4295128740, 1461446703485210103287273052203988822378723970341
"""The outermost square root prices a swap may be limited to."""

# How the pool lays out its storage: slot of the liquidity and of the two mappings, bit of a tick's mark.
LIQUIDITY, TICKS, BITMAP, INITIALISED = 4, 5, 6, 248


@pytest.fixture(scope="module")
def recorded(cases: Path) -> dict[str, Any]:
    folder = cases / "mainnet" / "quotes"
    pool: dict[str, Any] = json.loads((folder / "uniswap_v3_wbtc_weth_block_24407242.json").read_bytes())
    quotes = json.loads((folder / "uniswap_v3_wbtc_weth_quotes.json").read_bytes())
    return {**pool, "quotes": quotes["entries"]}


@pytest.fixture(scope="module")
def uniswap(recorded: dict[str, Any]) -> UniswapV3:
    """Uniswap on an empty chain, with this one pool rebuilt from its tick map."""
    table = load_table("ethereum")
    fork = Fork.empty()
    fork.set_block(number=recorded["block"], timestamp=1_770_000_000)
    deployment = Deployment(fork)
    deploy_tokens(deployment, {symbol: table.tokens[symbol] for symbol in ("WBTC", "WETH")})
    deploy_uniswap(deployment, table.uniswap, wrapped_native="WETH", native="ETH")
    fork.labels = deployment.checksummed_labels()

    scalars = recorded["scalars"]
    pair = fork.address_of("WBTC"), fork.address_of("WETH")
    deployment.send("UniswapV3.Factory", "createPool(address,address,uint24)", *pair, FEE)
    uniswap = UniswapV3(fork)
    pool = uniswap.pool("WBTC", "WETH", FEE)
    deployment.send(pool.address, "initialize(uint160)", scalars["sqrt_price_x96"])
    write_ticks(fork, pool, recorded["tick_data"])
    fork.set_storage(pool.address, LIQUIDITY, scalars["liquidity"])
    fork.deal("WBTC", pool.address, recorded["balance_token0"])
    fork.deal("WETH", pool.address, recorded["balance_token1"])
    return uniswap


def write_ticks(fork: Fork, pool: UniswapV3Pool, ticks: dict[str, list[int]]) -> None:
    bitmap: dict[int, int] = {}
    for text, (gross, net, *_) in ticks.items():
        tick = int(text)
        place = mapping_slot(tick, TICKS)
        fork.set_storage(pool.address, place, net % 2**128 << 128 | gross)
        fork.set_storage(pool.address, place + 3, 1 << INITIALISED)
        word, bit = divmod(tick // pool.tick_spacing, 256)
        bitmap[word] = bitmap.get(word, 0) | 1 << bit
    for word, bits in bitmap.items():
        fork.set_storage(pool.address, mapping_slot(word, BITMAP), bits)


def mapping_slot(key: int, slot: int) -> int:
    return int.from_bytes(keccak256((key % 2**256).to_bytes(32, "big") + slot.to_bytes(32, "big")), "big")


def asked(recorded: dict[str, Any], function: str) -> list[tuple[tuple[str, str, int], int, int]]:
    """Route, amount and on-chain answer of every quote by `function`."""
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


def test_all_forty_exact_output_quotes_are_those_of_the_chain(uniswap: UniswapV3, recorded: dict[str, Any]) -> None:
    """The recording limited the price, so that an amount the pool does not have is answered with what it has."""
    quotes = asked(recorded, "quoteExactOutputSingle")
    assert len(quotes) == 40
    for route, amount, on_chain in quotes:
        limit = LOWEST_ROOT if route[0] == "WBTC" else HIGHEST_ROOT
        assert uniswap.quote_exact_output(route, amount, sqrt_price_limit_x96=limit).amount_in == on_chain, route


def test_a_swap_pays_what_the_chain_quoted(uniswap: UniswapV3, recorded: dict[str, Any]) -> None:
    fork, trader = uniswap.fork, "0x" + "7a" * 20
    for route, amount, on_chain in asked(recorded, "quoteExactInputSingle"):
        if on_chain and amount < 10**22:
            with fork.snapshot():
                fork.deal(route[0], trader, amount)
                assert uniswap.swap_exact_input(route, amount, sender=trader).amount_out == on_chain
