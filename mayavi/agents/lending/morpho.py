"""A Morpho market as a `LendingMarket`: a liquidator repays any part of a debt, and suppliers bear what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mayavi.agents.lending.market import Health, Healths, LiquidationQuote, LiquidationResult
from mayavi.agents.lending.refusals import refused_supply
from mayavi.errors import BadArgument, CallReverted
from mayavi.protocols.morpho.mathematics import MarketState, seized_for, shares_for
from mayavi.protocols.tokens import atomic

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.morpho.account import AccountData, MorphoAccount
    from mayavi.protocols.morpho.market import MorphoMarket

_E8 = 10**8


class LiquidationAmounts(NamedTuple):
    """Repaid shares of debt, seized collateral, and what is paid for it. `takes_all` leaves no collateral."""

    shares: int
    seized: int
    paid: int
    takes_all: bool


class MorphoLendingAccount:
    """`LendingAccount` of a `MorphoAccount`: one collateral, one loan token."""

    def __init__(self, account: MorphoAccount) -> None:
        self.account, self.market = account, account.market
        self.address: bytes = account.address

    def supply(self, asset: str, amount: int) -> Receipt:
        """Supply `amount` as collateral."""
        _require(self.market, asset, is_debt=False)
        return self.account.supply_collateral(amount)

    def withdraw(self, asset: str, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of collateral, or all."""
        _require(self.market, asset, is_debt=False)
        return self.account.withdraw_collateral(amount)

    def borrow(self, asset: str, amount: int) -> Receipt:
        """Borrow `amount` of the loan token."""
        _require(self.market, asset, is_debt=True)
        return self.account.borrow(amount)

    def repay(self, asset: str, amount: int | None = None) -> Receipt:
        """Repay `amount` of the debt, or all of it."""
        _require(self.market, asset, is_debt=True)
        return self.account.repay(amount)

    def supplied(self, asset: str) -> int:
        """Return the collateral; zero for all but the market's."""
        return self.account.collateral if asset == self.market.collateral.symbol else 0

    def debt(self, asset: str) -> int:
        """Return the debt; zero for all but the loan token."""
        return self.account.debt if asset == self.market.loan.symbol else 0

    def health(self) -> Health:
        """Return the account's health."""
        return _health(self.market, self.account.data())


