"""Aave V3 adapter of the borrower environments."""

from __future__ import annotations

from typing import NamedTuple

from mayavi.errors import StateError
from mayavi.evm.fleet import Fleet, Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import (
    BORROWER,
    EVERYTHING,
    LIQUIDATOR,
    MARKET,
    UNLIMITED,
    LendingAdapter,
    Standing,
    Terms,
)
from mayavi.protocols.aave.indexes import AaveIndexes, Shares
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.rates import optimal_usage_ray

_VARIABLE_RATE = 2
_AMOUNT = 36  # offset of the amount in calls of the pool: behind the selector and the asset
_BPS = 10_000
_RAY_TO_WAD = 10**9


class _Account(NamedTuple):
    """State of an account in the pool."""

    collateral: Word
    debt: Word
    collateral_value_e8: Word
    debt_value_e8: Word
    health_factor_wad: Word
    borrow_rate_ray: Word
    supply_rate_ray: Word


class AaveAdapter(LendingAdapter):
    """Aave V3 on the chain of `fork`.

    `standing` is computed from storage slots by the rules of the pool's generation, or by calls of its views if a pool
    does not keep them.
    """

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        super().__init__(fork, collateral, debt)
        self.market = AaveV3(fork)
        self.pool = self.market.pool
        self.spender = self.pool.address
        self.reserve, self.debt_reserve = self.market.reserve(collateral), self.market.reserve(debt)
        self.feed: bytes = self.market.oracle.getSourceOfAsset(self.collateral.address)
        settings = self.reserve.configuration
        self.ltv_bps, self.threshold_bps = settings.ltv_bps, settings.liquidation_threshold_bps

    def read_terms(self) -> Terms:
        """Read the present terms."""
        debt, wad = self.debt_reserve, WAD // _BPS
        return Terms(
            price_e8=self.reserve.price_usd_e8,
            debt_price_e8=debt.price_usd_e8,
            threshold_wad=self.threshold_bps * wad,
            ltv_wad=self.ltv_bps * wad,
            kink=optimal_usage_ray(self.market, debt) / 10**27,
            supplied=debt.borrowed + debt.available,
            borrowed=debt.borrowed,
            room=(
                _room(debt.configuration.supply_cap, debt.supplied),
                _room(self.reserve.configuration.supply_cap, self.reserve.supplied),
                min(_room(debt.configuration.borrow_cap, debt.borrowed), debt.available),
            ),
        )

    # -- sending ------------------------------------------------------------------------------------------------------

    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Supply collateral."""
        return self._send(self.pool.supply.encode(self.collateral.address, 0, who, 0), amount, who)

    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Take a loan at the variable rate."""
        return self._send(self.pool.borrow.encode(self.debt.address, 0, _VARIABLE_RATE, 0, who), amount, who)

    def repay(self, amount: Word) -> Template:
        """Repay at the variable rate."""
        return self._send(self.pool.repay.encode(self.debt.address, 0, _VARIABLE_RATE, BORROWER), amount, BORROWER)

    def lend(self, amount: Word) -> Template:
        """Supply the debt asset as the rest of the market."""
        return self._send(self.pool.supply.encode(self.debt.address, 0, MARKET, 0), amount, MARKET)

    def liquidate(self) -> Template:
        """Liquidate as much as the close factor allows."""
        pair = self.collateral.address, self.debt.address
        data = self.pool.liquidationCall.encode(*pair, BORROWER, EVERYTHING, False)
        return Template(self.pool.address, data, sender=LIQUIDATOR)

    def _send(self, data: bytes, amount: Word, sender: bytes) -> Template:
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=sender)

    # -- reading ------------------------------------------------------------------------------------------------------

    def find_slots(self) -> None:
        """Find the slots of both reserves and of the borrower's balances; otherwise views are called."""
        market, tokens = self.market, (self.reserve.a_token, self.debt_reserve.variable_debt_token)
        try:
            self.indexes = AaveIndexes(market, self.collateral.address), AaveIndexes(market, self.debt.address)
            self.shares = (
                Shares(market, tokens[0], BORROWER, owed=False),
                Shares(market, tokens[1], BORROWER, owed=True),
            )
            self.by_slots = self._agrees()
        except StateError:
            self.by_slots = False

    def _agrees(self) -> bool:
        """Whether slots and views agree on a loan after a day of interest."""
        fork, terms = self.fork.copy(), self.terms
        account = AaveV3(fork).account(BORROWER)
        account.supply(self.collateral.address, self.unit)
        account.borrow(self.debt.address, terms.price_e8 * self.debt_unit // (2 * terms.debt_price_e8))
        fork.mine(7_200)
        program = Program()
        for number, read in enumerate((self._by_slots, self._by_views)):
            for name, word in zip(_Account._fields, read(program, terms.price_e8), strict=True):
                program.output(f"{name} {number}", word)
        found = Fleet(fork, 1).run(program, threads=1)
        return all(found[f"{name} 0"][0] == found[f"{name} 1"][0] for name in _Account._fields)

    def health_factor_wad(self, program: Program, price_e8: Word | int) -> Word:
        """Health factor by the arithmetic of the pool."""
        if self.by_slots:
            return self._by_slots(program, price_e8).health_factor_wad
        return self._data(program)[5]

    def standing(self, program: Program, price_e8: Word | int) -> Standing:
        """State of the borrower, from slots if they are known."""
        account = self._by_slots(program, price_e8) if self.by_slots else self._by_views(program, price_e8)
        value = account.collateral_value_e8
        rules = self.market.rules
        free = program.subtract(rules.borrow_limit_word(program, value, self.ltv_bps), account.debt_value_e8)
        loan = program.either(free, rules.headroom_word(program, free, self.terms.debt_price_e8, self.debt_unit), 0)
        return Standing(
            collateral=account.collateral,
            debt=account.debt,
            collateral_value_e8=value,
            debt_value_e8=account.debt_value_e8,
            limit_e8=rules.limit_word(program, value, self.threshold_bps),
            headroom=loan,
            health_factor_wad=account.health_factor_wad,
            borrow_rate_wad=program.divide(account.borrow_rate_ray, _RAY_TO_WAD),
            supply_rate_wad=program.divide(account.supply_rate_ray, _RAY_TO_WAD),
        )

    def _by_slots(self, program: Program, price_e8: Word | int) -> _Account:
        now = program.time()[1]
        income, owed = self.indexes[0].income(program, now), self.indexes[1].debt(program, now)
        collateral, debt = self.shares[0].balance(program, income), self.shares[1].balance(program, owed)
        value = program.multiply_divide(collateral, price_e8, self.unit)
        rules = self.market.rules
        debt_value = rules.debt_value_word(program, debt, self.terms.debt_price_e8, self.debt_unit)
        factor = rules.health_word(program, value, self.threshold_bps, debt_value)
        return _Account(collateral, debt, value, debt_value, factor, owed.rate_ray, income.rate_ray)

    def _by_views(self, program: Program, price_e8: Word | int) -> _Account:
        del price_e8  # the pool reads its oracle
        collateral_value, debt_value, *_, factor = self._data(program)
        rates = [self._reserve(program, each) for each in (self.debt.address, self.collateral.address)]
        return _Account(
            self._balance(program, self.reserve.a_token),
            self._balance(program, self.debt_reserve.variable_debt_token),
            collateral_value,
            debt_value,
            factor,
            rates[0][4],
            rates[1][2],
        )

    def _data(self, program: Program) -> list[Word]:
        return self._view(program, self.pool.address, self.pool.getUserAccountData.encode(BORROWER), 6)

    def _reserve(self, program: Program, asset: bytes) -> list[Word]:
        return self._view(program, self.pool.address, self.pool.getReserveData.encode(asset), 5)

    def _balance(self, program: Program, token: bytes) -> Word:
        return self._view(program, token, self.debt.contract.balanceOf.encode(BORROWER), 1)[0]

    def _view(self, program: Program, to: bytes, data: bytes, returns: int) -> list[Word]:
        return program.call(Template(to, data), returns=returns, commit=False)[2]


def _room(cap: int | None, used: int) -> int:
    return UNLIMITED if cap is None else max(0, cap - used)
