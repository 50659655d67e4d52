"""Compound V3 for the borrower's environments: read from the slots of the market, sent to the market."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.errors import StateError, UsageError
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.evm.token_balance import slot_behind
from mayavi.evm.units import WAD
from mayavi.gym_env.lending_desk import BORROWER, LIQUIDATOR, MARKET, UNLIMITED, Desk, Standing, Terms
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.protocols.compound_v3 import INDEX_SCALE, CompoundV3
from mayavi.protocols.health import NO_DEBT

_AMOUNT = 36  # behind the selector and the asset
_RATE = [
    "borrowKink() view returns (uint256)",
    "borrowPerSecondInterestRateBase() view returns (uint256)",
    "borrowPerSecondInterestRateSlopeLow() view returns (uint256)",
    "borrowPerSecondInterestRateSlopeHigh() view returns (uint256)",
]
_PRINCIPAL_BITS = 104


class CompoundDesk(Desk):
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
        rates = fork.contract(self.market.address, _RATE)
        self.kink, self.base_rate = rates.borrowKink(), rates.borrowPerSecondInterestRateBase()
        self.slope_low = rates.borrowPerSecondInterestRateSlopeLow()
        self.slope_high = rates.borrowPerSecondInterestRateSlopeHigh()

    def read_terms(self) -> Terms:
        """As they stand."""
        totals = self.market.totals()
        return Terms(
            price_e8=self.market.price_e8(self.collateral.address),
            debt_price_e8=self.market.price_e8(),
            threshold_wad=self.asset.liquidate_collateral_factor_wad,
            ltv_wad=self.asset.borrow_collateral_factor_wad,
            kink=self.kink / WAD,
            supplied=totals.supplied,
            borrowed=totals.borrowed,
            room=(UNLIMITED, self.asset.supply_cap - self.asset.supplied, totals.supplied - totals.borrowed),
            least_debt=self.market.minimum_borrow,
        )

    # -- sending ------------------------------------------------------------------------------------------------------

    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Put up collateral."""
        return self._send(self.comet.supply.encode(self.collateral.address, 0), amount, who)

    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Take out base tokens that were not lent."""
        return self._send(self.comet.withdraw.encode(self.debt.address, 0), amount, who)

    def repay(self, amount: Word) -> Template:
        """Pay base tokens in."""
        return self._send(self.comet.supply.encode(self.debt.address, 0), amount, BORROWER)

    def lend(self, amount: Word) -> Template:
        """The market pays base tokens in."""
        return self._send(self.comet.supply.encode(self.debt.address, 0), amount, MARKET)

    def liquidate(self) -> Template:
        """The market takes over all the borrower has and owes."""
        data = self.comet.absorb.encode(LIQUIDATOR, [BORROWER])
        return Template(self.market.address, data, sender=LIQUIDATOR)

    def _send(self, data: bytes, amount: Word, sender: bytes) -> Template:
        return Template(self.market.address, data, {_AMOUNT: amount}, sender=sender)

    # -- reading ------------------------------------------------------------------------------------------------------

    def find_books(self) -> None:
        """The slots of the indexes, of the totals, and of the borrower's two words."""
        comet = self.comet
        totals = comet.totalsBasic()
        indexes = totals.baseBorrowIndex << 64 | totals.baseSupplyIndex
        sums = totals.lastAccrualTime << 208 | totals.totalBorrowBase << 104 | totals.totalSupplyBase
        touched = dict(self.fork.touched(comet.address, comet.totalsBasic.encode()))[comet.address]
        storage = {slot: self.fork.storage(self.market.address, slot) for slot in touched}
        self.indexes = _only([slot for slot, word in storage.items() if word & 2**128 - 1 == indexes])
        self.totals = _only([slot for slot, word in storage.items() if word & 2**248 - 1 == sums])
        views = comet.userBasic.encode(BORROWER), comet.userCollateral.encode(BORROWER, self.collateral.address)
        self.basic, self.held = (slot_behind(self.fork, comet.address, view) for view in views)

    def _owed(self, program: Program) -> tuple[Word, Word]:
        """The borrower's debt now, and the rate at which it grows in a second."""
        market, now = self.market.address, program.time()[1]
        indexes, totals = program.load(market, self.indexes), program.load(market, self.totals)
        supply_index, borrow_index = program.bits(indexes, 0, 64), program.bits(indexes, 64, 64)
        supplied = program.multiply_divide(program.bits(totals, 0, 104), supply_index, INDEX_SCALE)
        borrowed = program.multiply_divide(program.bits(totals, 104, 104), borrow_index, INDEX_SCALE)
        utilisation = program.multiply_divide(borrowed, WAD, supplied)
        low = program.multiply_divide(program.minimum(utilisation, self.kink), self.slope_low, WAD)
        high = program.multiply_divide(program.subtract(utilisation, self.kink), self.slope_high, WAD)
        rate = program.add(program.add(low, high), self.base_rate)
        elapsed = program.subtract(now, program.bits(totals, 208, 40))
        grown = program.multiply_divide(borrow_index, program.multiply(rate, elapsed), WAD)
        basic = program.load(*self.basic)
        owes = program.bits(basic, _PRINCIPAL_BITS - 1, 1)
        principal = program.subtract(2**_PRINCIPAL_BITS, program.bits(basic, 0, _PRINCIPAL_BITS))
        debt = program.multiply_divide(principal, program.add(borrow_index, grown), INDEX_SCALE)
        return program.either(owes, debt, 0), rate

    def _weighed(self, program: Program, price_e8: Word | int) -> tuple[Word, Word, Word, Word, Word, Word]:
        collateral = program.bits(program.load(*self.held), 0, 128)
        debt, rate = self._owed(program)
        value = program.multiply_divide(collateral, price_e8, self.unit)
        debt_value = program.multiply_divide(debt, self.terms.debt_price_e8, self.debt_unit)
        limit = program.multiply_divide(value, self.terms.threshold_wad, WAD)
        return collateral, debt, value, debt_value, limit, rate

    def health_factor_wad(self, program: Program, price_e8: Word | int) -> Word:
        """What the debt could be worth before the account can be absorbed, over what it is worth."""
        *_, debt_value, limit, _ = self._weighed(program, price_e8)
        return program.either(debt_value, program.multiply_divide(limit, WAD, debt_value), NO_DEBT)

    def standing(self, program: Program, price_e8: Word | int) -> Standing:
        """As `CompoundV3Account.data` has it. Collateral earns nothing."""
        collateral, debt, value, debt_value, limit, rate = self._weighed(program, price_e8)
        free = program.subtract(program.multiply_divide(value, self.terms.ltv_wad, WAD), debt_value)
        # A principal is rounded up: what is owed may be one unit more than what was taken.
        loan = program.subtract(program.either(free, self.loan_of(program, free), 0), 2)
        return Standing(
            collateral=collateral,
            debt=debt,
            collateral_value_e8=value,
            debt_value_e8=debt_value,
            limit_e8=limit,
            headroom=loan,
            health_factor_wad=program.either(debt_value, program.multiply_divide(limit, WAD, debt_value), NO_DEBT),
            borrow_rate_wad=program.multiply(rate, SECONDS_PER_YEAR),
            supply_rate_wad=program.add(0, 0),
        )


def _only(found: Sequence[int]) -> int:
    if len(found) != 1:
        raise StateError(
            "this market of Compound V3 keeps its books in a way that is not known here",
            "environments need one whose words are packed as in the contract of 2022",
        )
    return found[0]
