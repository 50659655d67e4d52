"""Rebuild a recorded pool offline: Uniswap V3 from its ticks on Uniswap's own code, Curve on ours.

Each pool is at its real address on an otherwise empty chain, with replacement tokens at the real tokens' addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.errors import ExecutionError
from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.answers import BadValue
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from mayavi.worlds.deploy.curve import create_pool
from mayavi.worlds.deploy.deployment import MARKET, Deployment, named_account
from mayavi.worlds.deploy.tokens import deploy_tokens
from mayavi.worlds.deploy.uniswap import CREATE_POOL, INITIALIZE, deploy_uniswap
from mayavi.worlds.tables.chain import Token, Uniswap, load_table
from mayavi.worlds.tables.curve import CurvePool

Recorded = Mapping[str, Any]

# Storage layout of a Uniswap V3 pool: slots of liquidity and two mappings, and the bit of an initialised tick.
_LIQUIDITY, _TICKS, _BITMAP, _INITIALISED = 4, 5, 6, 248
_STABLESWAP_COINS = (2, 3)


def rebuild_uniswap_pool(recorded: Recorded) -> UniswapV3:
    """Rebuild the Uniswap V3 pool of `recorded`: `scalars`, `tick_data`, `token0`, `token1`."""
    tokens = [recorded["token0"], recorded["token1"]]
    fork, deployment = _chain_with(recorded, tokens)
    scalars, symbols = recorded["scalars"], [token["symbol"] for token in tokens]
    pair = deployment.addresses(symbols)
    if pair != sorted(pair):
        raise BadValue(f"token0 {symbols[0]} has a higher address than token1 {symbols[1]}")
    known = load_table("ethereum").uniswap
    deploy_uniswap(deployment, Uniswap(known.addresses, {}, ()), wrapped_native=symbols[0], native="ETH")
    fork.labels = deployment.checksummed_labels()
    deployment.send("UniswapV3.Factory", CREATE_POOL, *pair, scalars["fee"])
    uniswap = UniswapV3(fork)
    pool = uniswap.pool(symbols[0], symbols[1], scalars["fee"])
    if checksum(pool.address) != checksum(recorded["pool"]):
        raise BadValue(f"the factory puts this pool at {checksum(pool.address)}, not at {recorded['pool']}")
    deployment.send(pool.address, INITIALIZE, scalars["sqrt_price_x96"])
    _write_ticks(fork, pool, recorded["tick_data"])
    fork.set_storage(pool.address, _LIQUIDITY, scalars["liquidity"])
    for symbol, key in zip(symbols, ("balance_token0", "balance_token1"), strict=True):
        fork.deal(symbol, pool.address, recorded[key])
    if (pool.tick, pool.tick_spacing) != (scalars["tick"], scalars["tick_spacing"]):
        raise BadValue(f"price and fee give tick {pool.tick} and spacing {pool.tick_spacing}, not those recorded")
    return uniswap


def rebuild_curve_pool(recorded: Recorded) -> CurveStableSwap:
    """Rebuild a StableSwap pool from the recorded `tokens`, `balances`, `a_coefficient` and fees."""
    tokens = recorded["tokens"]
    if len(tokens) not in _STABLESWAP_COINS:
        raise BadValue(f"a pool of {len(tokens)} coins; there is code for two and for three")
    fork, deployment = _chain_with(recorded, tokens)
    pool = CurvePool(
        name="recorded",
        address=recorded["address"],
        lp_token=checksum(named_account("shares")),  # quotes do not depend on its address
        lp_name="shares",
        lp_symbol="LP",
        owner=checksum(MARKET),
        coins=tuple(token["symbol"] for token in tokens),
        balances=(),  # converted to smallest units below
        a=recorded["a_coefficient"],
        fee_e10=recorded["fee"],
        admin_fee_e10=recorded["admin_fee"],
    )
    create_pool(deployment, pool)
    fork.labels = deployment.checksummed_labels()
    return _filled(fork, pool, recorded["balances"])


def _filled(fork: Fork, pool: CurvePool, balances: Sequence[int]) -> CurveStableSwap:
    rebuilt = CurveStableSwap(fork, "Curve.recorded")
    for symbol, amount in zip(pool.coins, balances, strict=True):
        fork.deal(symbol, MARKET, amount)
    try:
        rebuilt.add_liquidity(list(balances), sender=MARKET)
    except ExecutionError as error:
        raise BadValue(f"no pool can hold these balances: {error}") from error
    return rebuilt


def _chain_with(recorded: Recorded, tokens: Sequence[Recorded]) -> tuple[Fork, Deployment]:
    fork = Fork.empty(chain_id=recorded["chain_id"])
    fork.set_block(number=recorded["block"], timestamp=recorded.get("block_timestamp", 1_700_000_000))
    deployment = Deployment(fork)
    deploy_tokens(
        deployment,
        {token["symbol"]: Token(token["address"], token["name"], token["decimals"]) for token in tokens},
    )
    return fork, deployment


def _write_ticks(fork: Fork, pool: UniswapV3Pool, ticks: Mapping[str, Sequence[int]]) -> None:
    bitmap: dict[int, int] = {}
    for text, (gross, net, *_) in ticks.items():
        tick = int(text)
        place = _mapping_slot(tick, _TICKS)
        fork.set_storage(pool.address, place, net % 2**128 << 128 | gross)
        fork.set_storage(pool.address, place + 3, 1 << _INITIALISED)
        word, bit = divmod(tick // pool.tick_spacing, 256)
        bitmap[word] = bitmap.get(word, 0) | 1 << bit
    for word, bits in bitmap.items():
        fork.set_storage(pool.address, _mapping_slot(word, _BITMAP), bits)


def _mapping_slot(key: int, slot: int) -> int:
    return int.from_bytes(keccak256((key % 2**256).to_bytes(32, "big") + slot.to_bytes(32, "big")), "big")
