"""Aave V3 for the borrower's environments."""

from __future__ import annotations

from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.gym_env.lending_desk import BORROWER, EVERYTHING, LIQUIDATOR, MARKET, Desk, Looked, Terms
from mayavi.protocols.aave_v3 import AaveV3

_VARIABLE_RATE = 2
_AMOUNT = 36  # behind the selector and the asset, in every call of the pool that has one
_BPS = 10_000
_RATE_STRATEGY = ["OPTIMAL_USAGE_RATIO() view returns (uint256)"]


class AaveDesk(Desk):
    """Aave V3 of the chain `fork` stands on."""

    def __init__(self, fork: Fork, collateral: str, debt: str) -> None:
        super().__init__(fork, collateral, debt)
        self.market = AaveV3(fork)
        self.pool = self.market.pool
        self.spender = self.pool.address
        self.reserve, self.debt_reserve = self.market.reserve(collateral), self.market.reserve(debt)

    @property
    def feed(self) -> bytes:
        """The source of the pool's oracle."""
        feed: bytes = self.market.oracle.getSourceOfAsset(self.collateral.address)
        return feed

    def terms(self) -> Terms:
        """As they stand."""
        collateral, debt = self.market.reserve(self.collateral.address), self.market.reserve(self.debt.address)
        kink = self.fork.contract(debt.rate_strategy, _RATE_STRATEGY).OPTIMAL_USAGE_RATIO()
        wad = 10**18 // _BPS
        return Terms(
            price_e8=collateral.price_usd_e8,
            debt_price_e8=debt.price_usd_e8,
            threshold_wad=collateral.configuration.liquidation_threshold_bps * wad,
            ltv_wad=collateral.configuration.ltv_bps * wad,
            kink=kink / 10**27,
            supplied=debt.borrowed + debt.available,
            borrowed=debt.borrowed,
            least_debt=0,
        )

    def supply(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Put up collateral."""
        data = self.pool.supply.encode(self.collateral.address, 0, who, 0)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=who)

    def borrow(self, amount: Word, who: bytes = BORROWER) -> Template:
        """Take a loan at the variable rate."""
        data = self.pool.borrow.encode(self.debt.address, 0, _VARIABLE_RATE, 0, who)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=who)

    def repay(self, amount: Word) -> Template:
        """The borrower pays back."""
        data = self.pool.repay.encode(self.debt.address, 0, _VARIABLE_RATE, BORROWER)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=BORROWER)

    def lend(self, amount: Word) -> Template:
        """The market supplies more of the debt's asset."""
        data = self.pool.supply.encode(self.debt.address, 0, MARKET, 0)
        return Template(self.pool.address, data, {_AMOUNT: amount}, sender=MARKET)

    def liquidate(self) -> Template:
        """As much as the close factor allows."""
        pair = self.collateral.address, self.debt.address
        data = self.pool.liquidationCall.encode(*pair, BORROWER, EVERYTHING, False)
        return Template(self.pool.address, data, sender=LIQUIDATOR)

    def health_factor_wad(self, program: Program) -> Word:
        """By the pool itself."""
        return self._account(program)[5]

    def _account(self, program: Program) -> list[Word]:
        call = Template(self.pool.address, self.pool.getUserAccountData.encode(BORROWER))
        return program.call(call, returns=6, commit=False)[2]

    def look(self, program: Program) -> Looked:
        """The pool's own views."""
        account = self._account(program)
        collateral, debt = self._data(program, self.collateral.address), self._data(program, self.debt.address)
        return Looked(
            collateral=self._balance(program, self.reserve.a_token),
            debt=self._balance(program, self.debt_reserve.variable_debt_token),
            collateral_value_e8=account[0],
            debt_value_e8=account[1],
            threshold_bps=account[3],
            ltv_bps=account[4],
            health_factor_wad=account[5],
            price_e8=self._price(program, self.collateral.address),
            debt_price_e8=self._price(program, self.debt.address),
            borrow_rate_ray=debt[4],
            supply_rate_ray=collateral[2],
        )

    def _balance(self, program: Program, token: bytes) -> Word:
        call = Template(token, bytes.fromhex("70a08231") + BORROWER.rjust(32, b"\0"))
        return program.call(call, returns=1, commit=False)[2][0]

    def _data(self, program: Program, asset: bytes) -> list[Word]:
        call = Template(self.pool.address, self.pool.getReserveData.encode(asset))
        return program.call(call, returns=15, commit=False)[2]

    def _price(self, program: Program, asset: bytes) -> Word:
        oracle = self.market.oracle
        return program.call(Template(oracle.address, oracle.getAssetPrice.encode(asset)), returns=1, commit=False)[2][0]
