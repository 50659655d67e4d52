"""Pools at the edges: one tick, no liquidity, the lowest and the highest price, and unbalanced Curve pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.pool import MAX_TICK, UniswapV3Pool
from mayavi.worlds.deploy.curve import create_pool, pool_label
from mayavi.worlds.deploy.deployment import DEPLOYER, MARKET, Deployment, named_account
from mayavi.worlds.deploy.tokens import deploy_tokens
from mayavi.worlds.deploy.uniswap import CREATE_POOL, INITIALIZE, deploy_uniswap
from mayavi.worlds.tables.chain import Token, Uniswap, load_table
from mayavi.worlds.tables.curve import CurvePool

LOWEST_ROOT, HIGHEST_ROOT = 4295128739, 1461446703485210103287273052203988822378723970341
"""Lowest and highest square root price at which a pool can be initialised."""
_ONE = 2**96
_RICH = 10**45
_FIRST_TIMESTAMP = 1_700_000_000

Range = tuple[int, int, int, int]
"""Lower tick, upper tick and the most of both tokens to deposit; ticks in units of the pool's spacing."""


@dataclass(frozen=True, slots=True)
class OddPool:
    """A pool by its fee, first square root price (0: never initialised) and liquidity."""

    fee: int
    root: int
    ranges: tuple[Range, ...]


_EDGE = MAX_TICK
ODD_POOLS: Mapping[str, OddPool] = {
    "ONE_TICK_100": OddPool(100, _ONE, ((0, 1, 10**24, 10**24),)),
    "ONE_TICK_3000": OddPool(3000, _ONE, ((0, 1, 10**24, 10**24),)),
    "ONE_TICK_10000": OddPool(10_000, _ONE, ((0, 1, 10**12, 10**12),)),
    "EMPTY": OddPool(3000, _ONE, ()),
    "NEVER_INITIALISED": OddPool(3000, 0, ()),
    "LOWEST_PRICE": OddPool(3000, LOWEST_ROOT, ((-_EDGE, _EDGE, 10**38, 10**38),)),
    "HIGHEST_PRICE": OddPool(3000, HIGHEST_ROOT, ((-_EDGE, _EDGE, 10**38, 10**38),)),
    "VERY_LOW_PRICE": OddPool(500, _ONE >> 60, ((-_EDGE, _EDGE, 10**36, 10**18),)),
    "VERY_HIGH_PRICE": OddPool(500, _ONE << 60, ((-_EDGE, _EDGE, 10**18, 10**36),)),
    "DUST": OddPool(500, _ONE, ((-1, 1, 3, 3),)),
    "ABOVE_THE_PRICE": OddPool(3000, _ONE, ((10, 12, 10**20, 10**20),)),
    "BELOW_THE_PRICE": OddPool(3000, _ONE, ((-12, -10, 10**20, 10**20),)),
    "WITH_A_GAP": OddPool(
        500, _ONE, ((-2, 2, 10**18, 10**18), (600, 700, 10**21, 10**21), (-700, -600, 10**21, 10**21))
    ),
    "DEEP": OddPool(10_000, _ONE, ((-1, 1, 3 * 10**32, 3 * 10**32),)),
}
"""Uniswap V3 pools by the prefix of their tokens."""

ODD_CURVE_POOLS: Mapping[str, tuple[int, Sequence[int]]] = {
    "unbalanced": (2_000, (10**26, 10**12, 10**16)),
    "nearly_empty": (100, (10**12, 1, 10**6)),
    "lowest_a": (1, (10**24, 10**12, 10**12)),
    "highest_a": (999_999, (10**24, 10**12, 10**10)),
}
"""Curve pools of coins with 18, 6 and 6 decimals: A, and balances in smallest units."""


def odd_world() -> Fork:
    """Return an empty chain with Uniswap V3, Curve code and every odd pool, labelled like those of a replica."""
    fork = Fork.empty(chain_id=1)
    fork.set_block(number=1, timestamp=_FIRST_TIMESTAMP)
    deployment = Deployment(fork)
    decimals = {f"{name}_{side}": 18 for name in ODD_POOLS for side in (0, 1)}
    decimals |= {"C18": 18, "C6": 6, "C6B": 6}
    deploy_tokens(
        deployment,
        {symbol: Token(checksum(named_account(f"odd.{symbol}")), symbol, each) for symbol, each in decimals.items()},
    )
    known = load_table("ethereum").uniswap
    deploy_uniswap(deployment, Uniswap(known.addresses, {}, ()), wrapped_native="C18", native="ETH")
    fork.labels = deployment.checksummed_labels()
    for name, odd in ODD_POOLS.items():
        _create(fork, deployment, name, odd)
    for name, (a, balances) in ODD_CURVE_POOLS.items():
        _create_curve(fork, deployment, name, a, balances)
    return fork


def _create(fork: Fork, deployment: Deployment, name: str, odd: OddPool) -> None:
    pair = sorted(deployment.addresses((f"{name}_0", f"{name}_1")))
    deployment.send("UniswapV3.Factory", CREATE_POOL, *pair, odd.fee)
    address = deployment.view("UniswapV3.Factory", "getPool(address,address,uint24)(address)", *pair, odd.fee)
    fork.labels[f"UniswapV3.{name}_0/{name}_1.{odd.fee}"] = checksum(address)
    if not odd.root:
        return
    deployment.send(address, INITIALIZE, odd.root)
    pool = UniswapV3Pool(fork, address)
    for token in pair:
        fork.deal(token, MARKET, _RICH)
    edge = MAX_TICK // pool.tick_spacing
    for lower, upper, *amounts in odd.ranges:
        ticks = [max(-edge, min(edge, each)) * pool.tick_spacing for each in (lower, upper)]
        UniswapV3(fork).mint(pool, ticks[0], ticks[1], amounts, sender=MARKET)


def _create_curve(fork: Fork, deployment: Deployment, name: str, a: int, balances: Sequence[int]) -> None:
    pool = CurvePool(
        name=name,
        address=checksum(named_account(f"odd.curve.{name}")),
        lp_token=checksum(named_account(f"odd.curve.{name}.lp")),
        lp_name=name,
        lp_symbol="LP",
        owner=checksum(DEPLOYER),
        coins=("C18", "C6", "C6B"),
        balances=(),  # deposited below in smallest units
        a=a,
        fee_e10=4_000_000,
        admin_fee_e10=5_000_000_000,
    )
    create_pool(deployment, pool)
    label = pool_label(pool)
    fork.labels |= {each: checksum(deployment[each]) for each in (label, f"{label}.LP")}
    for symbol, amount in zip(pool.coins, balances, strict=True):
        fork.deal(symbol, MARKET, amount)
    CurveStableSwap(fork, label).add_liquidity(list(balances), sender=MARKET)
