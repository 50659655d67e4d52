"""Aave V3 interest indexes inside a kernel program, computed from storage.

A view of the pool costs as much gas as many transactions. Its result is a few multiplications of three storage slots of
the reserve, so a program computes them itself, rounding half up like Aave's library.
"""

from __future__ import annotations

from typing import NamedTuple

from mayavi.errors import StateError
from mayavi.evm.fleet import Fleet, Program, Word
from mayavi.evm.fork.token_balance import slot_behind
from mayavi.evm.hashing import keccak256, selector_of
from mayavi.evm.units import RAY
from mayavi.protocols.aave.market import AaveV3

_RESERVES = 52
"""Storage slot of the pool's mapping from asset to reserve."""
_LOW = 0, 128  # the lower half of a word, and the upper
_HIGH = 128, 128
_UPDATED = 128, 40
_YEAR_S = 365 * 86_400


class Index(NamedTuple):
    """Index that turns scaled shares into a balance, and its rate of growth, both in ray."""

    index_ray: Word
    rate_ray: Word


class AaveIndexes:
    """Indexes of one reserve. Raises `StateError` if the market's storage layout is not that of version 3.0."""

    def __init__(self, market: AaveV3, asset: bytes) -> None:
        self._pool = market.pool.address
        self._place = int.from_bytes(keccak256(asset.rjust(32, b"\0") + _RESERVES.to_bytes(32)))
        self._check(market, asset)

    def income(self, program: Program, now: Word) -> Index:
        """Liquidity index of suppliers: simple interest since the last update."""
        word, elapsed = program.load(self._pool, self._place + 1), self._elapsed(program, now)
        rate = program.bits(word, *_HIGH)
        growth = program.add(RAY, program.divide(program.multiply(rate, elapsed), _YEAR_S))
        return Index(ray_multiplied(program, growth, program.bits(word, *_LOW)), rate)

    def debt(self, program: Program, now: Word) -> Index:
        """Variable borrow index: compound interest by three terms of the binomial series."""
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
        """Compare the computed indexes with the pool's views one month ahead."""
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
        reserve = AaveV3(twin, self._pool).reserve(asset)
        expected = {
            "income": reserve.normalised_income_ray,
            "supply_rate": reserve.supply_rate_ray,
            "debt": reserve.normalised_variable_debt_ray,
            "borrow_rate": reserve.variable_borrow_rate_ray,
        }
        if {name: words[0] for name, words in seen.items()} != expected:
            raise StateError(
                "this world's Aave does not have the storage layout of version 3.0",
                "take the replica, or a block before the market was upgraded",
            )


class Shares:
    """Balance of one holder of an aToken or debt token, stored in scaled shares."""

    def __init__(self, market: AaveV3, token: bytes, holder: bytes) -> None:
        query = selector_of("scaledBalanceOf(address)") + holder.rjust(32, b"\0")
        self._place = slot_behind(market.fork, token, query)

    def balance(self, program: Program, index: Index) -> Word:
        """Return the balance at `index`."""
        return ray_multiplied(program, program.bits(program.load(*self._place), *_LOW), index.index_ray)


def ray_multiplied(program: Program, a: Word, b: Word) -> Word:
    """Return `a * b` in ray, rounded half up."""
    return program.divide(program.add(program.multiply(a, b), RAY // 2), RAY)
