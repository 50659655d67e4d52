"""Many borrowers of one asset against one collateral on Aave V3, each read from slots to the unit.

Aave keeps balances in shares and an index for each reserve that grows with time. A program works out with the pool's
own arithmetic what `getUserAccountData` would answer: two slots for each borrower instead of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import StateError
from mayavi.evm.fleet import Fleet, Program, Template, Word
from mayavi.evm.hashing import keccak256, selector_of
from mayavi.evm.token_balance import slot_behind
from mayavi.evm.units import RAY, WAD
from mayavi.protocols.aave_v3 import AaveV3

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_RESERVES = 52
"""The pool's slot of the mapping from assets to reserves."""
_BITS = 128
_YEAR_S = 365 * 86_400
_ALL_BPS = 10_000
_VARIABLE_RATE = 2
_AMOUNT = 36
"""Where calls of the pool have their amount: behind the selector and the asset."""
NO_DEBT_WAD = 2**256 - 1
"""The health factor of an account that owes nothing."""


class Account(NamedTuple):
    """How a borrower stands in a row: words of a program."""

    collateral: Word
    debt: Word
    health_factor_wad: Word


class _Reserve(NamedTuple):
    """What a program knows of a reserve: where it lies, and what balances have to be multiplied with now."""

    income: Word
    debt: Word


class AaveBook:
    """`borrowers` of `debt` against `collateral` on the market of `fork`."""

    def __init__(self, fork: Fork, collateral: str, debt: str, borrowers: Sequence[bytes]) -> None:
        self.market = AaveV3(fork)
        self.pool, self.borrowers = self.market.pool, tuple(borrowers)
        self.collateral, self.debt = self.market.reserve(collateral), self.market.reserve(debt)
        self.unit, self.debt_unit = (int(10**each.configuration.decimals) for each in (self.collateral, self.debt))
        query = selector_of("scaledBalanceOf(address)")
        self._places = [
            tuple(
                slot_behind(fork, token, query + borrower.rjust(32, b"\0"))
                for token in (self.collateral.a_token, self.debt.variable_debt_token)
            )
            for borrower in self.borrowers
        ]
        self._check(fork)

    # -- reading ------------------------------------------------------------------------------------------------------

    def look(self, program: Program, price_e8: Word | int) -> list[Account]:
        """Every borrower at the time the program has come to, with the collateral at `price_e8`."""
        _, now = program.time()
        income = self._reserve(program, self.collateral.address, now).income
        owed = self._reserve(program, self.debt.address, now).debt
        threshold = self.collateral.configuration.liquidation_threshold_bps
        accounts = []
        for supplied_at, owed_at in self._places:
            supplied = _ray_multiply(program, program.bits(program.load(*supplied_at), 0, _BITS), income)
            debt = _ray_multiply(program, program.bits(program.load(*owed_at), 0, _BITS), owed)
            value = program.divide(program.multiply(supplied, price_e8), self.unit)
            debt_value = program.divide(program.multiply(debt, self.debt.price_usd_e8), self.debt_unit)
            limit = program.divide(program.add(program.multiply(value, threshold), _ALL_BPS // 2), _ALL_BPS)
            rounded = program.add(program.multiply(limit, WAD), program.divide(debt_value, 2))
            health = program.either(debt_value, program.divide(rounded, debt_value), NO_DEBT_WAD)
            accounts.append(Account(supplied, debt, health))
        return accounts

    def _reserve(self, program: Program, asset: bytes, now: Word) -> _Reserve:
        base = int.from_bytes(keccak256(asset.rjust(32, b"\0") + _RESERVES.to_bytes(32)))
        liquidity, variable, stable = (program.load(self.pool.address, base + at) for at in (1, 2, 3))
        passed = program.subtract(now, program.bits(stable, _BITS, 40))
        rate = program.bits(liquidity, _BITS, _BITS)
        linear = program.add(program.divide(program.multiply(rate, passed), _YEAR_S), RAY)
        compounded = _compounded(program, program.bits(variable, _BITS, _BITS), passed)
        return _Reserve(
            _ray_multiply(program, linear, program.bits(liquidity, 0, _BITS)),
            _ray_multiply(program, compounded, program.bits(variable, 0, _BITS)),
        )

    def _check(self, fork: Fork) -> None:
        """Whether this world's pool keeps its reserves where they are looked for."""
        twin = fork.copy()
        twin.mine(1, _YEAR_S // 12)
        program = Program()
        _, now = program.time()
        for name, asset in (("collateral", self.collateral.address), ("debt", self.debt.address)):
            reserve = self._reserve(program, asset, now)
            program.output(f"{name}_income", reserve.income)
            program.output(f"{name}_debt", reserve.debt)
        seen = Fleet(twin, 1).run(program, threads=1)
        market = AaveV3(twin)
        for name, asset in (("collateral", self.collateral.address), ("debt", self.debt.address)):
            told = market.reserve(asset)
            if (seen[f"{name}_income"][0], seen[f"{name}_debt"][0]) != (
                told.normalised_income_ray,
                told.normalised_variable_debt_ray,
            ):
                raise StateError(
                    "this world's Aave keeps its reserves in another way than version 3.0",
                    "take the replica, or a block before the market was upgraded",
                )

    # -- acting -------------------------------------------------------------------------------------------------------

    def supply(self, borrower: bytes, amount: Word) -> Template:
        """`borrower` puts up collateral."""
        data = self.pool.supply.encode(self.collateral.address, 0, borrower, 0)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=borrower)

    def borrow(self, borrower: bytes, amount: Word) -> Template:
        """`borrower` takes a loan."""
        data = self.pool.borrow.encode(self.debt.address, 0, _VARIABLE_RATE, 0, borrower)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=borrower)

    def liquidate(self, liquidator: bytes, borrower: Word, cover: Word) -> Template:
        """`liquidator` pays `cover` of the debt of the account that `borrower` names."""
        data = self.pool.liquidationCall.encode(self.collateral.address, self.debt.address, bytes(20), 0, False)
        return Template(self.pool.address, data, {68: borrower, 100: cover}, sender=liquidator)


def _ray_multiply(program: Program, a: Word, b: Word) -> Word:
    """`a * b` in 27 decimals, rounded to the nearest as Aave does."""
    return program.divide(program.add(program.multiply(a, b), RAY // 2), RAY)


def _compounded(program: Program, rate: Word, passed: Word) -> Word:
    """Three terms of the binomial series, as Aave has them."""
    less_one, less_two = program.subtract(passed, 1), program.subtract(passed, 2)
    second_power = program.divide(_ray_multiply(program, rate, rate), _YEAR_S * _YEAR_S)
    third_power = program.divide(_ray_multiply(program, second_power, rate), _YEAR_S)
    pairs = program.multiply(passed, less_one)
    second = program.divide(program.multiply(pairs, second_power), 2)
    third = program.divide(program.multiply(program.multiply(pairs, less_two), third_power), 6)
    first = program.divide(program.multiply(rate, passed), _YEAR_S)
    return program.add(program.add(program.add(first, RAY), second), third)
