"""`get_dy` against executed exchanges of one Curve StableSwap pool.

The pool takes its fee from a quote after it has rounded to the coin's decimals, and from an exchange before. So an
exchange may give one unit less of a coin with fewer than 18 decimals; every other difference counts.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from mayavi.errors import ExecutionError, MissingStateError
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.curve.views import pools_of
from mayavi.validation.gate import Tally
from mayavi.validation.quoter.sizes import amounts_in
from mayavi.validation.quoter.uniswap import TRADER, deal, existing

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_FULL_DECIMALS = 18
_FOREVER = 2**256 - 1


def curve_pools(fork: Fork) -> list[str]:
    """Return the labels of the Curve pools that exist on `fork`."""
    return existing(fork, pools_of(fork))


def compare_curve_pool(fork: Fork, label: str, tally: Tally, *, where: str) -> int:
    """Compare `get_dy` and `exchange` for every pair of coins; return how often they differ by the rounding alone."""
    pool, rounded = CurveStableSwap(fork, label), 0
    with fork.snapshot():
        for coin in pool.coins:
            coin.approve(pool.address, _FOREVER, sender=TRADER)
        for i, j in permutations(range(len(pool.coins)), 2):
            slack = int(pool.coins[j].decimals < _FULL_DECIMALS)
            for amount in amounts_in(pool.balances[i]):
                try:
                    quoted = _quote(pool, i, j, amount)
                    with fork.snapshot():
                        if not deal(fork, pool.coins[i].address, amount):
                            tally.skip(f"{where}, {label}: the trader cannot be given so much {pool.symbols[i]}")
                            continue
                        given = _exchange(pool, i, j, amount)
                except MissingStateError:
                    tally.skip(f"{where}, {label}: the snapshot lacks the state that the trade needs")
                    continue
                same = quoted == given
                near = quoted is not None and given is not None and 0 < quoted - given <= slack
                rounded += near
                pair = f"{amount} units of {pool.symbols[i]} for {pool.symbols[j]}"
                said, got = ("a revert" if each is None else f"{each} units" for each in (quoted, given))
                tally.check(
                    same or near, f"{where}, {label}, {pair}: get_dy says {said}, the exchange gives {got}", part=where
                )
    return rounded


def _quote(pool: CurveStableSwap, i: int, j: int, amount: int) -> int | None:
    try:
        return pool.quote(i, j, amount)
    except ExecutionError:
        return None


def _exchange(pool: CurveStableSwap, i: int, j: int, amount: int) -> int | None:
    before = pool.coins[j].balance_of(TRADER)
    try:
        pool.contract.exchange(i, j, amount, 0, sender=TRADER)
    except ExecutionError:
        return None
    return pool.coins[j].balance_of(TRADER) - before
