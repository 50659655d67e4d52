"""Liquidators of undercollateralised accounts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.gas import gas_value_e8
from mayavi.agents.lending.market import (
    LendingMarket,
    LiquidationQuote,
    LiquidationResult,
    addresses_of,
    read_liquidatable,
    read_seizable,
)
from mayavi.agents.lending.open_market import lending_market
from mayavi.agents.liquidation.choice import Choice, Chosen, Sales
from mayavi.agents.liquidation.limits import LIMITS, Limit, Reason, no_limits
from mayavi.agents.liquidation.sale_routes import SaleRoute, SaleRouteLike, open_route
from mayavi.errors import BadArgument
from mayavi.protocols.tokens import Erc20, atomic

if TYPE_CHECKING:
    from mayavi.agents.liquidation.flash_loans import FlashLender

GAS_OF_LIQUIDATION = 500_000
"""Estimated gas of a liquidation with its approvals."""
GAS_OF_SALE = 200_000
"""Estimated gas of the sale of the collateral."""
MOST_A_BLOCK = 9
"""Most liquidations of one liquidator in a block: in 99.6 % of the blocks in which a liquidator of Aave V2 acted
between July 2021 and April 2022 it sent no more, crash days included."""

Valuation = Callable[[str, int], int]
"""Function from asset and amount to value, with 8 decimals."""


class LiquidatorAgent(Agent):
    """Liquidator of the accounts in `watch` that sells the seized collateral in the same intent.

    In each block it reads all accounts at once and selects those that pay: proceeds of the quoted sale, minus the debt
    repaid and the gas cost, at least `least_profit` in whole units of the market's quote currency. It repays as much as
    the market's close factor, its own capital and the depth of the pool allow. Competitors mostly try different
    accounts first; the later of two that chose the same one fails with the market's revert reason. If a sale returns
    less than the debt repaid, the whole liquidation reverts. It acts block by block until no liquidation pays.

    `capital` is the initial balance per debt asset, in smallest units. `routes` maps each collateral to a route that
    ends in the debt asset, or each pair of collateral and debt if there are several debts: over Uniswap V3, a `V4Route`
    or a `PendleRoute`. `pairs` restricts the pairs of collateral and debt to liquidate. With `flash_loan` the agent
    borrows on Aave or Morpho within the transaction instead of using capital, and pays Aave's premium. `most_a_block`
    is the number of liquidations it sends in one block, `notices` the chance that it notices an account within a block,
    and `latency_blocks` the number of blocks from then until it acts.

        LiquidatorAgent("bot", watch=crowd.accounts, collaterals=["WETH"], debts=["USDC"],
                        routes={"WETH": ("WETH", "USDC", 500)}, capital={"USDC": 10**12})
    """

    every_block = True

    def __init__(
        self,
        name: str,
        *,
        watch: Iterable[str],
        collaterals: Sequence[str],
        debts: Sequence[str],
        routes: Mapping[str | tuple[str, str], SaleRouteLike] | None = None,
        pairs: Iterable[tuple[str, str]] | None = None,
        capital: Mapping[str, int] | None = None,
        market: str = "AaveV3",
        flash_loan: bool = False,
        least_profit: int = 0,
        most_a_block: int = MOST_A_BLOCK,
        latency_blocks: int = 0,
        notices: float = 1.0,
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
        self.most_a_block, self.latency_blocks, self.notices = most_a_block, latency_blocks, notices
        self.priority_fee_wei = priority_fee_wei
        if least_profit < 0 or most_a_block < 1 or latency_blocks < 0:
            raise BadArgument(
                f"liquidator '{name}' has a least profit of {least_profit}, sends {most_a_block} a block and waits "
                f"{latency_blocks} blocks",
                "`least_profit` and `latency_blocks` are at least 0, `most_a_block` at least 1",
            )
        if not 0 < notices <= 1:
            raise BadArgument(
                f"liquidator '{name}' notices an account with a chance of {notices}",
                "`notices` is above 0 and at most 1",
            )
        self._first_seen: dict[bytes, int] = {}
        self._looked_at_step = -1
        self._limited_now, self._limited_before = no_limits(), no_limits()
        self._check_routes()

    def _check_routes(self) -> None:
        for collateral, debt in sorted(self.pairs):
            if self._route(collateral, debt) is None and collateral != debt:
                raise BadArgument(
                    f"liquidator '{self.name}' has no route to sell {collateral} for {debt}",
                    f'give one: routes={{"{collateral}": ("{collateral}", "{debt}", 500)}}',
                )

    def _route(self, collateral: str, debt: str) -> SaleRouteLike | None:
        """Return the route to sell `collateral` for `debt`; None if both are the same asset or no route is given."""
        if collateral == debt:
            return None
        return self.routes.get((collateral, debt)) or self.routes.get(collateral)

    # -- preparation --------------------------------------------------------------------------------------------------

    def prepare(self, world: World) -> None:
        """Deal the capital and resolve the addresses of the watched accounts."""
        self.address = world.address(self.name)
        self.lending: LendingMarket = lending_market(world.fork, self.market)
        self._tokens: dict[str, Erc20] = {}
        self.watched = addresses_of(world, self.watch)
        self._names = dict(zip(self.watched, self.watch, strict=True))
        self._check_route_ends(world)
        for asset, amount in self.capital.items():
            world.fork.deal(asset, self.address, amount)
        self._lender: FlashLender | None = None
        if self.flash_loan:
            from mayavi.agents.liquidation.flash_loans import flash_lender

            self._lender = flash_lender(self.lending)

    def _check_route_ends(self, world: World) -> None:
        """Open every route, and check that it starts at the collateral and ends in the debt asset."""
        self._opened: dict[tuple[str, str], SaleRoute] = {}
        for collateral, debt in sorted(self.pairs):
            route = self._route(collateral, debt)
            if route is None:
                continue
            found = self._opened[collateral, debt] = open_route(world.fork, route)
            expected = Erc20(world.fork, collateral).address, Erc20(world.fork, debt).address
            if (found.token_in, found.token_out) != expected:
                raise BadArgument(
                    f"liquidator '{self.name}' sells {collateral} for {debt} by a route from "
                    f"{world.fork.name(found.token_in)} to {world.fork.name(found.token_out)}",
                    "a route ends in the debt (after `pendle` by `then`); give one for each pair, "
                    f'routes={{("{collateral}", "{debt}"): …}}',
                )

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, world: World, step_idx: int) -> StepResult:
        """Find liquidatable accounts and return the profitable liquidations."""
        if not self.watched:
            return self.rests("nobody to watch")
        self._limited_before = self.limited if step_idx > self._looked_at_step else self._limited_before
        self._looked_at_step, self._limited_now = step_idx, no_limits()
        factors = read_liquidatable(world, self.lending, self.watched)
        ready = self._ready(world, factors)
        if not factors:
            return self.rests(f"none of {len(self.watched)} can be liquidated")
        seizable = read_seizable(world, self.lending, self.watched)
        quotes = [quote for quote in self._quotes(world, seizable) if quote.borrower in ready]
        chosen = self._choose(world, quotes, factors)
        self._limited_now["latency"] = factors.keys() - ready
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
                gas=GAS_OF_LIQUIDATION + GAS_OF_SALE,
            )
            for quote, profit in chosen
        )
        note = f"{len(factors)} of {len(self.watched)} can be liquidated, {len(intents)} pay"
        return StepResult(intents, note, waits=len(ready) < len(factors))

    def _ready(self, world: World, factors: Mapping[bytes, int]) -> Set[bytes]:
        """Return the liquidatable accounts noticed at least `latency_blocks` blocks ago."""
        block, seen = world.fork.block_number, self._first_seen
        for account in seen.keys() - factors.keys():
            del seen[account]
        if len(seen) < len(factors):
            unseen = [account for account in factors if account not in seen]
            draws = world.rng(f"{self.name}.notices").random(len(unseen)) if self.notices < 1 else np.zeros(len(unseen))
            noticed = [account for account, draw in zip(unseen, draws, strict=True) if draw < self.notices]
            seen |= dict.fromkeys(noticed, block)
        if not self.latency_blocks:
            return seen.keys()
        latest = block - self.latency_blocks
        return {account for account, first in seen.items() if first <= latest}

    def _quotes(self, world: World, factors: Mapping[bytes, int]) -> list[LiquidationQuote]:
        """Return the largest liquidations that the market allows, read once per block and shared by liquidators."""
        found = world.observe(
            ("liquidations", self.lending.name, tuple(factors), self.collaterals, self.debts),
            lambda: self.lending.quote_liquidations(
                list(factors), list(factors.values()), self.collaterals, self.debts
            ),
        )
        return [quote for quote in found if (quote.collateral, quote.debt) in self.pairs]

    def _choose(self, world: World, quotes: list[LiquidationQuote], factors: Mapping[bytes, int]) -> list[Chosen]:
        return self.terms(world, quotes, factors).choose(quotes, world.rng(self.name)) if quotes else []

    def terms(self, world: World, quotes: Sequence[LiquidationQuote], factors: Mapping[bytes, int]) -> Choice:
        """Return the terms of this block: prices, funds, gas, and the pools to sell in."""
        return Choice(
            lending=self.lending,
            prices=self._prices(quotes),
            factors=factors,
            funds=self._funds(),
            gas_e8=gas_value_e8(world, GAS_OF_LIQUIDATION + GAS_OF_SALE, self.lending.quote, self.priority_fee_wei),
            least_profit_e8=self.least_profit_e8,
            premium_bps=0 if self._lender is None else self._lender.premium_bps,
            most=self.most_a_block,
            sales=Sales(self._opened),
            limited=self._limited_now,
        )

    def _funds(self) -> dict[str, int] | None:
        if self._lender is not None:
            return self._lender.funds(self.debts)
        return {debt: self._balance(debt) for debt in self.debts}

    @property
    def limited(self) -> dict[Limit, set[bytes]]:
        """By limit: accounts that the limit kept from a full liquidation, in the last block observed of any step."""
        return {limit: self._limited_before[limit] | self._limited_now[limit] for limit in LIMITS}

    def why_left(self, world: World, accounts: Sequence[str]) -> dict[str, Reason]:
        """Return why each of `accounts`, all liquidatable now, was not liquidated; unwatched accounts are left out."""
        addresses = dict(zip(self.watch, self.watched, strict=True))
        own = {addresses[account]: account for account in accounts if account in addresses}
        read = self.lending.healths(list(own))
        factors = {address: read.health_factor_wad[row] for row, address in enumerate(own)}
        quotes = self._quotes(world, factors) if own else []
        terms = self.terms(world, quotes, factors)
        return {name: terms.why_left([each for each in quotes if each.borrower == at]) for at, name in own.items()}

    def _prices(self, quotes: Sequence[LiquidationQuote]) -> dict[str, tuple[int, int]]:
        """Return price and unit of each quoted asset, at the market's prices."""
        assets = {asset for quote in quotes for asset in (quote.collateral, quote.debt)}
        return {asset: (self.lending.price_e8(asset), int(10 ** self.lending.decimals(asset))) for asset in assets}

    def _valuation(self, quotes: Sequence[LiquidationQuote]) -> Valuation:
        """Return a valuation of the quoted assets at the market's prices, which are read once."""
        prices = self._prices(quotes)
        return lambda asset, amount: amount * prices[asset][0] // prices[asset][1]

    # -- execution ----------------------------------------------------------------------------------------------------

    def _execute(self, quote: LiquidationQuote) -> Details:
        before = self._balance(quote.debt)
        with atomic(self.lending.fork):
            result, received = self._use_capital(quote) if self._lender is None else self._borrow(self._lender, quote)
        profit = self._balance(quote.debt) - before
        value_of = self._valuation([quote])
        details = self._result_details(quote, result, value_of)
        sale = {"received": received, "received_e8": value_of(quote.debt, received)}
        return details | sale | {"profit": profit, "profit_e8": value_of(quote.debt, profit)}

    def _use_capital(self, quote: LiquidationQuote) -> tuple[LiquidationResult, int]:
        """Liquidate and sell in two transactions; return the liquidation and the proceeds of the sale."""
        result = self.lending.liquidate(self.address, quote)
        route = self._opened.get((quote.collateral, quote.debt))
        if not result.seized or route is None:
            return result, 0
        return result, route.sell(result.seized, result.paid, self.address)

    def _borrow(self, lender: FlashLender, quote: LiquidationQuote) -> tuple[LiquidationResult, int]:
        """Borrow, liquidate, sell and repay in one transaction; the profit goes to this account."""
        before, opened = self._balance(quote.debt), self._opened.get((quote.collateral, quote.debt))
        result, premium = lender.liquidate(self.address, quote, opened)
        return result, self._balance(quote.debt) - before + result.paid + premium

    def _result_details(
        self, quote: LiquidationQuote, result: LiquidationResult, value_of: Valuation
    ) -> dict[str, int | str | bool | None]:
        after = self.lending.account(quote.borrower).health()
        lost = {"deficit_e8": result.deficit_e8} if result.deficit_e8 else {}
        if result.bad_debt:
            lost["bad_debt_e8"] = value_of(quote.debt, result.bad_debt)
        return {
            **lost,
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
        token = self._tokens.get(asset)
        if token is None:
            token = self._tokens[asset] = Erc20(self.lending.fork, asset)
        return token.balance_of(self.address)
