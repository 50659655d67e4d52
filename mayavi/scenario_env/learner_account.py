"""`LearnerAccount`: lend, borrow, repay and sell tokens of an account, by shares or amounts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from mayavi.agents.base import Details, Intent
from mayavi.agents.lending.aave import AaveLending
from mayavi.agents.lending.market import Health, LendingAccount, LendingMarket
from mayavi.agents.lending.open_market import lending_market
from mayavi.agents.trading.exchange import CurveExchange, Exchange, UniswapExchange
from mayavi.errors import UsageError
from mayavi.evm.fork import Fork
from mayavi.protocols.tokens import Erc20
from mayavi.scenarios.build.chain.routes import pool_named, route_between
from mayavi.scenarios.models.config import pool_tokens
from mayavi.scenarios.models.learner import ActionChoice

MILLION = 10**6


class LearnerAccount:
    """Actions of the account `name` at `address`, on one lending market and all pools of the chain.

    Amounts are computed from the state at the time of the decision, and executed as intents.
    """

    def __init__(self, fork: Fork, name: str, address: bytes, market: str) -> None:
        self.fork, self.name, self.address, self.market = fork, name, address, market
        self._tokens: dict[str, Erc20] = {}
        self._exchanges: dict[tuple[str, str, str | None], Exchange] = {}

    @cached_property
    def lending(self) -> LendingMarket:
        """The lending market; `UnknownName` if the chain has none of that name."""
        return lending_market(self.fork, self.market)

    @cached_property
    def holder(self) -> LendingAccount:
        """The account on the lending market."""
        return self.lending.account(self.address)

    def token(self, symbol: str) -> Erc20:
        """A token of the chain."""
        found = self._tokens.get(symbol)
        if found is None:
            found = self._tokens[symbol] = Erc20(self.fork, symbol)
        return found

    def balance(self, symbol: str) -> int:
        """Balance of the wallet."""
        return self.token(symbol).balance_of(self.address)

    def headroom(self, symbol: str, health: Health | None = None) -> int:
        """Largest loan of a token that the market gives the account now."""
        known = self.holder.health() if health is None else health
        free = known.borrow_limit_e8 - known.debt_value_e8
        if free <= 0:
            return 0
        if isinstance(self.lending, AaveLending):  # the largest debt that passes the pool's check
            unit = int(10 ** self.lending.decimals(symbol))
            return ((free + 1) * unit - 1) // self.lending.price_e8(symbol)
        return self.lending.loan_of(symbol, free)

    # -- intents ------------------------------------------------------------------------------------------------------

    def check(self, action: ActionChoice) -> None:
        """Raise `UsageError` if the market or the pools lack what an action needs."""
        token = action.token or ""
        self.token(token)
        if action.do == "sell":
            self._exchange(token, action.into or "", action.pool)
        else:
            self.lending.decimals(token)

    def intent(self, action: ActionChoice, part_ppm: int) -> Intent | None:
        """Return the intent of `part_ppm` millionths of an action; None if there is nothing to do it with."""
        token = action.token or ""
        possible = self._possible(action.do, token)
        if action.amount is not None:
            wanted = int(action.amount * 10 ** self.token(token).decimals) * part_ppm // MILLION
        else:
            base = self.holder.debt(token) if action.do == "repay" else possible
            wanted = base * (int(action.share * MILLION) * part_ppm // MILLION) // MILLION
        amount = min(wanted, possible)
        if amount <= 0:
            return None
        run = self._sale(token, action, amount) if action.do == "sell" else self._loan(action.do, token, amount)
        return Intent(action.do, run, {"token": token, "amount": amount}, self.name)

    def _possible(self, do: str, token: str) -> int:
        if do == "borrow":
            return self.headroom(token)
        if do == "withdraw":
            return self.holder.supplied(token)
        if do == "repay":
            return min(self.holder.debt(token), self.balance(token))
        return self.balance(token)

    def _loan(self, do: str, token: str, amount: int) -> Callable[[], Details]:
        def run() -> Details:
            getattr(self.holder, do)(token, amount)
            return {"health_factor_after_wad": self.holder.health().health_factor_wad}

        return run

    def _sale(self, token: str, action: ActionChoice, amount: int) -> Callable[[], Details]:
        into = action.into or ""
        exchange = self._exchange(token, into, action.pool)

        def run() -> Details:
            sale = exchange.sell(amount, sender=self.address)
            sold, received = sale.amount_in, sale.amount_out
            facts: dict[str, int | str] = {"token_in": token, "token_out": into, "sold": sold, "received": received}
            return facts | {"amount_in": sold, "amount_out": received}

        return run

    def _exchange(self, token: str, into: str, pool: str | None) -> Exchange:
        key = token, into, pool
        if key not in self._exchanges:
            self._exchanges[key] = self._open_exchange(token, into, pool)
        return self._exchanges[key]

    def _open_exchange(self, token: str, into: str, pool: str | None) -> Exchange:
        if pool is None:
            route = route_between(self.fork, token, into)
            if route is None:
                raise UsageError(f"no pool of the chain sells {token} for {into}", "name a pool, or create one")
            return UniswapExchange(self.fork, route)
        if pool.startswith("Curve."):
            exchange = CurveExchange(self.fork, pool, token, into)
            exchange.peg_ppm()  # refuses a pool without these coins
            return exchange
        pool_named(self.fork, pool)
        tokens = pool_tokens(pool)
        if tokens is None or {tokens[0], tokens[1]} != {token, into}:
            raise UsageError(f"the pool '{pool}' does not trade {token} for {into}", "name one that does")
        return UniswapExchange(self.fork, (token, into, tokens[2]))
