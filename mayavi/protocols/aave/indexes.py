"""Aave V3 read from its storage: what balances are multiplied with, worked out from the slots the pool's views read.

A view of the pool costs as much as many a transaction. What it computes is a few multiplications of what lies in three
slots of a reserve, so a program does them itself, rounding as Aave's library does: halves up.
"""

from __future__ import annotations

from typing import NamedTuple

from mayavi.errors import StateError
from mayavi.evm.fleet import Fleet, Program, Word
from mayavi.evm.hashing import keccak256, selector_of
from mayavi.evm.token_balance import slot_behind
from mayavi.evm.units import RAY
from mayavi.protocols.aave.market import AaveV3

_RESERVES = 52
"""The pool's slot of the mapping from assets to reserves."""
_LOW = 0, 128  # the lower half of a word, and the upper
_HIGH = 128, 128
_UPDATED = 128, 40
_YEAR_S = 365 * 86_400


class Index(NamedTuple):
    """What shares are multiplied with at a time to get a balance, and the rate at which it grows, both in ray."""

    index_ray: Word
    rate_ray: Word


class AaveIndexes:
    """The indexes of one reserve; `StateError` where this market keeps them in another way than version 3.0."""

    def __init__(self, market: AaveV3, asset: bytes) -> None:
        self._pool = market.pool.address
        self._place = int.from_bytes(keccak256(asset.rjust(32, b"\0") + _RESERVES.to_bytes(32)))
        self._check(market, asset)

    def income(self, program: Program, now: Word) -> Index:
        """That of what was supplied: interest since the last change is simple."""
        word, elapsed = program.load(self._pool, self._place + 1), self._elapsed(program, now)
        rate = program.bits(word, *_HIGH)
        growth = program.add(RAY, program.divide(program.multiply(rate, elapsed), _YEAR_S))
        return Index(ray_multiplied(program, growth, program.bits(word, *_LOW)), rate)

    def debt(self, program: Program, now: Word) -> Index:
        """That of what was borrowed at the variable rate: compounded, by three terms of the binomial series."""
        word, elapsed = program.load(self._pool, self._place + 2), self._elapsed(program, now)
        rate = program.bits(word, *_HIGH)
        pairs = program.multiply(elapsed, program.subtract(elapsed, 1))
        triples = program.multiply(pairs, program.subtract(elapsed, 2))
        squared = program.divide(ray_multiplied(program, rate, rate), _YEAR_S**2)
        cubed = program.divide(ray_multiplied(program, squared, rate), _YEAR_S)
        growth = program.add(RAY, program.divide(program.multiply(rate, elapsed), _YEAR_S))
        growth = program.add(growth, program.divide(program.multiply(pairs, squared), 2))
        growth = program.add(growth, program.divide(program.multiply(triples, cubed), 6))
        return Index(ray_multiplied(program, growth, program.bits(word, *_LOW)), rate)

    def _elapsed(self, program: Program, now: Word) -> Word:
        return program.subtract(now, program.bits(program.load(self._pool, self._place + 3), *_UPDATED))

    def _check(self, market: AaveV3, asset: bytes) -> None:
        """Whether what is worked out is what the pool says, a month from now."""
        twin = market.fork.copy()
        twin.mine(1, _YEAR_S // 12)
        program = Program()
        _, now = program.time()
        indexes = self.income(program, now), self.debt(program, now)
        for name, word in zip(
            ("income", "supply_rate", "debt", "borrow_rate"), (*indexes[0], *indexes[1]), strict=True
        ):
            program.output(name, word)
        seen = Fleet(twin, 1).run(program, threads=1)
        told = AaveV3(twin, self._pool).reserve(asset)
        expected = {
            "income": told.normalised_income_ray,
            "supply_rate": told.supply_rate_ray,
            "debt": told.normalised_variable_debt_ray,
            "borrow_rate": told.variable_borrow_rate_ray,
        }
        if {name: words[0] for name, words in seen.items()} != expected:
            raise StateError(
                "this world's Aave keeps its reserves in another way than version 3.0",
                "take the replica, or a block before the market was upgraded",
            )


class Shares:
    """The balance of one holder of an aToken or a debt token, which is kept in shares of an index."""

    def __init__(self, market: AaveV3, token: bytes, holder: bytes) -> None:
        query = selector_of("scaledBalanceOf(address)") + holder.rjust(32, b"\0")
        self._place = slot_behind(market.fork, token, query)

    def balance(self, program: Program, index: Index) -> Word:
        """The balance at `index`."""
        return ray_multiplied(program, program.bits(program.load(*self._place), *_LOW), index.index_ray)


def ray_multiplied(program: Program, a: Word, b: Word) -> Word:
    """`a * b` in 27 decimals, rounded to the nearest."""
    return program.divide(program.add(program.multiply(a, b), RAY // 2), RAY)
