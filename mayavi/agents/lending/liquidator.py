"""Liquidators of undercollateralised accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.gas import gas_value_e8
from mayavi.agents.lending.aave import require_aave
from mayavi.agents.lending.market import (
    LendingMarket,
    LiquidationQuote,
    LiquidationResult,
    read_healths,
)
from mayavi.agents.lending.open_market import lending_market
from mayavi.errors import BadArgument
from mayavi.protocols.aave.flash_loan import flash_borrower
from mayavi.protocols.tokens import Erc20, atomic
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.route import Route, RouteLike
from mayavi.protocols.uniswap.router import Router

GAS_OF_LIQUIDATION = 500_000
"""Estimated gas of a liquidation with its approvals."""
GAS_OF_SALE = 200_000
"""Estimated gas of the sale of the collateral."""

Valuation = Callable[[str, int], int]
"""Function from asset and amount to value, with 8 decimals."""

_UNLIMITED_FUNDS = 10**12  # in whole tokens: more than any market holds


class LiquidatorAgent(Agent):
    """Liquidator of the accounts in `watch` that sells the seized collateral on Uniswap V3 in the same intent.

    Each step reads all accounts at once. For each liquidatable account the agent computes the profit of the largest
    liquidation that the market's close factor and its own capital allow: proceeds of the quoted sale, minus the debt
    repaid and the gas cost. It executes the most profitable liquidations first, at most `most_a_step`, and quotes each
    sale after the previous ones. It skips profits below `least_profit`, in whole units of the market's quote currency.
    If the sale returns less than the debt repaid, the whole liquidation reverts.

    `capital` is the initial balance per debt asset, in smallest units. `routes` maps each collateral to a route that
    ends in the debt asset, or each pair of collateral and debt if there are several debts. `pairs` restricts the
    pairs of collateral and debt to liquidate. With `flash_loan` the agent borrows on Aave within the transaction
    instead of using capital, and pays the premium. If several liquidators compete for one account, the later ones fail
    with the market's revert reason.

        LiquidatorAgent("bot", watch=crowd.accounts, collaterals=["WETH"], debts=["USDC"],
                        routes={"WETH": ("WETH", "USDC", 500)}, capital={"USDC": 10**12})
    """

    def __init__(
        self,
        name: str,
        *,
        watch: Iterable[str],
        collaterals: Sequence[str],
        debts: Sequence[str],
        routes: Mapping[str | tuple[str, str], RouteLike] | None = None,
        pairs: Iterable[tuple[str, str]] | None = None,
        capital: Mapping[str, int] | None = None,
        market: str = "AaveV3",
        flash_loan: bool = False,
        least_profit: int = 0,
        most_a_step: int = 20,
        priority_fee_wei: int = 0,
    ) -> None:
        super().__init__(name)
        self.watch = tuple(watch)
        self.collaterals, self.debts = tuple(collaterals), tuple(debts)
        all_pairs = [(collateral, debt) for collateral in self.collaterals for debt in self.debts]
        self.pairs = frozenset(all_pairs if pairs is None else pairs)
        self.routes, self.capital = dict(routes or {}), dict(capital or {})
        self.market, self.flash_loan = market, flash_loan
        self.least_profit_e8 = least_profit * 10**8
        self.most_a_step, self.priority_fee_wei = most_a_step, priority_fee_wei
        if least_profit < 0 or most_a_step < 1:
            raise BadArgument(
                f"liquidator '{name}' has a least profit of {least_profit} and takes {most_a_step} a step",
                "`least_profit` is at least 0, `most_a_step` at least 1",
            )
        self._check_routes()

    def _check_routes(self) -> None:
        for collateral, debt in sorted(self.pairs):
            if self._route(collateral, debt) is None and collateral != debt:
                raise BadArgument(
                    f"liquidator '{self.name}' has no route to sell {collateral} for {debt}",
                    f'give one: routes={{"{collateral}": ("{collateral}", "{debt}", 500)}}',
                )

    def _route(self, collateral: str, debt: str) -> RouteLike | None:
        """Return the route to sell `collateral` for `debt`; None if both are the same asset or no route is given."""
        if collateral == debt:
            return None
        return self.routes.get((collateral, debt)) or self.routes.get(collateral)

    # -- preparation --------------------------------------------------------------------------------------------------

    def prepare(self, world: World) -> None:
        """Deal the capital and resolve the addresses of the watched accounts."""
        self.address = world.address(self.name)
        self.lending: LendingMarket = lending_market(world.fork, self.market)
        self.watched = tuple(world.address(account) for account in self.watch)
        self._names = dict(zip(self.watched, self.watch, strict=True))
        self._check_route_ends(world)
        for asset, amount in self.capital.items():
            world.fork.deal(asset, self.address, amount)
        self._premium_bps = 0
        if self.flash_loan:
            market = require_aave(self.lending, "a flash loan").market
            flash_borrower(world.fork)
            self._premium_bps = market.flash_loan_premiums.total_bps

    def _check_route_ends(self, world: World) -> None:
        """Check that every route starts at the collateral and ends in the debt asset."""
        for collateral, debt in sorted(self.pairs):
            route = self._route(collateral, debt)
            if route is None:
                continue
            found = Route.of(world.fork, route)
            expected = Erc20(world.fork, collateral).address, Erc20(world.fork, debt).address
            if (found.token_in, found.token_out) != expected:
                raise BadArgument(
                    f"liquidator '{self.name}' sells {collateral} for {debt} by a route from "
                    f"{world.fork.name(found.token_in)} to {world.fork.name(found.token_out)}",
                    f'give a route for each pair: routes={{("{collateral}", "{debt}"): …}}',
                )

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, world: World, step_idx: int) -> StepResult:
        """Find liquidatable accounts and return the profitable liquidations."""
        del step_idx
        if not self.watched:
            return self.rests("nobody to watch")
        healths = read_healths(world, self.lending, self.watched)
        rows = np.flatnonzero(healths.liquidatable).tolist()
        if not rows:
            return self.rests(f"none of {len(self.watched)} can be liquidated")
        factors = {self.watched[row]: healths.health_factor_wad[row] for row in rows}
        funds = None if self.flash_loan else {debt: self._balance(debt) for debt in self.debts}
        quotes = self.lending.quote_liquidations(
            list(factors), list(factors.values()), self.collaterals, self.debts, funds
        )
        quotes = [quote for quote in quotes if (quote.collateral, quote.debt) in self.pairs]
        chosen = self._choose(world, quotes)
        intents = tuple(
            Intent(
                "liquidate",
                lambda quote=quote: self._execute(quote),  # type: ignore[misc]
                {
                    "borrower": self._names[quote.borrower],
                    "borrower_health_factor_wad": factors[quote.borrower],
                    "collateral": quote.collateral,
                    "debt": quote.debt,
                    "expected_profit_e8": profit,
                },
                priority_fee_wei=self.priority_fee_wei,
            )
            for quote, profit in chosen
        )
        note = f"{len(rows)} of {len(self.watched)} can be liquidated, {len(intents)} pay"
        return StepResult(intents, note)

    def _choose(self, world: World, quotes: list[LiquidationQuote]) -> list[tuple[LiquidationQuote, int]]:
        """Return the most profitable quote per borrower, with its expected profit."""
        margins = self._margins_e8(quotes)
        by_margin = sorted(range(len(quotes)), key=lambda at: margins[at], reverse=True)
        candidates = [quotes[at] for at in by_margin[: 2 * self.most_a_step]]
        single_profits = self._profits(world, candidates, sequential=False)
        by_profit = sorted(range(len(candidates)), key=lambda at: single_profits[at], reverse=True)
        best: dict[bytes, LiquidationQuote] = {}
        for at in by_profit:
            if self._is_profitable(single_profits[at]):
                best.setdefault(candidates[at].borrower, candidates[at])
        chosen = list(best.values())[: self.most_a_step]
        profits = self._profits(world, chosen, sequential=True)
        return [(quote, profit) for quote, profit in zip(chosen, profits, strict=True) if self._is_profitable(profit)]

    def _is_profitable(self, profit_e8: int) -> bool:
        return profit_e8 > 0 and profit_e8 >= self.least_profit_e8

    def _margins_e8(self, quotes: list[LiquidationQuote]) -> list[int]:
        """Return the value seized minus the value paid of each quote, at the market's prices."""
        value_of = self._valuation(quotes)
        return [value_of(quote.collateral, quote.seized) - value_of(quote.debt, quote.pays) for quote in quotes]

    def _valuation(self, quotes: list[LiquidationQuote]) -> Valuation:
        """Return a valuation of the quoted assets at the market's prices, which are read once."""
        assets = {asset for quote in quotes for asset in (quote.collateral, quote.debt)}
        prices = {asset: (self.lending.price_e8(asset), int(10 ** self.lending.decimals(asset))) for asset in assets}
        return lambda asset, amount: amount * prices[asset][0] // prices[asset][1]

    def _profits(self, world: World, quotes: list[LiquidationQuote], *, sequential: bool) -> list[int]:
        """Return the profit of each quote after sale, premium and gas.

        With `sequential` each sale follows the previous ones in the same pools; otherwise each is the only sale.
        """
        received = self._sale_proceeds(quotes, sequential=sequential)
        gas = gas_value_e8(world, GAS_OF_LIQUIDATION + GAS_OF_SALE, self.lending.quote, self.priority_fee_wei)
        profits, value_of = [], self._valuation(quotes)
        for quote, amount in zip(quotes, received, strict=True):
            premium = (quote.pays * self._premium_bps + 5_000) // 10_000
            profits.append(value_of(quote.debt, amount) - value_of(quote.debt, quote.pays + premium) - gas)
        return profits

    def _sale_proceeds(self, quotes: list[LiquidationQuote], *, sequential: bool) -> list[int]:
        uniswap = UniswapV3(self.lending.fork)
        received = [0] * len(quotes)
        pairs: dict[tuple[str, str], list[int]] = {}
        for at, quote in enumerate(quotes):
            if quote.seized:
                pairs.setdefault((quote.collateral, quote.debt), []).append(at)
        for pair, places in pairs.items():
            route = self._route(*pair)
            if route is None:
                for at in places:
                    received[at] = quotes[at].seized
                continue
            amounts = [quotes[at].seized for at in places]
            if sequential:
                amounts = np.cumsum(np.array(amounts, dtype=object)).tolist()
            outputs = [swap.amount_out for swap in uniswap.quote_exact_inputs(route, amounts)]
            if sequential:
                outputs = [outputs[0], *(after - before for before, after in pairwise(outputs))]
            for at, amount in zip(places, outputs, strict=True):
                received[at] = amount
        return received

    # -- execution ----------------------------------------------------------------------------------------------------

    def _execute(self, quote: LiquidationQuote) -> Details:
        before = self._balance(quote.debt)
        with atomic(self.lending.fork):
            result, received = self._use_flash_loan(quote) if self.flash_loan else self._use_capital(quote)
        profit = self._balance(quote.debt) - before
        value_of = self._valuation([quote])
        details = self._result_details(quote, result, value_of)
        sale = {"received": received, "received_e8": value_of(quote.debt, received)}
        return details | sale | {"profit": profit, "profit_e8": value_of(quote.debt, profit)}

    def _use_capital(self, quote: LiquidationQuote) -> tuple[LiquidationResult, int]:
        """Liquidate and sell in two transactions; return the liquidation and the proceeds of the sale."""
        result = self.lending.liquidate(self.address, quote)
        route = self._route(quote.collateral, quote.debt)
        if not result.seized or route is None:
            return result, 0
        uniswap = UniswapV3(self.lending.fork)
        sale = uniswap.swap_exact_input(route, result.seized, sender=self.address, min_amount_out=result.paid)
        return result, sale.amount_out

    def _use_flash_loan(self, quote: LiquidationQuote) -> tuple[LiquidationResult, int]:
        """Borrow, liquidate, sell and repay in one transaction; the profit goes to this account."""
        market = require_aave(self.lending, "a flash loan").market
        fork, pool = market.fork, market.pool
        borrower, router = flash_borrower(fork), Router(fork)
        debt, collateral = market.token(quote.debt), market.token(quote.collateral)
        calls = [
            (debt.address, debt.contract.approve.encode(pool.address, quote.cover)),
            (
                pool.address,
                pool.liquidationCall.encode(collateral.address, debt.address, quote.borrower, quote.asks, False),
            ),
        ]
        route = self._route(quote.collateral, quote.debt)
        if route is not None:
            sale = router.calldata(
                Route.of(fork, route), quote.seized, quote.pays, recipient=borrower, deadline=fork.timestamp
            )
            calls += [
                (collateral.address, collateral.contract.approve.encode(router.address, quote.seized)),
                (router.address, sale),
            ]
        before = self._balance(quote.debt)
        account = market.account(self.address)
        loan = account.flash_loan(quote.debt, quote.cover, calls, sweep=[collateral.address])
        event = pool.events(loan.receipt, "LiquidationCall")[0].args
        received = self._balance(quote.debt) - before + event.covered + loan.premium
        return LiquidationResult(event.covered, event.covered, event.seized), received

    def _result_details(
        self, quote: LiquidationQuote, result: LiquidationResult, value_of: Valuation
    ) -> dict[str, int | str | bool | None]:
        after = self.lending.account(quote.borrower).health()
        return {
            "covered": result.covered,
            "paid": result.paid,
            "seized": result.seized,
            "seized_e8": value_of(quote.collateral, result.seized),
            "covered_e8": value_of(quote.debt, result.covered),
            "borrower_health_factor_after_wad": after.health_factor_wad,
            "borrower_debt_after_e8": after.debt_value_e8,
            "borrower_collateral_after_e8": after.collateral_value_e8,
        }

    def _balance(self, asset: str) -> int:
        return Erc20(self.lending.fork, asset).balance_of(self.address)


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

    def _choose(self, world: World, quotes: list[LiquidationQuote]) -> list[tuple[LiquidationQuote, int]]:
        del world
        best: dict[bytes, tuple[LiquidationQuote, int]] = {}
        for quote, margin in zip(quotes, self._margins_e8(quotes), strict=True):
            if quote.borrower not in best or margin > best[quote.borrower][1]:
                best[quote.borrower] = quote, margin
        return list(best.values())

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
        )
        value_of = self._valuation([quote])
        profit_e8 = value_of(quote.collateral, total.seized) - value_of(quote.debt, total.paid)
        return self._result_details(quote, total, value_of) | {"times": total.times, "profit_e8": profit_e8}
