"""Compound V3 market as a `LendingMarket`: a liquidator absorbs the account and buys its collateral."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mayavi.agents.lending.market import Health, Healths, LiquidationQuote, LiquidationResult
from mayavi.agents.lending.refusals import refused_supply
from mayavi.errors import BadArgument, CallReverted
from mayavi.evm.fleet import Words
from mayavi.evm.units import WAD
from mayavi.protocols.compound.collateral import CollateralAsset
from mayavi.protocols.compound.market import INDEX_SCALE, PREFIX, CompoundV3
from mayavi.protocols.compound.reverts import explain_supply
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.tokens import Erc20, atomic

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.compound.account import AccountData, CompoundV3Account


class CompoundLendingAccount:
    """`LendingAccount` of a `CompoundV3Account`; only the base token can be borrowed."""

    def __init__(self, account: CompoundV3Account) -> None:
        self.account = account
        self.address = account.address

    def supply(self, asset: str, amount: int) -> Receipt:
        """Supply `amount` as collateral."""
        return self.account.supply(asset, amount)

    def withdraw(self, asset: str, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of collateral, or all."""
        return self.account.withdraw(asset, amount)

    def borrow(self, asset: str, amount: int) -> Receipt:
        """Borrow `amount` of the base token."""
        _require_base(self.account.market, asset)
        return self.account.borrow(amount)

    def repay(self, asset: str, amount: int | None = None) -> Receipt:
        """Repay `amount` of the debt, or all of it."""
        _require_base(self.account.market, asset)
        return self.account.repay(amount)

    def supplied(self, asset: str) -> int:
        """Return the collateral in `asset`."""
        return self.account.collateral(asset)

    def debt(self, asset: str) -> int:
        """Return the debt; zero for all but the base token."""
        return self.account.debt if self.account.market.is_base(asset) else 0

    def health(self) -> Health:
        """Return the account's health."""
        return _health(self.account.data())


