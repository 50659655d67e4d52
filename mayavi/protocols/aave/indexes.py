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
from mayavi.protocols.aave.rules.v30 import YEAR_S, ray_multiplied

_RESERVES = 52
"""Storage slot of the pool's mapping from asset to reserve."""
_LOW = 0, 128  # the lower half of a word, and the upper
_HIGH = 128, 128
_UPDATED = 128, 40


class Index(NamedTuple):
    """Index that turns scaled shares into a balance, and its rate of growth, both in ray."""

    index_ray: Word
    rate_ray: Word


class AaveIndexes:
    """Indexes of one reserve. Raises `StateError` if storage and views of the pool do not agree on them."""

    def __init__(self, market: AaveV3, asset: bytes) -> None:
        self._pool, self._rules = market.pool.address, market.rules
        self._place = int.from_bytes(keccak256(asset.rjust(32, b"\0") + _RESERVES.to_bytes(32)))
        self._check(market, asset)

    def income(self, program: Program, now: Word) -> Index:
        """Liquidity index of suppliers: simple interest since the last update."""
        word, elapsed = program.load(self._pool, self._place + 1), self._elapsed(program, now)
        rate = program.bits(word, *_HIGH)
        growth = program.add(RAY, program.divide(program.multiply(rate, elapsed), YEAR_S))
        return Index(ray_multiplied(program, growth, program.bits(word, *_LOW)), rate)

    def debt(self, program: Program, now: Word) -> Index:
        """Variable borrow index: compound interest by the series that the pool's code uses."""
        word, elapsed = program.load(self._pool, self._place + 2), self._elapsed(program, now)
        rate = program.bits(word, *_HIGH)
        growth = self._rules.compounded(program, rate, elapsed)
        return Index(ray_multiplied(program, growth, program.bits(word, *_LOW)), rate)

    def _elapsed(self, program: Program, now: Word) -> Word:
        return program.subtract(now, program.bits(program.load(self._pool, self._place + 3), *_UPDATED))

    def _check(self, market: AaveV3, asset: bytes) -> None:
        """Compare the computed indexes with the pool's views one month ahead."""
        twin = market.fork.copy()
        twin.mine(1, YEAR_S // 12)
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
                f"this world's Aave (revision {market.generation.revision}) does not keep its indexes as we know them",
                "take a replica",
            )


class Shares:
    """Balance of one holder of an aToken, or of a debt token if `owed`, stored in scaled shares."""

    def __init__(self, market: AaveV3, token: bytes, holder: bytes, *, owed: bool) -> None:
        query = selector_of("scaledBalanceOf(address)") + holder.rjust(32, b"\0")
        self._place = slot_behind(market.fork, token, query)
        self._bits = market.rules.balance_bits
        self._balance = market.rules.debt_word if owed else market.rules.supplied_word

    def balance(self, program: Program, index: Index) -> Word:
        """Return the balance at `index`."""
        return self._balance(program, program.bits(program.load(*self._place), 0, self._bits), index.index_ray)
