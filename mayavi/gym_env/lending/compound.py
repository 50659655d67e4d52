"""Compound V3 adapter of the borrower environments: reads storage slots, sends to the market."""

from __future__ import annotations

from mayavi.errors import UsageError
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import BORROWER, LIQUIDATOR, MARKET, UNLIMITED, LendingAdapter, Standing, Terms
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.protocols.compound.market import CompoundV3
from mayavi.protocols.compound.rates import borrow_kink_wad
from mayavi.protocols.compound.storage import CompoundBooks, Owed
from mayavi.protocols.health import NO_DEBT

_AMOUNT = 36  # offset of the amount in calls of the market: behind the selector and the asset


class CompoundAdapter(LendingAdapter):
    """The market of Compound V3 that lends `debt`."""

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        super().__init__(fork, collateral, debt)
        self.market = CompoundV3(fork, f"c{debt}v3")
        if not self.market.is_base(debt):
            raise UsageError(
                f"{self.market.symbol} lends {self.market.base.symbol}, not {debt}", "take its own base token"
            )
        self.comet = self.market.contract
        self.spender = self.market.address
        self.asset = self.market.asset(collateral)
        self.feed = self.asset.price_feed

    def read_terms(self) -> Terms:
        """Read the present terms."""
        totals = self.market.totals()
        return Terms(
            price_e8=self.market.price_e8(self.collateral.address),
            debt_price_e8=self.market.price_e8(),
            threshold_wad=self.asset.liquidate_collateral_factor_wad,
            ltv_wad=self.asset.borrow_collateral_factor_wad,
            kink=borrow_kink_wad(self.fork, self.market.address) / WAD,
            supplied=totals.supplied,
            borrowed=totals.borrowed,
            room=(UNLIMITED, self.asset.supply_cap - self.asset.supplied, totals.supplied - totals.borrowed),
            least_debt=self.market.minimum_borrow,
        )

    # -- sending ------------------------------------------------------------------------------------------------------

    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Supply collateral."""
        return self._send(self.comet.supply.encode(self.collateral.address, 0), amount, who)

    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Withdraw base tokens without a supply of them, which borrows them."""
        return self._send(self.comet.withdraw.encode(self.debt.address, 0), amount, who)

    def repay(self, amount: Word) -> Template:
        """Supply base tokens against the debt."""
        return self._send(self.comet.supply.encode(self.debt.address, 0), amount, BORROWER)

    def lend(self, amount: Word) -> Template:
        """Supply base tokens as the rest of the market."""
        return self._send(self.comet.supply.encode(self.debt.address, 0), amount, MARKET)

    def liquidate(self) -> Template:
        """Absorb the whole account."""
        data = self.comet.absorb.encode(LIQUIDATOR, [BORROWER])
        return Template(self.market.address, data, sender=LIQUIDATOR)

    def _send(self, data: bytes, amount: Word, sender: bytes) -> Template:
        return Template(self.market.address, data, {_AMOUNT: amount}, sender=sender)

    # -- reading ------------------------------------------------------------------------------------------------------

    def find_slots(self) -> None:
        """Find the slots of the market and of the borrower."""
        self.books = CompoundBooks(self.market, BORROWER, self.collateral.address)

    def _values(self, program: Program, price_e8: Word | int) -> tuple[Word, Owed, Word, Word, Word]:
        """Collateral, debt, their values, and the debt value from which the account can be absorbed."""
        collateral, owed = self.books.collateral(program), self.books.owed(program)
        value = program.multiply_divide(collateral, price_e8, self.unit)
        debt_value = program.multiply_divide(owed.debt, self.terms.debt_price_e8, self.debt_unit)
        return collateral, owed, value, debt_value, program.multiply_divide(value, self.terms.threshold_wad, WAD)

    def health_factor_wad(self, program: Program, price_e8: Word | int) -> Word:
        """Debt value from which the account can be absorbed, divided by the debt value."""
        *_, debt_value, limit = self._values(program, price_e8)
        return _factor(program, limit, debt_value)

    def standing(self, program: Program, price_e8: Word | int) -> Standing:
        """State of the borrower, equal to `CompoundV3Account.data`. Collateral earns nothing."""
        collateral, owed, value, debt_value, limit = self._values(program, price_e8)
        free = program.subtract(program.multiply_divide(value, self.terms.ltv_wad, WAD), debt_value)
        # Principals are rounded up, so the debt may exceed the loan by one unit.
        loan = program.subtract(program.either(free, self.loan_of(program, free), 0), 2)
        return Standing(
            collateral=collateral,
            debt=owed.debt,
            collateral_value_e8=value,
            debt_value_e8=debt_value,
            limit_e8=limit,
            headroom=loan,
            health_factor_wad=_factor(program, limit, debt_value),
            borrow_rate_wad=program.multiply(owed.rate_per_second_wad, SECONDS_PER_YEAR),
            supply_rate_wad=program.add(0, 0),
        )


def _factor(program: Program, limit_e8: Word, debt_value_e8: Word) -> Word:
    return program.either(debt_value_e8, program.multiply_divide(limit_e8, WAD, debt_value_e8), NO_DEBT)