class CompoundLending:
    """Compound V3 market, for agents."""

    def __init__(self, market: CompoundV3) -> None:
        self.market = market
        self.name = PREFIX + market.symbol
        self.quote = market.quote

    @property
    def fork(self) -> Fork:
        """Chain of the market."""
        return self.market.fork

    def account(self, address: bytes) -> CompoundLendingAccount:
        """Return the account at `address`."""
        return CompoundLendingAccount(self.market.account(address))

    def healths(self, addresses: Sequence[bytes]) -> Healths:
        """Return the health of many accounts in one read."""
        data = self.market.account_data(addresses)
        pairs = zip(data.liquidation_limit_e8.ints(), data.debt_value_e8.ints(), strict=True)
        factors = Words.of([limit * WAD // debt if debt else NO_DEBT for limit, debt in pairs])
        return Healths(factors, lambda row: _health(data[row]))

    def price_e8(self, asset: str) -> int:
        """Return the price of one whole `asset`, in the market's `quote`."""
        return self.market.price_e8(asset)

    def decimals(self, asset: str) -> int:
        """Return the decimal places of `asset`."""
        return self.market.base.decimals if self.market.is_base(asset) else self.market.asset(asset).decimals

    def loan_of(self, asset: str, value_e8: int) -> int:
        """Return the largest loan worth at most `value_e8`; its principal is rounded up, as the market does.

        Zero if that is below the market's minimum.
        """
        _require_base(self.market, asset)
        most = ((value_e8 + 1) * int(self.market.contract.baseScale()) - 1) // self.market.price_e8()
        index, amount = self._borrow_index(), most
        while amount > 0 and -(-amount * INDEX_SCALE // index) * index // INDEX_SCALE > most:
            amount -= 1
        return amount if amount >= self.market.minimum_borrow else 0

    def supply_for(self, asset: str, amounts: Sequence[int], holders: Sequence[bytes], payer: bytes) -> None:
        """Supply collateral for many accounts from the balance of `payer`."""
        token, comet = Erc20(self.fork, self.market.asset(asset).address), self.market.contract
        with atomic(self.fork):
            token.require(payer, sum(amounts))
            token.approve(comet.address, sum(amounts), sender=payer)
            for amount, holder in zip(amounts, holders, strict=True):
                try:
                    comet.supplyTo(holder, token.address, amount, sender=payer)
                except CallReverted as error:
                    explained = explain_supply(self.market, error, token.address, amount)
                    raise refused_supply(explained, token, amount, holder, amounts) from None

    # -- liquidation --------------------------------------------------------------------------------------------------

    def quote_liquidations(
        self,
        borrowers: Sequence[bytes],
        health_factors_wad: Sequence[int],
        collaterals: Sequence[str],
        debts: Sequence[str],
        funds: dict[str, int] | None = None,
    ) -> list[LiquidationQuote]:
        """Quote absorbing each of `borrowers` and buying one of its assets now.

        If the market's reserves are at their target even after they paid the debt, it sells nothing, and only the
        absorption is left.
        """
        del health_factors_wad, debts  # absorption is total, and only the base token is owed
        if not borrowers:
            return []
        base = self.market.base.symbol
        data = self.market.account_data(borrowers)
        most = None if funds is None else funds.get(base, 0)
        excess = self.market.reserves - self.market.target_reserves
        debt, found = data.debt.ints(), []
        for symbol in collaterals:
            asset = self.market.asset(symbol)
            held, price = data.collateral[symbol].ints(), self._discounted_e8(asset)
            for borrower, amount, owed in zip(borrowers, held, debt, strict=True):
                if amount and owed:
                    pays, seized = self._purchase_amounts(asset, price, amount, most) if excess < owed else (0, 0)
                    found.append(LiquidationQuote(borrower, symbol, base, owed, pays, seized, owed))
        return found

    def liquidate(self, liquidator: bytes, quote: LiquidationQuote) -> LiquidationResult:
        """Absorb the borrower and buy the quoted collateral at the market's discount."""
        market, asset = self.market, self.market.asset(quote.collateral)
        with atomic(self.fork):
            covered = market.account(quote.borrower).debt
            market.absorb(quote.borrower, sender=liquidator)
            pays, there = quote.pays, market.collateral_reserves(quote.collateral)
            if pays and market.quote_collateral(quote.collateral, pays) > there:
                pays, _ = self._purchase_amounts(asset, self._discounted_e8(asset), there, pays)
            if not pays or market.reserves >= market.target_reserves:
                return LiquidationResult(covered, 0, 0)
            bought = market.buy_collateral(quote.collateral, pays, sender=liquidator)
        return LiquidationResult(covered, pays, bought.amount)

    def _purchase_amounts(
        self, asset: CollateralAsset, price_e8: int, amount: int, funds: int | None
    ) -> tuple[int, int]:
        """Return the price paid and the amount bought: `amount`, or the part that `funds` can pay, as Comet rounds."""
        base_price, base_unit, unit = self.market.price_e8(), 10**self.market.base.decimals, 10**asset.decimals
        pays = amount * price_e8 * base_unit // (base_price * unit)
        pays = pays if funds is None else min(pays, funds)
        return pays, base_price * pays * unit // price_e8 // base_unit

    def _discounted_e8(self, asset: CollateralAsset) -> int:
        factor = int(self.market.contract.storeFrontPriceFactor())
        discount = factor * (WAD - asset.liquidation_factor_wad) // WAD
        price: int = self.market.contract.getPrice(asset.price_feed)
        return price * (WAD - discount) // WAD

    def _borrow_index(self) -> int:
        totals, rate = self.market.totals(), self.market.rates().borrow_per_second_wad
        passed = self.fork.timestamp - totals.last_accrual
        return totals.borrow_index + totals.borrow_index * (rate * passed) // WAD


def _require_base(market: CompoundV3, asset: str) -> None:
    if not market.is_base(asset):
        base = market.base.symbol
        raise BadArgument(f"{market.symbol} lends {base} alone, not {asset}", f"borrow {base}")


def _health(data: AccountData) -> Health:
    return Health(
        data.collateral_value_e8,
        data.debt_value_e8,
        data.liquidation_limit_e8,
        data.borrow_limit_e8,
        data.borrow_limit_e8,
        data.liquidation_ratio_wad,
    )
