"""Figures of the learner's own account: health factor, balances, wealth, actions and liquidations."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from mayavi.agents.base import Agent
from mayavi.agents.lending.market import Health
from mayavi.errors import ExecutionError, UnknownName, UsageError
from mayavi.evm.units import WAD
from mayavi.scenario_env.learner_account import LearnerAccount
from mayavi.scenarios.build.chain.routes import deepest_pool
from mayavi.scenarios.build.pricing import oracle_usd_e8
from mayavi.sim.hooks import Hook
from mayavi.sim.market_figures import pool_price_wad
from mayavi.sim.rows import ActionRow
from mayavi.sim.world_state import WorldState

PREFIX = "own."
TOKEN_FIGURES = ("balance", "supplied", "owed")
"""Figures by token: `own.balance.USDC`."""
FIGURES = (
    *("health_factor", "collateral", "debt", "headroom", "wealth", "native"),
    *("liquidations", "actions", "failed", "last_action"),
)
"""Other figures of every account."""
TIME_LEFT, STEP = "time_left", "step"
_QUOTES = ("USDC", "WETH", "USDT", "DAI")


class Value(NamedTuple):
    """A figure: the exact integer, or None where there is none now, and its unit."""

    exact: int | None
    unit: str


class OwnTally(Hook):
    """Counts the actions, failures and liquidations of one account."""

    def __init__(self, account: str) -> None:
        self.account = account
        self.actions = self.failed = self.liquidations = 0

    def after_block(self, world: WorldState, block: str, actions: Sequence[ActionRow]) -> None:
        """Count the rows of an agent block."""
        del world, block
        for row in actions:
            if row.account == self.account:
                self.actions += 1
                self.failed += row.status in ("failed", "raised")
            if row.kind == "liquidate" and row.status == "success":
                facts = json.loads(row.details)
                if facts.get("borrower") == self.account:
                    self.liquidations += int(facts.get("times", 1))


class OwnFigures:
    """Reads figures of the learner's account. `tokens` are those of its wallet that count as wealth."""

    def __init__(
        self, world: WorldState, agent: Agent, learner_account: LearnerAccount, tally: OwnTally, tokens: Sequence[str]
    ) -> None:
        self.world, self.agent, self.learner_account, self.tally, self.tokens = (
            world,
            agent,
            learner_account,
            tally,
            tuple(tokens),
        )
        self._health: Health | None = None
        self._own: dict[str, tuple[int, str]] | None = None
        self._pricers: dict[str, Callable[[], int]] = {}

    def refresh(self) -> None:
        """Discard figures that were read before: the chain has moved on."""
        self._health = self._own = None

    def known(self) -> list[str]:
        """Names that can be read, without the prefix; figures by token are listed for the tokens of its wealth."""
        named = [f"{figure}.{token}" for figure in TOKEN_FIGURES for token in self.tokens]
        return [*FIGURES, *named, *self._of_agent]

    @property
    def health(self) -> Health:
        """Health of the account, read once."""
        if self._health is None:
            self._health = self.learner_account.holder.health()
        return self._health

    def read(self, name: str) -> Value:
        """Read a figure by its name without the prefix; raise `UnknownName` if there is none."""
        figure, dot, token = name.partition(".")
        if dot and figure in TOKEN_FIGURES:
            return self._of_token(figure, token)
        if name in self._of_agent:
            return Value(*self._of_agent[name])
        simple: dict[str, Callable[[], Value]] = {
            "health_factor": lambda: Value(self.health.health_factor_wad, "wad"),
            "collateral": lambda: Value(self.health.collateral_value_e8, self._quote),
            "debt": lambda: Value(self.health.debt_value_e8, self._quote),
            "headroom": lambda: Value(max(0, self.health.borrow_limit_e8 - self.health.debt_value_e8), self._quote),
            "wealth": lambda: Value(self.wealth_e8(), "usd_e8"),
            "native": lambda: Value(self.world.fork.balance(self.learner_account.address), "wad"),
            "liquidations": lambda: Value(self.tally.liquidations, "count"),
            "actions": lambda: Value(self.tally.actions, "count"),
            "failed": lambda: Value(self.tally.failed, "count"),
        }
        if name not in simple:
            known = [f"{PREFIX}{each}" for each in self.known()]
            raise UnknownName.of("figure", f"{PREFIX}{name}", known, f"own figures are: {', '.join(known)}")
        return simple[name]()

    @property
    def _of_agent(self) -> dict[str, tuple[int, str]]:
        """Figures that the agent defines itself."""
        if self._own is None:
            self._own = dict(self.agent.own_figures(self.world))
        return self._own

    @cached_property
    def _quote(self) -> str:
        return "eth_e8" if self.learner_account.lending.quote == "ETH" else "usd_e8"

    def _of_token(self, figure: str, token: str) -> Value:
        account, unit = self.learner_account, f"e{self.learner_account.token(token).decimals}"
        if figure == "balance":
            return Value(account.balance(token), unit)
        return Value(account.holder.supplied(token) if figure == "supplied" else account.holder.debt(token), unit)

    # -- wealth -------------------------------------------------------------------------------------------------------

    def wealth_e8(self) -> int:
        """Collateral and tokens of the wallet less debt, in dollars with eight decimals."""
        total = self._lent_e8() if self._lends else 0
        for symbol in self.tokens:
            held = self.learner_account.balance(symbol)
            if held:
                total += held * self.price_usd_e8(symbol) // 10 ** self.learner_account.token(symbol).decimals
        return total

    @cached_property
    def _lends(self) -> bool:
        try:
            return bool(self.learner_account.lending)
        except UsageError:  # a chain without that market
            return False

    def _lent_e8(self) -> int:
        net = self.health.collateral_value_e8 - self.health.debt_value_e8
        return net * self.price_usd_e8("WETH") // 10**8 if self._quote == "eth_e8" else net

    def price_usd_e8(self, symbol: str) -> int:
        """Price of a token by its lending market, else by Aave's oracle or its feed, else by its deepest pool."""
        if symbol not in self._pricers:
            self._pricers[symbol] = self._pricer(symbol)
        return self._pricers[symbol]()

    def _pricer(self, symbol: str) -> Callable[[], int]:
        """Return the function that prices a token."""
        account = self.learner_account
        tries: list[Callable[[], int]] = [
            lambda: oracle_usd_e8(account.fork, symbol),
            lambda: self._by_pool(symbol),
        ]
        if self._lends and account.lending.quote == "USD":
            tries.insert(0, lambda: account.lending.price_e8(symbol))
        for attempt in tries:
            try:
                attempt()
            except (UsageError, ExecutionError):
                continue
            return attempt
        raise UsageError(
            f"nothing prices {symbol}, so it is no part of the learner's wealth",
            "name the tokens that count: learner.tokens: [USDC]",
        )

    def _by_pool(self, symbol: str) -> int:
        from mayavi.protocols.uniswap.market import UniswapV3

        for quote in _QUOTES:
            if quote in self.learner_account.fork.labels and quote != symbol:
                fee = deepest_pool(self.learner_account.fork, symbol, quote)
                if fee is not None:
                    pool = UniswapV3(self.learner_account.fork).pool(symbol, quote, fee)
                    base_is_0 = pool.token0.address == self.learner_account.token(symbol).address
                    price = pool_price_wad(pool, pool.sqrt_price_x96, base_is_0=base_is_0)
                    return price * oracle_usd_e8(self.learner_account.fork, quote) // WAD
        raise UsageError(f"no pool prices {symbol}")
