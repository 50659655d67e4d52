"""Choose which accounts a liquidator goes for in a block, and how much of each debt it repays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mayavi.agents.lending.market import LendingMarket, LiquidationQuote
from mayavi.agents.liquidation.limits import REASONS, Limit, Reason
from mayavi.agents.liquidation.sale_routes import SaleRoute
from mayavi.numerics.portable import log

PARTS = (1, 2, 4, 8, 16)
"""Sizes that are tried, as parts of the largest liquidation: all of it first, then a half, a quarter …"""

Pair = tuple[str, str]


class Chosen(NamedTuple):
    """A liquidation that is expected to pay."""

    quote: LiquidationQuote
    profit_e8: int


class Sales:
    """Proceeds of selling seized collateral, each sale after those added before."""

    def __init__(self, routes: Mapping[Pair, SaleRoute]) -> None:
        self._routes = routes
        self._sold: dict[Pair, int] = {}
        self._received: dict[Pair, int] = {}

    def each(self, pair: Pair, amounts: Sequence[int]) -> list[int]:
        """Return the proceeds of each of `amounts`, if it were the next sale."""
        sold, received = self._sold.get(pair, 0), self._received.get(pair, 0)
        return [output - received for output in self._quote(pair, [sold + amount for amount in amounts])]

    def in_turn(self, pair: Pair, amounts: Sequence[int]) -> list[int]:
        """Return the proceeds of each of `amounts`, sold one after the other."""
        totals = np.cumsum(np.array([self._sold.get(pair, 0), *amounts], dtype=object)).tolist()[1:]
        return [after - before for before, after in pairwise([self._received.get(pair, 0), *self._quote(pair, totals)])]

    def add(self, pair: Pair, amount: int, received: int) -> None:
        """Count a sale: the next ones find the pool after it."""
        self._sold[pair] = self._sold.get(pair, 0) + amount
        self._received[pair] = self._received.get(pair, 0) + received

    def _quote(self, pair: Pair, amounts: list[int]) -> list[int]:
        route = self._routes.get(pair)
        if route is None:  # both are the same asset
            return amounts
        wanted = [amount for amount in amounts if amount]
        outputs = iter(route.quotes(wanted) if wanted else ())
        return [next(outputs) if amount else 0 for amount in amounts]


@dataclass
class Choice:
    """Terms of one liquidator in one block.

    `prices` maps each asset to its price with 8 decimals and its unit. `funds` are its balances by debt asset, or None
    with a flash loan, which costs `premium_bps`. `gas_e8` is the cost of one liquidation. `limited` collects,
    by limit, accounts that were not fully liquidated.
    """

    lending: LendingMarket
    prices: Mapping[str, tuple[int, int]]
    factors: Mapping[bytes, int]
    funds: Mapping[str, int] | None
    gas_e8: int
    least_profit_e8: int
    premium_bps: int
    most: int
    sales: Sales
    limited: dict[Limit, set[bytes]]
    _closed: set[Pair] = field(default_factory=set)

    def choose(self, quotes: Sequence[LiquidationQuote], rng: np.random.Generator) -> list[Chosen]:
        """Return liquidations that are expected to pay, one per account, at most `most`.

        The order in which accounts are tried is random, the chance to come first being proportional to the margin: so
        competitors mostly try different accounts, and rich accounts come early.
        """
        waiting = self._in_random_order(self._best_by_account(quotes), rng)
        chosen: list[Chosen] = []
        while waiting and len(chosen) < self.most:
            count = self.most - len(chosen)
            chosen += self._evaluate(waiting[:count])
            closed = {each.borrower for each in waiting[count:] if (each.collateral, each.debt) in self._closed}
            self.limited["depth"] |= closed
            waiting = [each for each in waiting[count:] if each.borrower not in closed]
        self.limited["most_a_block"].update(each.borrower for each in waiting)
        return chosen

    def why_left(self, quotes: Sequence[LiquidationQuote]) -> Reason:
        """Return why an account with these quotes was not liquidated: the reason of the quote nearest to paying."""
        return max((self._why_left(quote) for quote in quotes), key=REASONS.index, default="unprofitable: bonus")

    def _why_left(self, quote: LiquidationQuote) -> Reason:
        margin = self.margin_e8(quote)
        if margin <= 0:
            return "unprofitable: bonus"
        if margin <= max(self.gas_e8, self.least_profit_e8):
            return "unprofitable: gas"
        if not self._some_size_pays(quote):
            return "unprofitable: depth"
        affordable = self._affordable(quote)
        return "too late" if affordable is not None and self._some_size_pays(affordable) else "no capital"

    def _some_size_pays(self, quote: LiquidationQuote) -> bool:
        sizes = [quote._replace(pays=quote.pays // part, seized=quote.seized // part) for part in PARTS]
        received = self.sales.each((quote.collateral, quote.debt), [size.seized for size in sizes])
        profits = (self._profit_e8(size, amount) for size, amount in zip(sizes, received, strict=True) if size.seized)
        return any(self._pays(profit) for profit in profits)

    def _best_by_account(self, quotes: Sequence[LiquidationQuote]) -> list[tuple[LiquidationQuote, int]]:
        """Return the quote with the highest margin after gas of each account, if that pays at the market's prices."""
        best: dict[bytes, tuple[LiquidationQuote, int]] = {}
        for quote in quotes:
            margin, funds = self.margin_e8(quote), self._funds(quote.debt)
            if funds is not None and funds < quote.pays:
                self.limited["capital"].add(quote.borrower)
                margin = margin * funds // quote.pays
            if margin <= max(self.gas_e8, self.least_profit_e8):
                if margin > 0:
                    self.limited["gas"].add(quote.borrower)
                continue
            if quote.borrower not in best or margin > best[quote.borrower][1]:
                best[quote.borrower] = quote, margin
        return list(best.values())

    def _in_random_order(
        self, candidates: list[tuple[LiquidationQuote, int]], rng: np.random.Generator
    ) -> list[LiquidationQuote]:
        if len(candidates) < 2:
            return [quote for quote, _ in candidates]
        weights = np.array([margin for _, margin in candidates], dtype=np.float64)
        keys = -log(1.0 - rng.random(len(candidates))) / weights  # the least of exponential times is the first
        return [candidates[at][0] for at in np.argsort(keys, kind="stable").tolist()]

    def _evaluate(self, quotes: Sequence[LiquidationQuote]) -> list[Chosen]:
        """Return those of `quotes` that pay when sold one after the other, each in its largest profitable size."""
        in_full = [self._affordable(quote) for quote in quotes]
        if None not in in_full and (all_of_them := self._all_in_turn([each for each in in_full if each])):
            return all_of_them
        found = []
        for quote in in_full:
            if quote is not None and (quote.collateral, quote.debt) not in self._closed:
                chosen = self._largest_that_pays(quote)
                found += [chosen] if chosen else []
        return found

    def _all_in_turn(self, quotes: list[LiquidationQuote]) -> list[Chosen]:
        """Return all of `quotes` with their profits; none of them if one does not pay."""
        received: dict[int, int] = {}
        by_pair: dict[Pair, list[int]] = {}
        for at, quote in enumerate(quotes):
            by_pair.setdefault((quote.collateral, quote.debt), []).append(at)
        for pair, places in by_pair.items():
            received.update(zip(places, self.sales.in_turn(pair, [quotes[at].seized for at in places]), strict=True))
        chosen = [Chosen(quote, self._profit_e8(quote, received[at])) for at, quote in enumerate(quotes)]
        if not all(self._pays(each.profit_e8) for each in chosen):
            return []
        for at, quote in enumerate(quotes):
            self.sales.add((quote.collateral, quote.debt), quote.seized, received[at])
        return chosen

    def _largest_that_pays(self, quote: LiquidationQuote) -> Chosen | None:
        pair = quote.collateral, quote.debt
        sizes = [quote._replace(pays=quote.pays // part, seized=quote.seized // part) for part in PARTS]
        received = self.sales.each(pair, [size.seized for size in sizes])
        for part, size, amount in zip(PARTS, sizes, received, strict=True):
            if not size.seized or not self._pays(self._profit_e8(size, amount)):
                continue
            exact = quote if part == 1 else self._quoted(quote, size.pays)
            if exact is None:
                continue
            if part > 1:
                self.limited["depth"].add(quote.borrower)
                (amount,) = self.sales.each(pair, [exact.seized])
            self.sales.add(pair, exact.seized, amount)
            return Chosen(exact, self._profit_e8(exact, amount))
        if self._profit_e8(sizes[-1], received[-1]) + self.gas_e8 <= 0:
            self._closed.add(pair)  # not even a small sale returns what it costs: the pool is far from the oracle
        self.limited["depth"].add(quote.borrower)
        return None

    def _affordable(self, quote: LiquidationQuote) -> LiquidationQuote | None:
        """Return the part of a quote that its funds can pay; None if there is none."""
        funds = self._funds(quote.debt)
        return quote if funds is None or quote.pays <= funds else self._quoted(quote, funds)

    def _quoted(self, quote: LiquidationQuote, most: int) -> LiquidationQuote | None:
        """Quote the same liquidation for a payment of at most `most`."""
        borrower, pair = quote.borrower, ([quote.collateral], [quote.debt])
        found = self.lending.quote_liquidations([borrower], [self.factors[borrower]], *pair, {quote.debt: most})
        return found[0] if found else None

    def margin_e8(self, quote: LiquidationQuote) -> int:
        """Return the value seized minus the value paid, at the market's prices."""
        return self._value_e8(quote.collateral, quote.seized) - self._value_e8(quote.debt, quote.pays)

    def _profit_e8(self, quote: LiquidationQuote, received: int) -> int:
        """Return the profit after sale, premium and gas."""
        premium = (quote.pays * self.premium_bps + 5_000) // 10_000
        return self._value_e8(quote.debt, received) - self._value_e8(quote.debt, quote.pays + premium) - self.gas_e8

    def _pays(self, profit_e8: int) -> bool:
        return profit_e8 > 0 and profit_e8 >= self.least_profit_e8

    def _funds(self, debt: str) -> int | None:
        return None if self.funds is None else self.funds.get(debt, 0)

    def _value_e8(self, asset: str, amount: int) -> int:
        price, unit = self.prices[asset]
        return amount * price // unit
