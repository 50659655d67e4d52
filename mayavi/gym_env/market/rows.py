"""Borrowers and liquidators in one Aave market, over rows: the ground of `AaveMarketEnv`.

A step is a tick of the simulation's `Scheduler` with two blocks of agents. In the first all agents act at once: each
has seen the same state, and a lot decides who comes first, drawn as the scheduler draws it. In the second the price is
posted, arbitrageurs bring the pool towards it and the borrowers' dollars are credited what they earn outside. Then the
rest of `step_blocks` passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.errors import UsageError
from mayavi.evm.fleet import SUCCESS, Words
from mayavi.evm.units import WAD
from mayavi.gym_env.lending.env import FIVE_SHARES
from mayavi.gym_env.liquidator.env import SHARES
from mayavi.gym_env.market.config import ROLES, MarketConfig
from mayavi.gym_env.market.program import MarketOnChain
from mayavi.gym_env.market.strategies import BORROWERS, LIQUIDATORS, Script
from mayavi.gym_env.rows import Floats, Observations, Rows, Stepped, fitting_actions
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.numerics.draw_order import lot_of

BLOCK = "market"
"""The block of agents in which lots are drawn."""
_ALL_BPS, _RAY = 10_000, 10**27
OBSERVED: tuple[tuple[str, float, float, str], ...] = (
    ("debt_to_limit", 0.0, 2.0, "debt over the debt at which it is liquidated; 1 / health factor"),
    ("debt_to_value", 0.0, 2.0, "debt over collateral"),
    ("cash_to_value", 0.0, 2.0, "dollars in the wallet over collateral"),
    ("headroom_to_value", 0.0, 1.0, "what may still be borrowed over collateral"),
    ("price", -10.0, 10.0, "five times the logarithm of the price over that of the start"),
    ("last_return", -10.0, 10.0, "twenty times the logarithm of the price over that of the step before"),
    ("pool", -10.0, 10.0, "a hundred times the logarithm of the pool's price over the reference price"),
    ("borrow_rate", 0.0, 10.0, "what debt costs a year, in tenths"),
    ("cash_yield", -10.0, 10.0, "what dollars in the wallet earn a year, in tenths"),
    ("wealth", -10.0, 10.0, "ten times (net wealth over that of the start, less one)"),
    ("size", 0.0, 2.0, "logarithm to base ten of the collateral in dollars, in tenths"),
    ("threat", 0.0, 10.0, "the money of all liquidators over all debts of the start"),
    ("others", 0.0, 1.0, "the share of the other borrowers that can be liquidated"),
    ("time_left", 0.0, 1.0, "the share of the horizon that is left"),
)
"""Name, least, most and meaning of every entry that a borrower sees; what lies outside is clipped."""


@dataclass(frozen=True, slots=True)
class MarketStepped:
    """What a step gave. Agents are the borrowers, then the liquidators: (rows, agents)."""

    borrowers: Observations
    liquidators: Observations
    rewards: Floats
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class AaveMarketRows(MarketOnChain):
    """The rows of a market. What liquidators see, do and earn is that of `AaveLiquidatorEnv`, each with its own money.

    A borrower has the five discrete actions of the borrower's environments (rest, repay a quarter of the debt, repay
    all it can, borrow a quarter of the headroom, borrow half of it) or one number from -1 to 1: below zero the share of
    the debt to repay, above the share of the headroom to borrow. It is rewarded at the end with the change of its net
    wealth over that of the start, and with -1 where it is liquidated, which ends its part: its account stays in the
    market. Liquidators are done when no borrower is left that acts or whose debt has collateral.
    """

    name: ClassVar[str] = "market"
    strategies: ClassVar[dict[str, Any]] = {}
    """None plays for all agents; those of a role are in `role_strategies`."""
    role_strategies: ClassVar[dict[str, dict[str, Script]]] = dict(zip(ROLES, (BORROWERS, LIQUIDATORS), strict=True))
    """By role and name: given the market, the actions of all agents of the role."""

    def __init__(self, config: MarketConfig, rows: int = 1, **options: Any) -> None:
        super().__init__(config, rows, **options)
        count, agents = config.borrowers, config.borrowers + config.liquidators
        self.columns |= {
            "order": np.zeros((rows, config.horizon, agents), dtype=np.int64),
            "order_seed": np.zeros(rows, dtype=np.int64),
            "cash_yield_ppm": np.zeros((rows, count), dtype=np.int64),
            "start_wealth_e8": np.zeros((rows, count), dtype=np.int64),
            "liquidated": np.zeros((rows, count), dtype=np.bool_),
            "earned": np.zeros((rows, config.liquidators)),
            "clipped_by": np.zeros((rows, agents), dtype=np.int64),
        }
        self.liquidator_space, self.liquidator_actions = self.observation_space, self.action_space
        lows, highs = np.array([each[1:3] for each in OBSERVED], dtype=np.float32).T
        self.borrower_space = spaces.Box(lows, highs, dtype=np.float32)
        self.borrower_actions: spaces.Space[Any] = (
            spaces.Discrete(len(FIVE_SHARES))
            if config.actions == "discrete"
            else spaces.Box(-1.0, 1.0, (1,), np.float32)
        )
        self._viewer = 0

    @property
    def role_spaces(self) -> dict[str, tuple[spaces.Box, spaces.Space[Any]]]:
        """What the agents of each role see, and what they do."""
        both = (self.borrower_space, self.borrower_actions), (self.liquidator_space, self.liquidator_actions)
        return dict(zip(ROLES, both, strict=True))

    @property
    def role_agents(self) -> dict[str, slice]:
        """Where the agents of each role stand among all of them."""
        count = self.config.borrowers
        return dict(zip(ROLES, (slice(count), slice(count, len(self.agents))), strict=True))

    # -- an episode ---------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, chances: Sequence[np.random.Generator]) -> None:
        """As for a single liquidator; then what the borrowers' dollars earn, and every lot of the episode."""
        super().start(rows, chances)
        columns, names = self.columns, self.agents
        low, high = self.config.cash_yield
        for row, chance in zip(rows.tolist(), chances, strict=True):
            seed = 0
            if self.config.start == "drawn":
                yields = low + (high - low) * chance.random(self.config.borrowers)
                columns["cash_yield_ppm"][row] = np.rint(yields * MILLION)
                seed = int(chance.integers(2**62))
            columns["order_seed"][row] = seed
            for step in range(self.config.horizon):
                lots = [lot_of(seed, step, BLOCK, name, name) for name in names]
                columns["order"][row, step] = sorted(range(len(names)), key=lots.__getitem__)
        columns["start_wealth_e8"][rows] = self.net_wealth_e8()[rows]

    def acting(self) -> NDArray[np.bool_]:
        """Which agents still take part: (rows, agents)."""
        liquidators = np.repeat(~self._left_alone()[:, None], self.config.liquidators, axis=1)
        return np.concatenate((~self.columns["liquidated"], liquidators), axis=1)

    def _left_alone(self) -> NDArray[np.bool_]:
        """Whether there is nothing for liquidators to wait for."""
        prize = self._of_accounts("debt").any(axis=2) & self._standing().backed
        return np.asarray(~(prize | ~self.columns["liquidated"]).any(axis=1))

    # -- a step -------------------------------------------------------------------------------------------------------

    def step(self, actions: Any, live: NDArray[np.bool_] | None = None) -> Stepped:
        """Several agents have several rewards: see `step_all`."""
        raise UsageError("a market has several agents", "step it with the actions of all of them: `step_all`")

    def step_all(self, borrowers: Any, liquidators: Any, live: NDArray[np.bool_] | None = None) -> MarketStepped:
        """Play the actions of all agents: (rows, borrowers) and (rows, liquidators), and the actions' own shape.

        Those of agents that no longer take part are not looked at; rows that are not `live` stay.
        """
        alive = np.ones(self.rows, dtype=np.bool_) if live is None else live
        if (self.episodes[alive] < 0).any():
            raise UsageError("a row has no episode yet", "call reset() first")
        acting = self.acting() & alive[:, None]
        first, clipped = self._fitting(self.borrower_actions, borrowers, acting[:, : self.config.borrowers])
        second, more = self._fitting(self.liquidator_actions, liquidators, acting[:, self.config.borrowers :])
        self.columns["clipped_by"] += np.concatenate((clipped, more), axis=1)
        self.columns["clipped"] += (clipped.any(axis=1) | more.any(axis=1)) & alive
        moves = np.zeros((self.rows, len(self.agents), 2), dtype=np.int64)
        moves[:, : self.config.borrowers, 1] = self._shares_ppm(first)
        moves[:, self.config.borrowers :] = self._aims(second)
        moves[~acting] = 0
        self.apply(moves, alive)
        self.columns["steps"][alive] += 1
        rewards, over = self._rewards(acting)
        truncated = (self.steps >= self.config.horizon)[:, None] & acting & ~over
        return MarketStepped(self.borrowers_see(), self.liquidators_see(), rewards, over & acting, truncated)

    def _fitting(
        self, space: spaces.Space[Any], actions: Any, acting: NDArray[np.bool_]
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        given = np.asarray(actions)
        fitting, clipped = fitting_actions(space, given.reshape(-1, *(space.shape or ())), acting.ravel())
        return fitting.reshape(given.shape), clipped.reshape(acting.shape)

    def _shares_ppm(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """Of the debt to repay, below zero, or of the headroom to borrow."""
        if self.config.actions == "discrete":
            return np.asarray(np.array(FIVE_SHARES, dtype=np.int64)[actions])
        return np.asarray(np.rint(actions[..., 0] * MILLION).astype(np.int64))

    def _aims(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """The account by its rank, and the share of the most to pay in millionths."""
        count = self.config.borrowers
        if self.config.actions == "discrete":
            rank, which = np.divmod(np.maximum(actions - 1, 0), len(SHARES))
            share = np.where(actions > 0, np.array(SHARES)[which], 0.0)
        else:
            rank = np.minimum(((actions[..., 0] + 1) / 2 * count).astype(np.int64), count - 1)
            share = np.maximum(actions[..., 1], 0.0)
        return np.stack((rank, np.rint(share * MILLION).astype(np.int64)), axis=-1)

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """A tick of the scheduler. `actions` are (rows, agents, 2): a rank, and a share in millionths."""
        columns, config, every = self.columns, self.config, np.arange(self.rows)
        count, agents = config.borrowers, len(self.agents)
        book = self._standing()
        chosen = np.take_along_axis(book.ranked, actions[:, count:, 0], axis=1)
        rows = every[:, None]
        shares = actions[:, :, 1]
        debts, headroom = self._of_accounts("debt"), self._of_accounts("headroom")
        own = np.arange(count) + np.where(shares[:, :count] > 0, count, 0)
        base = np.where((shares[:, :count] > 0)[:, :, None], headroom, debts)
        by_agent: dict[str, NDArray[Any]] = {
            "choice": np.concatenate((own, np.tile(np.arange(2 * count, count + agents), (self.rows, 1))), axis=1),
            "base": np.concatenate((base, debts[rows, chosen]), axis=1),
            "close_bps": np.concatenate((np.full((self.rows, count), _ALL_BPS), book.close_bps[rows, chosen]), axis=1),
            "share_ppm": np.abs(shares) * live[:, None],
            "target": np.concatenate((np.zeros_like(base), self._addresses[chosen]), axis=1),
            "money_at": np.broadcast_to(self._money_at, (self.rows, agents, 32)),
            "token_at": np.broadcast_to(self._token_at, (self.rows, agents, 32)),
        }
        by_agent["share_ppm"][:, count:] *= book.liquidatable[rows, chosen]
        order = columns["order"][every, np.minimum(self.steps, config.horizon - 1)]
        in_line = {name: values[rows, order] for name, values in by_agent.items()}
        inputs = {f"{name}_{place}": values[:, place] for name, values in in_line.items() for place in range(agents)}
        acts = (~columns["liquidated"]) & live[:, None]
        seconds = config.step_blocks * self.block_seconds
        rates = np.abs(columns["cash_yield_ppm"]) * seconds * 1000 // SECONDS_PER_YEAR * acts
        for at in range(count):
            inputs |= {f"yield_ppb_{at}": rates[:, at], f"pays_{at}": columns["cash_yield_ppm"][:, at] < 0}
        following = np.minimum(self.steps + 1, config.horizon)
        looked = self.fleet.run(
            self._step,
            threads=self.threads,
            live=live,
            price_e8=columns["price_e8"][every, following],
            root=columns["roots"][every, following],
            recovery_ppm=columns["recovery_ppm"],
            **inputs,
        ).words
        columns["looked"] = np.where(live[:, None, None], looked, columns["looked"])
        went = self._by_agent("status", order)[:, count:] == SUCCESS
        for at in range(config.liquidators):
            columns["liquidated"][every, chosen[:, at]] |= went[:, at] & live

    # -- what came of it ----------------------------------------------------------------------------------------------

    def _rewards(self, acting: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
        """What the last step earned each agent, and whose part it ended."""
        config, columns = self.config, self.columns
        ended, last = columns["liquidated"], (self.steps >= config.horizon)[:, None]
        start = np.maximum(columns["start_wealth_e8"], 1)
        gained = np.where(ended, -1.0, np.where(last, (self.net_wealth_e8() - start) / start, 0.0))
        order = columns["order"][np.arange(self.rows), np.maximum(self.steps - 1, 0)]
        paid, received, gas = (
            self._by_agent(kind, order)[:, config.borrowers :].astype(np.float64)
            for kind in ("paid", "received", "gas")
        )
        price = self._price(-1)[:, None]
        fees = gas * columns["gas_price_wei"][:, None] / 10**18 * price
        profit = ((received - paid) / self.trades.money_unit - fees) / self.scale_usd[:, None]
        columns["earned"] += np.where(acting[:, config.borrowers :], profit, 0.0)
        alone = np.repeat(self._left_alone()[:, None], config.liquidators, axis=1)
        if config.reward == "at_end":
            profit = np.where(alone | last, columns["earned"], 0.0)
        rewards = np.concatenate((gained, profit), axis=1)
        return np.where(acting, rewards, 0.0), np.concatenate((ended, alone), axis=1)

    def _by_agent(self, kind: str, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the places of the line did, given back to the agents that stood there."""
        first = self._outputs[f"{kind}_0"]
        words = self.columns["looked"][:, first : first + len(self.agents)].reshape(-1, 32)
        values = Words(words).uint64().astype(np.int64).reshape(self.rows, -1)
        found = np.zeros_like(values)
        np.put_along_axis(found, order, values, axis=1)
        return found

    def net_wealth_e8(self) -> NDArray[np.int64]:
        """Collateral and cash of each borrower, less debt."""
        return self._int64("assets") - self._int64("owed")

    def _int64(self, kind: str) -> NDArray[np.int64]:
        words = Words(self._of_accounts(kind).reshape(-1, 32))
        return words.uint64().astype(np.int64).reshape(self.rows, self.config.borrowers)

    def _seen(self, name: str) -> Words:
        return super()._seen(f"money_{self._viewer}" if name == "money" else name)

    def liquidators_see(self) -> Observations:
        """(rows, liquidators, entries): the table of `AaveLiquidatorEnv`."""
        return self.each_liquidator(super().observe)

    def each_liquidator(self, look: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """What `look` gives for a single liquidator, with the money of each: (rows, liquidators, …)."""
        seen = []
        for viewer in range(self.config.liquidators):
            self._viewer = viewer
            seen.append(look())
        return np.stack(seen, axis=1)

    def health_factors(self) -> Floats:
        """Of each borrower; enormous where it owes nothing."""
        return self._floats("health", WAD)

    def borrower_figures(self) -> dict[str, Floats]:
        """Of each borrower what a script looks at, (rows, borrowers) each, by the names of a single borrower's."""
        owed, value = self._int64("owed").astype(np.float64), self._int64("value").astype(np.float64)
        rate_wad = self._seen("borrow_rate_ray").float64(_RAY // WAD)[:, None]
        return {
            "debt_value_e8": owed,
            "limit_e8": value * self.book.collateral.configuration.liquidation_threshold_bps / _ALL_BPS,
            "borrow_rate_wad": np.broadcast_to(rate_wad, owed.shape),
            "headroom_value_e8": self._floats("headroom", 1) * (self.book.debt.price_usd_e8 / self.book.debt_unit),
        }

    def borrowers_see(self) -> Observations:
        """(rows, borrowers, entries): see `OBSERVED`."""
        config, columns, price = self.config, self.columns, self._price()[:, None]
        value = np.maximum(self._int64("value"), 1).astype(np.float64)
        owed, unit = self._int64("owed"), self.trades.money_unit
        limit = value * self.book.collateral.configuration.liquidation_threshold_bps / _ALL_BPS
        start = np.maximum(columns["price_e8"][:, :1] / 10**8, 1e-8)
        money = sum(super(AaveMarketRows, self)._seen(f"money_{at}").float64(unit) for at in range(config.liquidators))
        danger = self.liquidatable
        others = (danger.sum(axis=1, keepdims=True) - danger) / max(config.borrowers - 1, 1)
        pool = np.maximum(self.trades.price_of(self._seen("root").words), 1e-8)[:, None]
        wealth = self.net_wealth_e8() / np.maximum(columns["start_wealth_e8"], 1) - 1
        dollars = 10**8 / unit
        entries = (
            np.where(owed > 0, owed / np.maximum(limit, 1), 0.0),
            owed / value,
            self._floats("cash", 1) * dollars / value,
            self._floats("headroom", 1) * dollars / value,
            5 * np.log(price / start),
            20 * np.log(price / self._price(-1)[:, None]),
            100 * np.log(pool / price),
            10 * self._seen("borrow_rate_ray").float64(_RAY)[:, None],
            10 * columns["cash_yield_ppm"] / MILLION,
            10 * wealth,
            np.log10(np.maximum(value / 10**8, 1.0)) / 10,
            (money / np.maximum(columns["debts_usd"], 1e-6))[:, None],
            others,
            (1 - self.steps / config.horizon)[:, None],
        )
        seen = np.stack(np.broadcast_arrays(*entries), axis=2)
        return np.asarray(np.clip(seen, self.borrower_space.low, self.borrower_space.high), dtype=np.float32)

    def exact(self) -> dict[str, list[Any]]:
        """Amounts in wei and millionths of a USDC, prices and wealth with eight decimals, agents by their numbers."""
        at = np.minimum(self.steps, self.config.horizon)
        every = np.arange(self.rows)
        order = self.columns["order"][every, np.maximum(self.steps - 1, 0)]
        told: dict[str, list[Any]] = {
            "price_usd_e8": self.columns["price_e8"][every, at].tolist(),
            "pool_sqrt_price_x96": super()._seen("root").ints(),
            "gas_price_wei": self.columns["gas_price_wei"].tolist(),
            "order": order.tolist(),
            "liquidated": self.columns["liquidated"].tolist(),
            "block": self._seen("block").ints(),
            "timestamp": self._seen("timestamp").ints(),
        }
        for name, kind, count in (
            ("collateral_wei", "collateral", self.config.borrowers),
            ("debt_usdc", "debt", self.config.borrowers),
            ("health_factor_wad", "health", self.config.borrowers),
            ("headroom_usdc", "headroom", self.config.borrowers),
            ("cash_usdc", "cash", self.config.borrowers),
            ("money_usdc", "money", self.config.liquidators),
        ):
            first = self._outputs[f"{kind}_0"]
            words = self.columns["looked"][:, first : first + count]
            told[name] = [Words(np.ascontiguousarray(words[row])).ints() for row in range(self.rows)]
        told |= {kind: self._by_agent(kind, order).tolist() for kind in ("status", "gas")}
        told |= {f"{kind}_usdc": self._by_agent(kind, order)[:, self.config.borrowers :].tolist()
                 for kind in ("paid", "received")}  # fmt: skip
        told["seized_wei"] = self._seized(order)
        return told | {"net_wealth_e8": self.net_wealth_e8().tolist()}

    def _seized(self, order: NDArray[np.int64]) -> list[list[int]]:
        found: list[list[int]] = []
        for row in range(self.rows):
            line = {int(agent): self._seen(f"seized_{place}")[row] for place, agent in enumerate(order[row])}
            found.append([line[agent] for agent in range(self.config.borrowers, len(self.agents))])
        return found
