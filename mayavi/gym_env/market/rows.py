"""`AaveMarketRows`: a batch of Aave markets with borrowers and liquidators.

A step is a tick of the simulation's `Scheduler` with two blocks of agents. In the first all agents act on the same
observed state, in the random order of the scheduler. In the second the price is posted, arbitrageurs move the pool
towards it, and the yield of the borrowers' dollars is paid. Then the rest of `step_blocks` passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.evm.fleet import SUCCESS, Words
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.lending.describe import describe_debt_figure
from mayavi.gym_env.liquidator.actions import decode
from mayavi.gym_env.liquidator.loans import ALL_BPS, Loans
from mayavi.gym_env.liquidator.programs import opening
from mayavi.gym_env.market.borrowers import Borrowers
from mayavi.gym_env.market.config import BORROWER, LIQUIDATOR, ROLES, MarketConfig
from mayavi.gym_env.market.liquidators import Liquidators
from mayavi.gym_env.market.program import MarketProgram, fund_agents, liquidator_accounts
from mayavi.gym_env.roles import Floats, Observations, Role
from mayavi.gym_env.rows import Rows
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.numerics.draw_order import lot_of

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

BLOCK = "market"
"""Name of the scheduler's block of agents with a random order."""


class AaveMarketRows(ChainRowsEnv[MarketConfig]):
    """One market in every row: `loans` on the chain, and the roles `borrowers` and `liquidators`."""

    name: ClassVar[str] = "market"
    config_type: ClassVar[type[Any]] = MarketConfig
    role_names: ClassVar[tuple[str, ...]] = ROLES

    def __init__(self, config: MarketConfig, rows: int = 1, **options: Any) -> None:
        self.borrowers, self.liquidators = Borrowers(self, config), Liquidators(self, config)
        super().__init__(config, rows, **options)
        self.columns |= self.loans.columns(self.program.step.outputs)
        self.columns |= self.borrowers.columns(rows) | self.liquidators.columns(rows)
        self.columns |= {
            "order": np.zeros((rows, config.horizon, len(self.agents)), dtype=np.int64),
            "order_seed": np.zeros(rows, dtype=np.int64),
            "reward": np.zeros(rows),  # unused, but part of the identity of starts in stored evaluations
        }

    @property
    def roles(self) -> tuple[Role, ...]:
        """Borrowers, then liquidators."""
        return self.borrowers.role, self.liquidators.role

    def prepare(self, fork: Fork) -> None:
        """Fund all agents, and build the two programs."""
        accounts = liquidator_accounts(self.liquidators.role.agent_names)
        fund_agents(fork, self.config, accounts)
        self.loans = Loans(self, fork)
        self.program = MarketProgram(self.loans, fork, accounts)
        self._opening = opening(self.loans, self.program.looking({}))

    # -- an episode ---------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Open the loans; then draw the yields of the borrowers, and the order of agents in every step."""
        self.loans.open(self._opening, rows, rngs)
        columns, names = self.columns, self.agents
        low, high = self.config.cash_yield
        for row, rng in zip(rows.tolist(), rngs, strict=True):
            seed = 0
            if self.config.start == "drawn":
                yields = low + (high - low) * rng.random(self.config.borrowers)
                columns["cash_yield_ppm"][row] = np.rint(yields * MILLION)
                seed = int(rng.integers(2**62))
            columns["order_seed"][row] = seed
            for step in range(self.config.horizon):
                draws = [lot_of(seed, step, BLOCK, name, name) for name in names]
                columns["order"][row, step] = sorted(range(len(names)), key=draws.__getitem__)
        columns["start_wealth_e8"][rows] = self.borrowers.net_wealth_e8()[rows]

    def acting(self) -> NDArray[np.bool_]:
        """Borrowers act until they are liquidated, liquidators until they are done."""
        return ~self._ended(self.liquidators.done())

    def _ended(self, done: NDArray[np.bool_]) -> NDArray[np.bool_]:
        liquidators = np.repeat(done[:, None], self.config.liquidators, axis=1)
        return np.concatenate((self.columns["liquidated"], liquidators), axis=1)

    # -- a step -------------------------------------------------------------------------------------------------------

    def apply(self, actions: Mapping[str, NDArray[Any]], live: NDArray[np.bool_]) -> None:
        """Run one tick of the scheduler in all rows."""
        columns, every, first = self.columns, np.arange(self.rows), self.config.borrowers
        accounts = self.loans.accounts()
        rank, share = decode(self.config, actions[LIQUIDATOR])
        chosen = np.take_along_axis(accounts.ranked, rank, axis=1)
        pays = np.rint(share * MILLION).astype(np.int64) * accounts.liquidatable[every[:, None], chosen]
        close_bps = accounts.close_bps[every[:, None], chosen]
        moves = self._moves(self.borrowers.shares_ppm(actions[BORROWER]), chosen, pays, close_bps, live)
        order = columns["order"][every, np.minimum(self.steps, self.config.horizon - 1)]
        in_order = {name: values[every[:, None], order] for name, values in moves.items()}
        looked = self.fleet.run(
            self.program.step,
            threads=self.threads,
            live=live,
            **{f"{name}_{at}": values[:, at] for name, values in in_order.items() for at in range(len(self.agents))},
            **self._credits(live),
            **self.loans.market_inputs(),
        ).words
        columns["looked"] = np.where(live[:, None, None], looked, columns["looked"])
        succeeded = self.by_agent("status", order)[:, first:] == SUCCESS
        for at in range(self.config.liquidators):
            columns["liquidated"][every, chosen[:, at]] |= succeeded[:, at] & live
        profits = self.liquidators.profits(order, self.loans.price())
        columns["earned"] += np.where(live[:, None], profits, 0.0)

    def _moves(
        self,
        shares: NDArray[np.int64],
        chosen: NDArray[np.intp],
        pays: NDArray[np.int64],
        close_bps: NDArray[np.int64],
        live: NDArray[np.bool_],
    ) -> dict[str, NDArray[Any]]:
        """Inputs of the program by agent, (rows, agents, …) each.

        Borrowers repay or borrow `shares`, in millionths; liquidators pay the share `pays` for the `chosen` account.
        """
        count, agents, rows = self.config.borrowers, len(self.agents), self.rows
        debts, headroom = self.loans.of_accounts("debt"), self.loans.of_accounts("headroom")
        own = np.arange(count) + np.where(shares > 0, count, 0)
        base = np.where((shares > 0)[:, :, None], headroom, debts)
        targets = np.concatenate((np.zeros_like(base), self.loans.addresses[chosen]), axis=1)
        held = self.loans.of_accounts("collateral")[np.arange(rows)[:, None], chosen]
        by_value = {"held": np.concatenate((np.zeros_like(base), held), axis=1)} if self.loans.by_value else {}
        return {
            **by_value,
            "choice": np.concatenate((own, np.tile(np.arange(2 * count, count + agents), (rows, 1))), axis=1),
            "base": np.concatenate((base, debts[np.arange(rows)[:, None], chosen]), axis=1),
            "close_bps": np.concatenate((np.full((rows, count), ALL_BPS), close_bps), axis=1),
            "share_ppm": np.concatenate((np.abs(shares), pays), axis=1) * live[:, None],
            "target": targets,
            "money_at": np.broadcast_to(self.program.money_at, (rows, agents, 32)),
            "token_at": np.broadcast_to(self.program.token_at, (rows, agents, 32)),
        }

    def _credits(self, live: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Absolute yield of the acting borrowers in this step, in billionths, and whether it is negative."""
        yields = self.columns["cash_yield_ppm"]
        seconds = self.config.step_blocks * self.loans.block_seconds
        acts = ~self.columns["liquidated"] & live[:, None]
        rates = np.abs(yields) * seconds * 1000 // SECONDS_PER_YEAR * acts
        found: dict[str, NDArray[Any]] = {}
        for at in range(self.config.borrowers):
            found |= {f"yield_ppb_{at}": rates[:, at], f"pays_{at}": yields[:, at] < 0}
        return found

    # -- outcome ------------------------------------------------------------------------------------------------------

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Rewards of the last step by agent, and which agents are terminated."""
        done = self.liquidators.done()
        profits = self.liquidators.profits(self._last_order(), self.loans.price(-1))
        rewards = self.borrowers.rewards(), self.liquidators.rewards(profits, done)
        return np.concatenate(rewards, axis=1), self._ended(done)

    def _last_order(self) -> NDArray[np.int64]:
        order: NDArray[np.int64] = self.columns["order"][np.arange(self.rows), np.maximum(self.steps - 1, 0)]
        return order

    def by_agent(self, kind: str, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Reorder an output from the execution order `order` to agents: (rows, agents)."""
        words = self.loans.word_block(kind, len(self.agents)).reshape(-1, 32)
        values = Words(words).uint64().astype(np.int64).reshape(self.rows, -1)
        found = np.zeros_like(values)
        np.put_along_axis(found, order, values, axis=1)
        return found

    def observe(self) -> dict[str, Observations]:
        """Observations by role: (rows, agents, entries)."""
        return {BORROWER: self.borrowers.observe(), LIQUIDATOR: self.liquidators.observe()}

    def exact(self) -> dict[str, list[Any]]:
        """Amounts in wei and millionths of a USDC, prices and wealth with eight decimals, agents by their numbers."""
        loans, order, first = self.loans, self._last_order(), self.config.borrowers
        found: dict[str, list[Any]] = {
            "price_usd_e8": loans.price_e8(),
            "pool_sqrt_price_x96": loans.words("root").ints(),
            "gas_price_wei": self.columns["gas_price_wei"].tolist(),
            "order": order.tolist(),
            "liquidated": self.columns["liquidated"].tolist(),
            "block": loans.words("block").ints(),
            "timestamp": loans.words("timestamp").ints(),
        }
        for name, kind in (
            ("collateral_wei", "collateral"),
            ("debt_usdc", "debt"),
            ("health_factor_wad", "health"),
            ("headroom_usdc", "headroom"),
            ("cash_usdc", "cash"),
        ):
            found[name] = loans.lists(kind, first)
        found["money_usdc"] = loans.lists("money", self.config.liquidators)
        found |= {kind: self.by_agent(kind, order).tolist() for kind in ("status", "gas")}
        found |= {f"{kind}_usdc": self.by_agent(kind, order)[:, first:].tolist() for kind in ("paid", "received")}
        seized = zip(loans.lists("seized", len(self.agents)), order.tolist(), strict=True)
        found["seized_wei"] = [_by_agent(*row)[first:] for row in seized]
        return found | {"net_wealth_e8": self.borrowers.net_wealth_e8().tolist()}

    def describe_value(self, name: str, value: Any) -> str:
        """A figure as text; the health factor of an account without debt is "no debt"."""
        return describe_debt_figure(name, value) or super().describe_value(name, value)


def _by_agent(values: list[int], order: list[int]) -> list[int]:
    """Reorder `values` from the execution order `order` to agents."""
    found = dict(zip(order, values, strict=True))
    return [found[agent] for agent in range(len(order))]
