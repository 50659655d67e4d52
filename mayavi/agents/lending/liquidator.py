"""Liquidators of undercollateralised accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.gas import gas_value_e8
from mayavi.agents.lending.aave import require_aave
from mayavi.agents.lending.market import LendingMarket, Prize, Taken, lending_market, watched
from mayavi.errors import BadArgument
from mayavi.protocols.aave.flash_loan import flash_borrower
from mayavi.protocols.tokens import Erc20, undone_on_failure
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.route import Route, RouteLike
from mayavi.protocols.uniswap.router import Router

GAS_OF_LIQUIDATION = 500_000
"""Estimated gas of a liquidation with its approvals."""
GAS_OF_SALE = 200_000
"""Estimated gas of the sale of the collateral."""

Worth = Callable[[str, int], int]
"""Function from asset and amount to value, with 8 decimals."""

_PLENTY = 10**12  # whole tokens: more than any market has


class LiquidatorAgent(Agent):
    """Liquidator of the accounts of `watch` that sells the seized collateral on Uniswap V3 in the same bundle.

    Each step it reads all accounts at once. For each liquidatable account it computes the profit of the largest
    liquidation that the market's close factor and its capital allow: the quoted sale, minus what it pays and the cost
    of gas at the current price. It takes the most profitable first, up to `most_a_step`, each quoted after the ones
    before, and skips those below `least_profit`, in whole units of the market's quote currency. A sale that brings less
    than was paid fails, and the liquidation with it.

    `capital` is its initial balance per debt asset, in smallest units. `routes` maps each collateral to a route that
    ends in the debt asset, or each pair of collateral and debt if there are several debts. `pairs` restricts which
    collateral backs which debt. With `flash_loan` it borrows on Aave within the transaction instead, for a premium.
    Several liquidators race: the slower one fails with the market's reason, which is recorded.

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
        every = [(collateral, debt) for collateral in self.collaterals for debt in self.debts]
        self.pairs = frozenset(every if pairs is None else pairs)
        self.routes, self.capital = dict(routes or {}), dict(capital or {})
        self.market, self.flash_loan = market, flash_loan
        self.least_profit_e8 = least_profit * 10**8
        self.most_a_step, self.priority_fee_wei = most_a_step, priority_fee_wei
        if least_profit < 0 or most_a_step < 1:
            raise BadArgument(
                f"liquidator '{name}' has a least profit of {least_profit} and takes {most_a_step} a step",
                "a least profit is from zero on, and it takes one a step at least",
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
        """Return the route of a sale; None if nothing has to be sold."""
        if collateral == debt:
            return None
        return self.routes.get((collateral, debt)) or self.routes.get(collateral)

    # -- before the first step ----------------------------------------------------------------------------------------

    def prepare(self, world: World) -> None:
        """Take the capital and resolve the watched accounts."""
        self.address = world.address(self.name)
        self.lending: LendingMarket = lending_market(world.fork, self.market)
        self.watched = tuple(world.address(account) for account in self.watch)
        self._names = dict(zip(self.watched, self.watch, strict=True))
        self._check_ends(world)
        for asset, amount in self.capital.items():
            world.fork.deal(asset, self.address, amount)
        self._premium_bps = 0
        if self.flash_loan:
            market = require_aave(self.lending, "a flash loan").market
            flash_borrower(world.fork)
            self._premium_bps = market.flash_loan_premiums.total_bps

    def _check_ends(self, world: World) -> None:
        """Check that every route ends in the debt asset; profits are counted in it."""
        for collateral, debt in sorted(self.pairs):
            route = self._route(collateral, debt)
            if route is None:
                continue
            way = Route.of(world.fork, route)
            ends = Erc20(world.fork, collateral).address, Erc20(world.fork, debt).address
            if (way.token_in, way.token_out) != ends:
                raise BadArgument(
                    f"liquidator '{self.name}' sells {collateral} for {debt} by a route from "
                    f"{world.fork.name(way.token_in)} to {world.fork.name(way.token_out)}",
                    f'give one for each debt: routes={{("{collateral}", "{debt}"): …}}',
                )

    # -- step by step -------------------------------------------------------------------------------------------------

    def step(self, world: World, step_idx: int) -> StepResult:
        """Find liquidatable accounts and return the profitable liquidations."""
        del step_idx
        if not self.watched:
            return self.rests("nobody to watch")
        healths = watched(world, self.lending, self.watched)
        rows = np.flatnonzero(healths.liquidatable).tolist()
        if not rows:
            return self.rests(f"none of {len(self.watched)} can be liquidated")
        factors = {self.watched[row]: healths.health_factor_wad[row] for row in rows}
        funds = None if self.flash_loan else {debt: self._balance(debt) for debt in self.debts}
        prizes = self.lending.prizes(list(factors), list(factors.values()), self.collaterals, self.debts, funds)
        prizes = [prize for prize in prizes if (prize.collateral, prize.debt) in self.pairs]
        chosen = self._chosen(world, prizes)
        intents = tuple(
            Intent(
                "liquidate",
                lambda prize=prize: self._carry_out(prize),  # type: ignore[misc]
                {
                    "borrower": self._names[prize.borrower],
                    "borrower_health_factor_wad": factors[prize.borrower],
                    "collateral": prize.collateral,
                    "debt": prize.debt,
                    "expected_profit_e8": profit,
                },
                priority_fee_wei=self.priority_fee_wei,
            )
            for prize, profit in chosen
        )
        note = f"{len(rows)} of {len(self.watched)} can be liquidated, {len(intents)} pay"
        return StepResult(intents, note)

    def _chosen(self, world: World, prizes: list[Prize]) -> list[tuple[Prize, int]]:
        """Return the most profitable quote per borrower, with its expected profit."""
        margins = self._margins_e8(prizes)
        by_margin = sorted(range(len(prizes)), key=lambda at: margins[at], reverse=True)
        best = [prizes[at] for at in by_margin[: 2 * self.most_a_step]]
        alone = self._profits(world, best, together=False)
        order = sorted(range(len(best)), key=lambda at: alone[at], reverse=True)
        first: dict[bytes, Prize] = {}
        for at in order:
            if self._pays(alone[at]):
                first.setdefault(best[at].borrower, best[at])
        taken = list(first.values())[: self.most_a_step]
        after = self._profits(world, taken, together=True)
        return [(prize, profit) for prize, profit in zip(taken, after, strict=True) if self._pays(profit)]

    def _pays(self, profit_e8: int) -> bool:
        return profit_e8 > 0 and profit_e8 >= self.least_profit_e8

    def _margins_e8(self, prizes: list[Prize]) -> list[int]:
        """Return the value gained by each quote at the market's prices, before the sale."""
        worth = self._worth(prizes)
        return [worth(prize.collateral, prize.seized) - worth(prize.debt, prize.pays) for prize in prizes]

    def _worth(self, prizes: list[Prize]) -> Worth:
        """Return a valuation of the quoted assets; prices are read once."""
        assets = {asset for prize in prizes for asset in (prize.collateral, prize.debt)}
        known = {asset: (self.lending.price_e8(asset), int(10 ** self.lending.decimals(asset))) for asset in assets}
        return lambda asset, amount: amount * known[asset][0] // known[asset][1]

    def _profits(self, world: World, prizes: list[Prize], *, together: bool) -> list[int]:
        """Return the profit of each quote after sale, premium and gas, each alone or all in this order."""
        received = self._received(prizes, together=together)
        gas = gas_value_e8(world, GAS_OF_LIQUIDATION + GAS_OF_SALE, self.lending.quote, self.priority_fee_wei)
        profits, worth = [], self._worth(prizes)
        for prize, amount in zip(prizes, received, strict=True):
            premium = (prize.pays * self._premium_bps + 5_000) // 10_000
            profits.append(worth(prize.debt, amount) - worth(prize.debt, prize.pays + premium) - gas)
        return profits

    def _received(self, prizes: list[Prize], *, together: bool) -> list[int]:
        uniswap = UniswapV3(self.lending.fork)
        received = [0] * len(prizes)
        pairs: dict[tuple[str, str], list[int]] = {}
        for at, prize in enumerate(prizes):
            if prize.seized:
                pairs.setdefault((prize.collateral, prize.debt), []).append(at)
        for pair, places in pairs.items():
            route = self._route(*pair)
            if route is None:
                for at in places:
                    received[at] = prizes[at].seized
                continue
            amounts = [prizes[at].seized for at in places]
            if together:
                amounts = np.cumsum(np.array(amounts, dtype=object)).tolist()
            quotes = [quote.amount_out for quote in uniswap.quote_exact_inputs(route, amounts)]
            if together:
                quotes = [quotes[0], *(after - before for before, after in pairwise(quotes))]
            for at, amount in zip(places, quotes, strict=True):
                received[at] = amount
        return received

    # -- carried out --------------------------------------------------------------------------------------------------

    def _carry_out(self, prize: Prize) -> Details:
        before = self._balance(prize.debt)
        with undone_on_failure(self.lending.fork):
            taken, received = self._with_loan(prize) if self.flash_loan else self._with_capital(prize)
        profit = self._balance(prize.debt) - before
        worth = self._worth([prize])
        facts = self._facts(prize, taken, worth)
        sale = {"received": received, "received_e8": worth(prize.debt, received)}
        return facts | sale | {"profit": profit, "profit_e8": worth(prize.debt, profit)}

    def _with_capital(self, prize: Prize) -> tuple[Taken, int]:
        taken = self.lending.liquidate(self.address, prize)
        route = self._route(prize.collateral, prize.debt)
        if not taken.seized or route is None:
            return taken, 0
        uniswap = UniswapV3(self.lending.fork)
        sale = uniswap.swap_exact_input(route, taken.seized, sender=self.address, min_amount_out=taken.paid)
        return taken, sale.amount_out

    def _with_loan(self, prize: Prize) -> tuple[Taken, int]:
        """Borrow, liquidate, sell and repay in one transaction; the profit goes to this account."""
        market = require_aave(self.lending, "a flash loan").market
        fork, pool = market.fork, market.pool
        borrower, router = flash_borrower(fork), Router(fork)
        debt, collateral = market.token(prize.debt), market.token(prize.collateral)
        calls = [
            (debt.address, debt.contract.approve.encode(pool.address, prize.cover)),
            (
                pool.address,
                pool.liquidationCall.encode(collateral.address, debt.address, prize.borrower, prize.asks, False),
            ),
        ]
        route = self._route(prize.collateral, prize.debt)
        if route is not None:
            sale = router.calldata(
                Route.of(fork, route), prize.seized, prize.pays, recipient=borrower, deadline=fork.timestamp
            )
            calls += [
                (collateral.address, collateral.contract.approve.encode(router.address, prize.seized)),
                (router.address, sale),
            ]
        before = self._balance(prize.debt)
        account = market.account(self.address)
        loan = account.flash_loan(prize.debt, prize.cover, calls, sweep=[collateral.address])
        event = pool.events(loan.receipt, "LiquidationCall")[0].args
        received = self._balance(prize.debt) - before + event.covered + loan.premium
        return Taken(event.covered, event.covered, event.seized), received

    def _facts(self, prize: Prize, taken: Taken, worth: Worth) -> dict[str, int | str | bool | None]:
        after = self.lending.account(prize.borrower).health()
        return {
            "covered": taken.covered,
            "paid": taken.paid,
            "seized": taken.seized,
            "seized_e8": worth(prize.collateral, taken.seized),
            "covered_e8": worth(prize.debt, taken.covered),
            "borrower_health_factor_after_wad": after.health_factor_wad,
            "borrower_debt_after_e8": after.debt_value_e8,
            "borrower_collateral_after_e8": after.collateral_value_e8,
        }

    def _balance(self, asset: str) -> int:
        return Erc20(self.lending.fork, asset).balance_of(self.address)


class FrictionlessLiquidator(LiquidatorAgent):
    """Idealised liquidator with unlimited capital: keeps what it seizes and ignores gas and profit.

    It liquidates every liquidatable account of `watch`, repeatedly in one bundle, until the account is healthy or has
    no collateral left. The remaining bad debt is what no liquidator could have prevented.
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
        """Accept any routes: nothing is sold."""

    def prepare(self, world: World) -> None:
        """Take more capital than there is debt."""
        super().prepare(world)
        for debt in self.debts:
            world.fork.deal(debt, self.address, _PLENTY * int(10 ** self.lending.decimals(debt)))

    def _chosen(self, world: World, prizes: list[Prize]) -> list[tuple[Prize, int]]:
        del world
        best: dict[bytes, tuple[Prize, int]] = {}
        for prize, margin in zip(prizes, self._margins_e8(prizes), strict=True):
            if prize.borrower not in best or margin > best[prize.borrower][1]:
                best[prize.borrower] = prize, margin
        return list(best.values())

    def _carry_out(self, prize: Prize) -> Details:
        taken = [self.lending.liquidate(self.address, prize)]
        account = self.lending.account(prize.borrower)
        while (health := account.health()).liquidatable:
            more = self.lending.prizes([prize.borrower], [health.health_factor_wad], [prize.collateral], [prize.debt])
            if not more:
                break
            taken.append(self.lending.liquidate(self.address, more[0]))
        total = Taken(
            sum(each.covered for each in taken),
            sum(each.paid for each in taken),
            sum(each.seized for each in taken),
            len(taken),
        )
        worth = self._worth([prize])
        profit_e8 = worth(prize.collateral, total.seized) - worth(prize.debt, total.paid)
        return self._facts(prize, total, worth) | {"times": total.times, "profit_e8": profit_e8}
