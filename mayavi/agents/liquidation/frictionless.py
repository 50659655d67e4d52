"""Idealised liquidator: the least bad debt that any liquidators could have left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mayavi.agents.base import Details, World
from mayavi.agents.lending.market import LiquidationQuote, LiquidationResult
from mayavi.agents.liquidation.choice import Chosen
from mayavi.agents.liquidation.limits import Reason
from mayavi.agents.liquidation.liquidator import LiquidatorAgent

_UNLIMITED_FUNDS = 10**12  # in whole tokens: more than any market holds


class FrictionlessLiquidator(LiquidatorAgent):
    """Idealised liquidator with unlimited capital that keeps the seized collateral and ignores gas and profit.

    The agent liquidates every liquidatable account in `watch`, repeatedly in one intent, until the account is healthy
    or has no collateral left. No other liquidator could have prevented the remaining bad debt.
    """

    def __init__(
        self,
        name: str,
        *,
        watch: Iterable[str],
        collaterals: Sequence[str],
        debts: Sequence[str],
        pairs: Iterable[tuple[str, str]] | None = None,
        market: str = "AaveV3",
        priority_fee_wei: int = 0,
    ) -> None:
        super().__init__(
            name,
            watch=watch,
            collaterals=collaterals,
            debts=debts,
            pairs=pairs,
            market=market,
            priority_fee_wei=priority_fee_wei,
        )

    def _check_routes(self) -> None:
        """Accept missing routes: this liquidator sells nothing."""

    def prepare(self, world: World) -> None:
        """Deal more capital than there is debt."""
        super().prepare(world)
        for debt in self.debts:
            world.fork.deal(debt, self.address, _UNLIMITED_FUNDS * int(10 ** self.lending.decimals(debt)))

    def _choose(self, world: World, quotes: list[LiquidationQuote], factors: Mapping[bytes, int]) -> list[Chosen]:
        """Return the quote with the highest margin of each account, whatever it costs."""
        terms = self.terms(world, quotes, factors)
        best: dict[bytes, Chosen] = {}
        for quote in quotes:
            margin = terms.margin_e8(quote)
            if quote.borrower not in best or margin > best[quote.borrower].profit_e8:
                best[quote.borrower] = Chosen(quote, margin)
        return list(best.values())

    def why_left(self, world: World, accounts: Sequence[str]) -> dict[str, Reason]:
        """Return that it came too late for each of `accounts`: nothing else keeps it from one."""
        del world
        return {account: "too late" for account in accounts if account in self.watch}

    def _execute(self, quote: LiquidationQuote) -> Details:
        results = [self.lending.liquidate(self.address, quote)]
        account = self.lending.account(quote.borrower)
        while (health := account.health()).liquidatable:
            next_quotes = self.lending.quote_liquidations(
                [quote.borrower], [health.health_factor_wad], [quote.collateral], [quote.debt]
            )
            if not next_quotes:
                break
            results.append(self.lending.liquidate(self.address, next_quotes[0]))
        total = LiquidationResult(
            sum(each.covered for each in results),
            sum(each.paid for each in results),
            sum(each.seized for each in results),
            len(results),
            sum(each.deficit_e8 for each in results),
            sum(each.bad_debt for each in results),
        )
        value_of = self._valuation([quote])
        profit_e8 = value_of(quote.collateral, total.seized) - value_of(quote.debt, total.paid)
        return self._result_details(quote, total, value_of) | {"times": total.times, "profit_e8": profit_e8}
