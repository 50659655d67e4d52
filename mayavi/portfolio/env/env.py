"""`RWAYieldRows`: a portfolio of USDY, mETH and MI4, rebalanced hour by hour.

USDY is tokenised treasury bills, mETH is liquid-staked ETH, MI4 an index of BTC, ETH, SOL and dollars. The market is
simulated by `RWAModel`, one path for each episode, or read from a file (`data`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.errors import BadArgument, MayaviError, UsageError
from mayavi.gym_env.rendering import MODES
from mayavi.gym_env.rows import Floats, Observations, Rows, RowsEnv
from mayavi.markets.timestamps import say_time
from mayavi.portfolio.capped_simplex import check_bounds, project, project_columns
from mayavi.portfolio.env.config import LOOKBACK, RWAConfig
from mayavi.portfolio.env.markets import SharedMarket, known_until, open_markets
from mayavi.portfolio.env.observations import VOLATILITY_KEEPS, bounds, observed
from mayavi.portfolio.env.rewards import REWARDS, sharpe_ratio
from mayavi.portfolio.env.strategies import STRATEGIES
from mayavi.portfolio.market.data import ASSETS, COLUMNS, PLACE, RWAMarket

PARTS = len(ASSETS)
HOLD = 0
"""Discrete action that trades only to restore the bounds."""
MENU = ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1))
"""Other discrete actions: equal parts of the marked assets, projected onto the bounds."""
LEAST = 1e-300
"""Smallest divisor: avoids division by a portfolio value of zero, after which a row has ended."""
TOLERANCE = 1e-6
"""Tolerance of `action_of` for sums and bounds, for rounding to float32."""


class RWAYieldRows(RowsEnv[RWAConfig]):
    """Portfolio of three assets. A step at hour t trades at t, pays the costs, holds until t + 1 and observes.

    Continuous actions are three numbers from -1 to 1; (a + 1) / 2 is the requested weight of each asset. The request is
    projected onto the weights that sum to one within `min_weight` and `max_weight` (Euclidean projection).
    Discrete actions: 0 holds; 1 is a third of each asset; 2, 3, 4 are the largest allowed weight of USDY, mETH, MI4;
    5, 6, 7 are half of USDY and mETH, USDY and MI4, mETH and MI4, projected onto the bounds.

    Between trades weights drift with the market. A trade costs `rebalance_cost_bps` of its turnover Σ|w - drifted|
    times the value, and gas at the hour's price. A turnover below `least_turnover` is not traded, so that a request for
    the current weights, rounded to float32, costs nothing. Weights that drifted out of their bounds are always
    rebalanced.

    `env.observations` documents the observations, `env.rewards` the rewards. An episode terminates when the value is
    more than `stop_drawdown` below its peak, and is truncated after `horizon` hours.

    `market` is a historical market in memory, in place of `data`. With `start="fixed"` all episodes of all splits use
    one path; with `data`, the first start of the split.
    """

    name = "rwa"
    config_type = RWAConfig
    strategies: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = STRATEGIES
    render_modes: ClassVar[tuple[str, ...]] = ("human", *MODES)
    info_names: ClassVar[dict[str, tuple[str, ...]]] = {
        "weights": ASSETS,
        "target_weights": ASSETS,
        "return_by_asset": ASSETS,
        "market": COLUMNS,
    }

    def __init__(
        self, config: RWAConfig, rows: int = 1, *, threads: int | None = None, market: RWAMarket | None = None
    ) -> None:
        check_bounds(PARTS, config.min_weight, config.max_weight)
        super().__init__(config, rows, threads=threads)
        starts = np.zeros(rows, dtype=np.int64)
        self.markets = open_markets(config, rows, starts, market)
        self.world_digest = self.markets.digest
        self.weights = np.full((PARTS, rows), 1.0 / PARTS)
        """Current weights, (3, rows)."""
        self.levels = np.ones((PARTS, rows))
        """Current value of one dollar invested in each asset at the first known hour, (3, rows)."""
        self._target, self._by_asset = np.full((PARTS, rows), 1.0 / PARTS), np.zeros((PARTS, rows))
        self._values = np.ones((rows, config.horizon + 1))
        first_row = np.arange(rows) * (config.horizon + 1)
        self._flat_values, self._value_origins = self._values.reshape(-1), first_row
        self.columns |= {
            "value": np.ones(rows),
            "peak": np.ones(rows),
            "weights": self.weights.T,
            "levels": self.levels.T,
            "target": self._target.T,
            "by_asset": self._by_asset.T,
            "values": self._values,
            "hourly_return": np.zeros(rows),
            "variance": np.zeros(rows),
            "turnover": np.zeros(rows),
            "cost": np.zeros(rows),
            "gas": np.zeros(rows),
            "costs": np.zeros(rows),
        }
        if isinstance(self.markets, SharedMarket):
            self.columns["start_hour"] = starts
            self.independent_episodes = len(self.markets.consecutive(config.horizon))
        self.observation_space = spaces.Box(*bounds(), dtype=np.float32)
        self._menu = project(np.array([np.divide(each, sum(each)) for each in MENU]), *self._bounds)
        discrete = config.actions == "discrete"
        self.action_space = spaces.Discrete(1 + len(MENU)) if discrete else spaces.Box(-1.0, 1.0, (PARTS,), np.float32)

    @property
    def _bounds(self) -> tuple[float, float]:
        return self.config.min_weight, self.config.max_weight

    def training_overlap(self, trained: RWAConfig) -> str | None:
        """Describe how a training used the hours of this environment.

        None if the data are split in the same way, so that the name of the split decides; "" if it used none of them.
        """
        if (trained.data is None) != (self.config.data is None):
            return ""  # simulated markets here, a historical one there, or the reverse
        if _split_settings(trained) == _split_settings(self.config):
            return None
        assert isinstance(self.markets, SharedMarket)
        assert self.markets.market.times is not None
        try:
            until = known_until(trained)
        except (MayaviError, OSError):  # without its file, nothing is known to be unseen
            return f"may have been trained on these hours ('{trained.data}' cannot be read)"
        if until <= self.markets.market.times[self.markets.first]:
            return ""
        return f"was trained, or chosen, with hours up to {say_time(until)}"

    # -- weights and actions ------------------------------------------------------------------------------------------

    def weights_of(self, actions: NDArray[Any]) -> Floats:
        """Weights that continuous actions of shape (n, 3) request, projected onto the bounds."""
        clipped = np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        return project((clipped + 1.0) / 2.0, *self._bounds)

    def action_of(self, weights: Any) -> NDArray[np.float32]:
        """Continuous action that requests `weights`, of shape (3,) or (n, 3).

        Raises `BadArgument` if the weights do not sum to one or violate a bound.
        """
        wanted = np.asarray(weights, dtype=np.float64)
        if wanted.shape[-1:] != (PARTS,) or wanted.ndim > 2:
            raise BadArgument(f"weights have the shape {wanted.shape}", f"there are three: {', '.join(ASSETS)}")
        if not np.isfinite(wanted).all():
            raise BadArgument("a weight is not a finite number", "check the strategy for a division by zero")
        sums, (low, high) = wanted.sum(axis=-1), self._bounds
        if (np.abs(sums - 1.0) > TOLERANCE).any():
            worst = float(np.ravel(sums)[np.argmax(np.abs(np.ravel(sums) - 1.0))])
            raise BadArgument(f"weights add up to {worst:.6g}", "give weights with a sum of 1")
        outside = (wanted < low - TOLERANCE) | (wanted > high + TOLERANCE)
        if outside.any():
            raise BadArgument(
                f"a weight of {float(wanted[outside][0]):.6g} is outside of {low:g} to {high:g}",
                "`mayavi.portfolio.capped_simplex.project` returns the nearest allowed weights",
            )
        return (2.0 * wanted - 1.0).astype(np.float32)

    def actions_for(self, weights: Floats) -> NDArray[Any]:
        """Actions in this environment's space nearest to `weights` of shape (rows, 3)."""
        if self.config.actions == "continuous":
            return self.action_of(weights)
        distances = ((weights[:, None] - self._menu) ** 2).sum(axis=2)
        return 1 + np.asarray(distances.argmin(axis=1), dtype=np.int64)

    def holding_actions(self) -> NDArray[Any]:
        """Actions that trade only to restore the bounds."""
        if self.config.actions == "discrete":
            return np.full(self.rows, HOLD, dtype=np.int64)
        return (2.0 * self.weights.T - 1.0).astype(np.float32)

    def targets(self, actions: NDArray[Any]) -> Floats:
        """Requested weights within the bounds, (3, rows)."""
        if self.config.actions == "continuous":
            return project_columns((np.ascontiguousarray(actions.T) + 1.0) * 0.5, *self._bounds)
        chosen = self._menu[np.maximum(actions - 1, 0)].T
        held = np.where(self._within_bounds(), self.weights, project_columns(self.weights, *self._bounds))
        return np.where(actions == HOLD, held, chosen)

    def _within_bounds(self) -> NDArray[np.bool_]:
        """Whether the drifted weights of each row are within bounds."""
        low, high = self._bounds
        return np.asarray(((self.weights >= low) & (self.weights <= high)).all(axis=0))

    # -- an episode ---------------------------------------------------------------------------------------------------

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Start new episodes with the initial capital and weights."""
        self.markets.begin(rows, rngs, self.threads)
        self._reset_rows(rows)

    def begin_at(self, rows: Sequence[int] | Rows, hours: Sequence[int] | Rows) -> None:
        """Start episodes of `rows` at the given hours of a historical market."""
        if not isinstance(self.markets, SharedMarket):
            raise UsageError(
                "the start hour of a simulated market cannot be chosen", "use `begin`, or an environment with `data`"
            )
        places, wanted = np.asarray(rows, dtype=np.intp), np.asarray(hours, dtype=np.int64)
        first, last = self.markets.first, self.markets.last
        if len(wanted) and not first <= wanted.min() <= wanted.max() <= last:
            raise UsageError(
                f"an episode cannot start at hour {wanted[(wanted < first) | (wanted > last)][0]}",
                f"episodes of the {self.config.split} split start at hours {first} to {last}",
            )
        self.begin(places, wanted.tolist())
        self.columns["start_hour"][places] = wanted
        self._reset_rows(places)

    def _reset_rows(self, rows: Rows) -> None:
        """Reset value, weights and levels of `rows` to hour 0 of their markets."""
        config, columns = self.config, self.columns
        columns["value"][rows] = columns["peak"][rows] = config.initial_capital
        self._values[rows] = config.initial_capital
        columns["weights"][rows] = columns["target"][rows] = config.initial_weights
        now = np.zeros(self.rows, dtype=np.int64)
        columns["levels"][rows] = self.markets.levels_at(now)[rows]

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Trade, pay the costs and hold for an hour; only `live` rows change."""
        config, columns, before = self.config, self.columns, self.weights
        every = bool(live.all())
        value, hours = columns["value"], self.hours
        later = np.minimum(hours + 1, config.horizon)
        target = self.targets(actions)
        turnover = total_over_assets(np.abs(target - before))
        rests = (turnover < config.least_turnover) & self._within_bounds()
        target = np.where(rests, before, target)
        turnover = np.where(rests, 0.0, turnover)
        cost = np.minimum(turnover * (config.rebalance_cost_bps / 10_000.0), 1.0) * value
        gas = np.where(turnover > 0.0, np.minimum(self.markets.gas_at(hours), value - cost), 0.0)
        invested = value - cost - gas
        levels = np.ascontiguousarray(self.markets.levels_at(later).T)
        held = target * invested
        gained = held * (levels / self.levels - 1.0)
        held += gained
        after = total_over_assets(held)
        weights, shares = held / np.maximum(after, LEAST), gained / np.maximum(value, LEAST)
        returned = after / np.maximum(value, LEAST) - 1.0
        variance = columns["variance"] * VOLATILITY_KEEPS + (1.0 - VOLATILITY_KEEPS) * returned * returned
        self._flat_values[(self._value_origins + later)[live]] = after[live]
        for name, found in {
            "value": after,
            "peak": np.maximum(columns["peak"], after),
            "hourly_return": returned,
            "variance": variance,
            "turnover": turnover,
            "cost": cost,
            "gas": gas,
            "costs": columns["costs"] + cost + gas,
        }.items():
            np.copyto(columns[name], found, where=True if every else live)
        for kept, now in (
            (self.weights, weights),
            (self.levels, levels),
            (self._target, target),
            (self._by_asset, shares),
        ):
            np.copyto(kept, now, where=True if every else live)

    @property
    def hours(self) -> NDArray[np.int64]:
        """Current hour of each row's episode."""
        return np.minimum(self.steps, self.config.horizon)

    def value_at(self, hours: NDArray[np.int64]) -> Floats:
        """Portfolio values at `hours`, (rows,) or (rows, n); before the start, the initial value."""
        first = self._value_origins.reshape(-1, *(1,) * (hours.ndim - 1))
        found: Floats = self._flat_values.take(first + np.maximum(hours, 0))
        return found

    def drawdown(self) -> Floats:
        """Loss of each value from its peak, as a share of the peak."""
        fallen: Floats = 1.0 - self.columns["value"] / self.columns["peak"]
        return fallen

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Rewards, and whether the drawdown terminates the episode."""
        return REWARDS[self.config.reward](self), self.drawdown() > self.config.stop_drawdown

    def observe(self) -> Observations:
        """Observations as described in `env.observations`."""
        return observed(self)

    def past_growth(self, window: int, rows: Rows | None = None) -> Floats:
        """Growth factors of each asset in the last `window` hours, (rows, window, 3); of all rows by default."""
        if type(window) is not int or not 1 <= window <= LOOKBACK:
            raise BadArgument(f"a window of {window!r} hours is not available", f"give 1 to {LOOKBACK} hours")
        back = self.markets.levels_before(self.hours, window, rows)
        return back[:, 1:] / back[:, :-1]

    # -- information -------------------------------------------------------------------------------------------------

    def exact(self) -> dict[str, list[Any]]:
        """Unrounded figures. `hourly_return` = sum of `return_by_asset` - (`cost` + `gas_usd`) / value before."""
        columns = self.columns
        figures = {
            "portfolio_value": columns["value"],
            "weights": columns["weights"],
            "drawdown": self.drawdown(),
            "hourly_return": columns["hourly_return"],
            "sharpe": sharpe_ratio(self),
            "turnover": columns["turnover"],
            "cost": columns["cost"],
            "gas_usd": columns["gas"],
            "target_weights": columns["target"],
            "return_by_asset": columns["by_asset"],
            "peak_value": columns["peak"],
            "market": self.markets.inputs_at(self.hours, self.episodes),
        }
        lists = {name: values.tolist() for name, values in figures.items()}
        if isinstance(self.markets, SharedMarket) and self.markets.market.times is not None:
            lists["time"] = self.markets.times_at(self.hours)
        return lists

    def describe_row(self, row: int) -> list[tuple[str, str]]:
        """Figures of `exact`, with one line for each market input."""
        figures = {name: values[row] for name, values in self.exact().items()}
        inputs = dict(zip(COLUMNS, figures.pop("market"), strict=True))
        pairs = [(name, _format(value)) for name, value in figures.items()]
        return [*pairs, ("market", ""), *((f"· {name}", f"{value:,.6g}") for name, value in inputs.items())]

    def line(self, row: int) -> str:
        """Summary of a row in one line, for `render_mode="human"`."""
        shares = " ".join(f"{name}={self.weights[at, row]:.2f}" for at, name in enumerate(("USDY", "mETH", "MI4")))
        value, drawdown = self.columns["value"][row], self.drawdown()[row]
        return f"Step {self.steps[row]:4d} | Value: ${value:,.2f} | Weights: {shares} | DD: {drawdown:.4f}"

    def curves(self) -> dict[str, dict[str, Floats]]:
        """Value, weights and relative prices, for charts."""
        inputs = self.markets.inputs_at(self.hours, self.episodes)
        first = self.markets.inputs_at(np.zeros_like(self.hours), self.episodes)
        prices = {name: PLACE[f"{name.lower()}_price"] for name in ("ETH", "BTC", "SOL")}
        return {
            "dollars": {"value": self.columns["value"].copy(), "peak": self.columns["peak"].copy()},
            "weights": {name: self.weights[at].copy() for at, name in enumerate(("USDY", "mETH", "MI4"))},
            "over the start": {name: inputs[:, place] / first[:, place] for name, place in prices.items()},
        }

    # -- the market under the rows ------------------------------------------------------------------------------------

    def identities(self, rows: Rows) -> list[bytes]:
        """Identity of each row's market path."""
        return self.markets.identities(rows)

    def _copy_state(self, sources: Rows, targets: Rows) -> None:
        self.markets.copy(sources, targets)

    def _save_state(self, rows: Rows) -> list[Any]:
        return self.markets.keep(rows)

    def _restore_state(self, kept: Sequence[Any], rows: Rows) -> None:
        self.markets.put_kept(kept, rows)


def _format(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "  ".join(map(_format, value))
    return f"{value:,.2f}" if abs(value) >= 1_000 else f"{value:.6g}"


def total_over_assets(parts: Floats) -> Floats:
    """Sum over the assets in a fixed order: the same bits for any number of rows."""
    total: Floats = parts[0] + parts[1] + parts[2]
    return total


def _split_settings(config: RWAConfig) -> tuple[Any, ...]:
    """Settings that determine which hours of a historical market belong to a split."""
    return () if config.data is None else (config.data, config.begin, config.end, config.boundaries)