class MorphoLending:
    """Morpho market, for agents. Liquidation quotes use the contract's own arithmetic, to the unit."""

    def __init__(self, market: MorphoMarket) -> None:
        self.market = market
        self.name = market.symbol
        self.quote = market.quote

    @property
    def fork(self) -> Fork:
        """Chain of the market."""
        return self.market.fork

    def account(self, address: bytes) -> MorphoLendingAccount:
        """Return the account at `address`."""
        return MorphoLendingAccount(self.market.account(address))

    def healths(self, addresses: Sequence[bytes]) -> Healths:
        """Return the health of many accounts in one read."""
        data = self.market.account_data(addresses)
        return Healths(data.health_factor_wad, lambda row: _health(self.market, data[row]))

    def price_e8(self, asset: str) -> int:
        """Return the price of one whole `asset`: the oracle's for the collateral, one for the loan token."""
        if asset == self.market.loan.symbol:
            return _E8
        _require(self.market, asset, is_debt=False)
        return self.market.price_e8()

    def decimals(self, asset: str) -> int:
        """Return the decimal places of `asset`."""
        if asset == self.market.loan.symbol:
            return self.market.loan.decimals
        _require(self.market, asset, is_debt=False)
        return self.market.collateral.decimals

    def loan_of(self, asset: str, value_e8: int) -> int:
        """Return the largest loan worth at most `value_e8`; its shares are rounded up, as the market does."""
        _require(self.market, asset, is_debt=True)
        most = ((value_e8 + 1) * int(10**self.market.loan.decimals) - 1) // _E8
        # What a loan adds to a debt is at most a unit more than the loan.
        return max(0, most - 1)

    def supply_for(self, asset: str, amounts: Sequence[int], holders: Sequence[bytes], payer: bytes) -> None:
        """Supply collateral for many accounts from the balance of `payer`."""
        _require(self.market, asset, is_debt=False)
        token, blue = self.market.collateral, self.market.blue.contract
        with atomic(self.fork):
            token.require(payer, sum(amounts))
            token.approve(blue.address, sum(amounts), sender=payer)
            for amount, holder in zip(amounts, holders, strict=True):
                try:
                    blue.supplyCollateral(self.market.parameters, amount, holder, b"", sender=payer)
                except CallReverted as error:
                    raise refused_supply(error, token, amount, holder, amounts) from None

    # -- liquidation --------------------------------------------------------------------------------------------------

    def quote_liquidations(
        self,
        borrowers: Sequence[bytes],
        health_factors_wad: Sequence[int],
        collaterals: Sequence[str],
        debts: Sequence[str],
        funds: dict[str, int] | None = None,
    ) -> list[LiquidationQuote]:
        """Quote the largest liquidation of each of `borrowers`: all of its debt, or all of its collateral."""
        del health_factors_wad  # an account can be liquidated in full as soon as it can be liquidated
        market = self.market
        collateral, debt = market.collateral.symbol, market.loan.symbol
        if not borrowers or collateral not in collaterals or debt not in debts:
            return []
        data, state, price = market.account_data(borrowers), market.state(), market.price_e36
        most, found = None if funds is None else funds.get(debt, 0), []
        for borrower, row in zip(borrowers, data.rows, strict=True):
            shares = row.borrow_shares
            if most is not None:
                shares = min(shares, state.shares_repaid(most))
            shares, seized = self._amounts(state, price, shares, row.collateral)
            if seized and shares:
                cover = state.owed(shares)
                asks = row.debt if most is None else min(row.debt, most)
                found.append(LiquidationQuote(borrower, collateral, debt, cover, cover, seized, max(asks, cover)))
        return found

    def liquidate(self, liquidator: bytes, quote: LiquidationQuote) -> LiquidationResult:
        """Repay the quoted part of the debt, or as much as the collateral is worth, and take the collateral."""
        account, now = self.market.account(liquidator), self.liquidation_now(quote)
        if now.takes_all:
            done = account.liquidate(quote.borrower, seized=now.seized)
        else:
            done = account.liquidate(quote.borrower, repaid_shares=now.shares)
        return LiquidationResult(done.repaid, done.repaid, done.seized, bad_debt=done.bad_debt)

    def liquidation_now(self, quote: LiquidationQuote) -> LiquidationAmounts:
        """Return what the quoted liquidation repays and takes at the market's state of now."""
        market = self.market
        state, price, data = market.state(), market.price_e36, market.account(quote.borrower).data()
        # Where nothing is owed any more the contract is asked all the same: its reason is that the position is healthy.
        wanted = min(data.borrow_shares, state.shares_repaid(quote.asks)) or 1
        shares, seized = self._amounts(state, price, wanted, data.collateral)
        takes_all = bool(data.collateral) and seized == data.collateral
        return LiquidationAmounts(shares if takes_all else wanted, seized, state.owed(shares), takes_all)

    def _amounts(self, state: MarketState, price_e36: int, shares: int, held: int) -> tuple[int, int]:
        """Return repaid shares and seized collateral: for all of `shares`, or for all that is `held`."""
        lltv = self.market.lltv_wad
        seized = seized_for(state, shares, price_e36, lltv)
        return (shares_for(state, held, price_e36, lltv), held) if seized >= held else (shares, seized)


def _health(market: MorphoMarket, data: AccountData) -> Health:
    value = market.value_e8(data.collateral_value)
    limit = market.value_e8(data.debt_limit)
    debt = -(-data.debt * _E8 // int(10**market.loan.decimals))
    return Health(value, debt, limit, limit, limit, data.health_factor_wad)


def _require(market: MorphoMarket, asset: str, *, is_debt: bool) -> None:
    token = market.loan if is_debt else market.collateral
    if asset != token.symbol:
        what = "lends" if is_debt else "takes as collateral"
        raise BadArgument(f"{market.name} {what} {token.symbol}, not {asset}", f"give {token.symbol}")
