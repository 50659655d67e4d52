"""`AgentSet`: the agents of a scenario, and the markets and pools they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from mayavi.agents.base import Agent
from mayavi.scenarios.build.agents.agent_kind import numbered as numbered
from mayavi.scenarios.build.chain.creation import give, units
from mayavi.scenarios.build.chain.routes import pool_named
from mayavi.scenarios.figures.limits import Limits
from mayavi.scenarios.models.config import ScenarioConfig, pool_tokens

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.build.portion import Portion

A = TypeVar("A", bound=Agent)


@dataclass(frozen=True, slots=True)
class BorrowerGroup:
    """Borrowing accounts of one lending market.

    `pairs` are the collaterals and debts that an account has together, for liquidators; by default the one pair of
    `collateral` and `debt`.
    """

    market: str
    accounts: tuple[str, ...]
    collateral: str
    debt: str
    pairs: tuple[tuple[str, str], ...] = ()
    assets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """All collaterals and all debts, where there are several."""

    def __post_init__(self) -> None:
        if not self.pairs and not any(self.assets):
            object.__setattr__(self, "pairs", ((self.collateral, self.debt),))

    @property
    def collaterals(self) -> tuple[str, ...]:
        """All collateral assets."""
        return self.assets[0] or (self.collateral,)

    @property
    def debts(self) -> tuple[str, ...]:
        """All borrowed assets."""
        return self.assets[1] or (self.debt,)


@dataclass
class AgentSet:
    """Agents built so far; builders add what is to be recorded because of them."""

    config: ScenarioConfig
    fork: Fork
    portion: Portion
    seed: int
    agents: dict[str, list[Agent]] = field(default_factory=dict)
    """Agents by their name in the scenario."""
    borrower_groups: dict[str, BorrowerGroup] = field(default_factory=dict)
    """Borrowers by their name in the scenario: liquidators watch them, figures are recorded of them."""
    pools: list[str] = field(default_factory=list)
    """Uniswap V3 pools to record: `WETH/USDC.500`."""
    curve_pools: list[str] = field(default_factory=list)
    """Curve pools to record."""
    sellers: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By vesting recipient: the token it sells and the token it receives."""
    absorbers: dict[str, str] = field(default_factory=dict)
    """By liquidator on Compound V3: its market."""
    limits: Limits = field(default_factory=Limits)
    """Liquidators and arbitrageurs, which count what limits them."""

    def __post_init__(self) -> None:
        self._begun = self.fork.marker

    @property
    def step_seconds(self) -> int:
        """Seconds per step."""
        return self.portion.step_seconds

    def alike(self, name: str, make: Callable[[], Sequence[A]]) -> list[A]:
        """Return the agents of `make`, which depend neither on the seed nor on the fork object.

        Runs of a portion get copies of them, unless a builder has written to the world before.
        """
        return list(make()) if self.fork.marker != self._begun else self.portion.copies(name, make)

    def use_pool(self, name: str) -> tuple[str, str, int]:
        """Return tokens and fee of an existing Uniswap V3 pool, and record its figures."""
        pool_named(self.fork, name)
        tokens = pool_tokens(name)
        assert tokens is not None  # pool_named refuses other names
        if name not in self.pools:
            self.pools.append(name)
        return tokens

    def use_curve_pool(self, name: str, *coins: str) -> None:
        """Record the figures of a Curve pool; `UnknownName` if it does not trade all of `coins`."""
        from mayavi.protocols.curve.pool import CurveStableSwap

        pool = CurveStableSwap(self.fork, name)
        for coin in coins:
            pool.index(coin)
        if name not in self.curve_pools:
            self.curve_pools.append(name)

    def give(self, symbol: str, holder: bytes, amount: int) -> None:
        """Give `holder` `amount` more of a token, in smallest units."""
        give(self.fork, symbol, holder, amount)

    def units(self, symbol: str, amount: Decimal) -> int:
        """Convert whole tokens to smallest units."""
        from mayavi.protocols.tokens import Erc20

        return units(amount, Erc20(self.fork, symbol).decimals)

    def capital(self, amounts: dict[str, Decimal]) -> dict[str, int]:
        """Convert whole tokens to smallest units, by symbol."""
        return {symbol: self.units(symbol, amount) for symbol, amount in amounts.items()}
