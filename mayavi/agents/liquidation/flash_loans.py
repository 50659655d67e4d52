"""Flash loans that a liquidator pays with: Aave's for a premium, Morpho's for nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mayavi.agents.lending.aave import AaveLending
from mayavi.agents.lending.market import LendingMarket, LiquidationQuote, LiquidationResult
from mayavi.agents.lending.morpho import MorphoLending
from mayavi.agents.liquidation.sale_routes import SaleRoute
from mayavi.errors import BadArgument
from mayavi.protocols.aave.flash_loan import flash_borrower as aave_borrower
from mayavi.protocols.morpho.flash_loan import flash_borrower as morpho_borrower


class FlashLender(Protocol):
    """Where the loan comes from. Borrowing, liquidating, selling and repaying are one transaction."""

    premium_bps: int

    def funds(self, debts: Iterable[str]) -> dict[str, int] | None:
        """Return how much of each of `debts` can be borrowed; None if that need not be checked."""

    def liquidate(
        self, liquidator: bytes, quote: LiquidationQuote, route: SaleRoute | None
    ) -> tuple[LiquidationResult, int]:
        """Liquidate with a loan, sell by `route`, and leave the rest to the liquidator; return result and premium."""


def flash_lender(lending: LendingMarket) -> FlashLender:
    """Return the flash loans of a market's own protocol; raise `BadArgument` if it has none."""
    if isinstance(lending, AaveLending):
        return _OfAave(lending)
    if isinstance(lending, MorphoLending):
        return _OfMorpho(lending)
    raise BadArgument(
        f"flash loans come from Aave or Morpho, not from {lending.name}",
        "use AaveV3, Spark or a market of Morpho, or leave the flash loan out",
    )


class _OfAave:
    def __init__(self, lending: AaveLending) -> None:
        self._lending, self._market = lending, lending.market
        self._borrower = aave_borrower(lending.market.fork)
        self.premium_bps = lending.market.flash_loan_premiums.total_bps

    def funds(self, debts: Iterable[str]) -> None:
        del debts

    def liquidate(
        self, liquidator: bytes, quote: LiquidationQuote, route: SaleRoute | None
    ) -> tuple[LiquidationResult, int]:
        market, pool = self._market, self._market.pool
        debt, collateral = market.token(quote.debt), market.token(quote.collateral)
        call = pool.liquidationCall.encode(collateral.address, debt.address, quote.borrower, quote.asks, False)
        calls = [(debt.address, debt.contract.approve.encode(pool.address, quote.cover)), (pool.address, call)]
        if route is not None:
            calls += route.calls(quote.seized, quote.pays, self._borrower)
        loan = market.account(liquidator).flash_loan(quote.debt, quote.cover, calls, sweep=[collateral.address])
        event = pool.events(loan.receipt, "LiquidationCall")[0].args
        lost = self._lending.deficit_e8(loan.receipt, quote.borrower)
        return LiquidationResult(event.covered, event.covered, event.seized, deficit_e8=lost), loan.premium


class _OfMorpho:
    premium_bps = 0

    def __init__(self, lending: MorphoLending) -> None:
        self._lending, self._market = lending, lending.market
        self._borrower = morpho_borrower(lending.fork)

    def funds(self, debts: Iterable[str]) -> dict[str, int]:
        held = self._market.loan.balance_of(self._market.blue.address)
        return {debt: held if debt == self._market.loan.symbol else 0 for debt in debts}

    def liquidate(
        self, liquidator: bytes, quote: LiquidationQuote, route: SaleRoute | None
    ) -> tuple[LiquidationResult, int]:
        market, blue = self._market, self._market.blue
        amounts = self._lending.liquidation_now(quote)
        asked = (amounts.seized, 0) if amounts.takes_all else (0, amounts.shares)
        call = blue.contract.liquidate.encode(market.parameters, quote.borrower, *asked, b"")
        approve = market.loan.contract.approve.encode(blue.address, amounts.paid)
        calls = [(market.loan.address, approve), (blue.address, call)]
        if route is not None and amounts.seized:
            calls += route.calls(amounts.seized, amounts.paid, self._borrower)
        left = [market.collateral.address]
        receipt = blue.flash_loan(market.loan.address, amounts.paid, calls, sender=liquidator, sweep=left, most_paid=0)
        event = blue.contract.events(receipt, "Liquidate")[0].args
        result = LiquidationResult(
            event.repaidAssets, event.repaidAssets, event.seizedAssets, bad_debt=event.badDebtAssets
        )
        return result, 0
