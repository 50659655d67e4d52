"""Pools for all tests of the Curve adapter: two of the replica, and the 3pool's own bytecode."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mayavi import Fork
from mayavi.protocols import CurveStableSwap
from mayavi.replay.case import read_bytecodes
from mayavi.validation.contracts.stableswap_pools import POOL_CODE, install_tripool

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
WORLDS = ("3pool", "fraxusdc", "mainnet 3pool")
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
DAY = 86_400


@cache
def _replica() -> Fork:
    return Fork.replica("ethereum")


@cache
def _mainnet_replica(cases: Path) -> Fork:
    """Replica with mainnet's code at the 3pool's address and the replica pool's balances."""
    fork = _replica().copy()
    replaced = CurveStableSwap(fork)
    code = read_bytecodes(cases / "mainnet" / "blocks")[POOL_CODE]
    install_tripool(
        fork,
        code,
        coins=[coin.address for coin in replaced.coins],
        balances=replaced.balances,
        fees=(replaced.fee_e10, replaced.admin_fee_e10),
        owner=replaced.owner,
        lp_token=replaced.lp_token.address,
        amp=replaced.a,
    )
    return fork


def open_pool(world: str, cases: Path | None) -> CurveStableSwap:
    """Open a fresh pool of that world; alice holds a million of each coin."""
    fork = _replica().copy() if cases is None else _mainnet_replica(cases).copy()
    pool = CurveStableSwap(fork, f"Curve.{world.removeprefix('mainnet ')}")
    for coin in pool.coins:
        fork.deal(coin.address, ALICE, 10 ** (6 + coin.decimals))
    return pool


def whole(pool: CurveStableSwap, coin: int, amount: int) -> int:
    return amount * 10 ** pool.coins[coin].decimals


def even(pool: CurveStableSwap, amount: int) -> list[int]:
    return [whole(pool, i, amount) for i in range(len(pool.coins))]
