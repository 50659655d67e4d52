"""`LendingRowsEnv`: a borrower with one collateral, one debt and a wallet of dollars, on any lending protocol.

A step is a tick of the simulation's `Scheduler` with three blocks of agents. First the borrower acts. Then prices are
posted, and the yield of the wallet's dollars is paid. Then the liquidator liquidates if the health factor is below one.
The rest of `step_blocks` passes before the next observation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.errors import SimulationError
from mayavi.evm.chains import chain
from mayavi.evm.fleet import SKIPPED, SUCCESS, Outcome, Program, Words
from mayavi.evm.fork import Fork
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.lending.adapter import LendingAdapter
from mayavi.gym_env.lending.config import LendingConfig
from mayavi.gym_env.lending.describe import describe_debt_figure
from mayavi.gym_env.lending.observations import HIGHS, LOWS
from mayavi.gym_env.lending.programs import FIGURES, MILLION, OPENING, Course, opening, tick, tick_parts
from mayavi.gym_env.lending.start import Starts, amounts_of, drawn_starts, fixed_starts
from mayavi.gym_env.lending.state import HIGHEST_FACTOR, RowState
from mayavi.gym_env.lending.steps import ArraySteps, Integers, WholeSteps
from mayavi.gym_env.lending.strategies import STRATEGIES
from mayavi.gym_env.onchain.posted_feed import PostedFeed
from mayavi.gym_env.price_shocks import drawn_paths
from mayavi.gym_env.rows import Floats, Observations, Rows

C = TypeVar("C", bound=LendingConfig)

THREE_SHARES = (0, -MILLION, MILLION // 4)
"""Do nothing, repay as much as the wallet holds, borrow a quarter of the headroom."""
FIVE_SHARES = (0, -MILLION // 4, -MILLION, MILLION // 4, MILLION // 2)
"""Do nothing, repay a quarter of the debt, repay as much as possible, borrow a quarter or half of the headroom."""
LEAST_STEP_BLOCKS = 3
"""Fewest blocks per step: one for each of the scheduler's three blocks of agents."""
_PLACES = {name: place for place, name in enumerate(FIGURES)}


class LendingRowsEnv(ChainRowsEnv[C]):
    """Environment of a borrower. A subclass sets `adapter_type` for its protocol, and the discrete actions.

    Discrete actions are indices into `shares_ppm`. A continuous action is a number in [-1, 1]: below zero the share of
    the debt to repay, limited by the wallet, above zero the share of the headroom to borrow.
    """

    config_type: ClassVar[type[Any]] = LendingConfig
    strategies: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = STRATEGIES
    shares_ppm: ClassVar[tuple[int, ...]] = FIVE_SHARES
    """Discrete actions in millionths: negative of the debt to repay, positive of the headroom to borrow."""
    adapter_type: ClassVar[type[LendingAdapter]]
    most_whole_rows: ClassVar[int] = 32
    """Batches up to this size are stepped by whole programs, larger ones with arrays; see `steps.py`."""

    def __init__(self, config: C, rows: int = 1, **options: Any) -> None:
        super().__init__(config, rows, **options)
        self.observation_space = spaces.Box(LOWS, HIGHS, dtype=np.float32)
        if config.actions == "discrete":
            self.action_space = spaces.Discrete(len(self.shares_ppm))
        else:
            self.action_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.state = np.zeros((rows, len(RowState._fields)))
        """`RowState` of every row; most of `columns` are its columns."""
        *kept, _, _, _ = RowState._fields
        self.columns |= {name: self.state[:, place] for place, name in enumerate(kept)}
        self.columns["logs"] = self.state[:, len(kept) :]
        self.columns |= {name: np.zeros(rows, dtype=np.int64) for name in ("cash_yield_ppm", "acted")}
        self.columns |= {
            "liquidated": np.zeros(rows, dtype=np.bool_),
            "path_e8": np.zeros((rows, config.horizon + 1), dtype=np.int64),
            "words": np.zeros((rows, len(FIGURES), 32), dtype=np.uint8),
            "figures": np.zeros((rows, len(FIGURES))),
        }
        self._steps = WholeSteps(self) if self._whole else ArraySteps(self)

    @property
    def _whole(self) -> bool:
        return self.rows <= self.most_whole_rows

    # -- the world ----------------------------------------------------------------------------------------------------

    def prepare(self, fork: Fork) -> None:
        """Fund the accounts, approve the contracts, and build the programs."""
        config = self.config
        adapter = self.adapter = self.adapter_type(fork, config.collateral, config.debt)
        self.feed = PostedFeed(fork, adapter.feed) if config.prices == "shocks" else None
        adapter.prepare(int(config.collateral_amount[1] + 1) * adapter.unit)
        self._amounts = amounts_of(config, adapter.unit)
        self.block_seconds = chain(fork.chain_id).block_seconds
        self.step_blocks = max(config.step_blocks, LEAST_STEP_BLOCKS)
        self.step_seconds = self.step_blocks * self.block_seconds
        shares_ppm = self.shares_ppm if config.actions == "discrete" else None
        course = Course(
            blocks=self.step_blocks,
            block_seconds=self.block_seconds,
            horizon=config.horizon,
            reward=config.reward,
            shares_ppm=shares_ppm,
            feed=self.feed,
            whole=self._whole,
        )
        self._course = course
        self._opening, self._tick = opening(adapter, course), tick(adapter, course)

    def step_parts(self) -> tuple[Program, ...]:
        """A step as programs that run one after the other; see `programs.tick_parts`."""
        return tick_parts(self.adapter, self._course)

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Draw the starts and open the loans by real transactions."""
        columns, (starts, odd) = self.columns, self.drawn(rngs)
        inputs = starts._asdict()
        columns["cash_yield_ppm"][rows] = inputs.pop("cash_yield_ppm")
        if self.feed is not None:
            price_usd = self.adapter.terms.price_e8 / 1e8
            paths, columns["volatility"][rows] = drawn_paths(self.config, price_usd, self.step_seconds, rngs, odd)
            columns["path_e8"][rows] = np.rint(paths * 1e8)
        inputs |= self._steps.opening_inputs(rows)
        found = self.fleet.run(self._opening, threads=self.threads, only=rows, live=1, **inputs)
        self._check_opened(found, rows)
        self._store(found, rows)
        self._steps.after_opening(found, rows)

    def drawn(self, rngs: Sequence[np.random.Generator]) -> tuple[Starts, Rows]:
        """Draw the starts of `rngs`; returns them and the indices of RNGs that may hold half a word."""
        if self.config.start == "fixed":
            return fixed_starts(self.adapter.unit, len(rngs)), np.empty(0, dtype=np.intp)
        return drawn_starts(self.config, self._amounts, self.adapter.terms.kink, rngs)

    def _check_opened(self, found: Outcome, rows: Rows) -> None:
        """Raise `SimulationError` if a transaction of a start reverted."""
        if found.floats[:, : len(OPENING)].max() <= max(SKIPPED, SUCCESS):
            return
        for name in OPENING:
            failed = np.flatnonzero(found.status(name) > max(SKIPPED, SUCCESS))
            if len(failed):
                raise SimulationError(
                    f"episode {self.episodes[rows[failed[0]]]} cannot start: the protocol refuses its '{name}'",
                    "its caps do not allow so much; take less collateral, or another utilisation",
                )

    # -- a step -------------------------------------------------------------------------------------------------------

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Run one tick of the scheduler in all rows."""
        columns = self.columns
        inputs: dict[str, Any] = {"live": live, "debt": self.exactly("debt"), "headroom": self.exactly("headroom")}
        inputs |= self._steps.inputs(actions, live)
        if self.feed is not None:
            following = np.minimum(self.steps + 1, self.config.horizon)
            inputs["price_e8"] = columns["path_e8"][np.arange(self.rows), following]
        found = self.fleet.run(self._tick, threads=self.threads, **inputs)
        self._store(found)
        self._steps.after_step(found, live)
        columns["liquidated"] |= found.status("liquidated") == SUCCESS
        np.copyto(columns["acted"], found.status("acted"), where=live)

    def shares_of(self, actions: NDArray[Any]) -> Integers:
        """Convert actions to millionths: negative of the debt, positive of the headroom."""
        if self.config.actions == "discrete":
            chosen: Integers = np.array(self.shares_ppm, dtype=np.int64)[actions]
            return chosen
        shares: Integers = np.rint(actions[:, 0].astype(np.float64) * MILLION).astype(np.int64)
        return shares

    def actions_for(self, shares_ppm: NDArray[Any]) -> NDArray[Any]:
        """The actions nearest to `shares_ppm`."""
        return nearest_actions(shares_ppm, self.shares_ppm, continuous=self.config.actions == "continuous")

    # -- outcome ------------------------------------------------------------------------------------------------------

    def observe(self) -> Observations:
        """Observations as `observations.OBSERVED` lists them."""
        return self._steps.observe()

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Configured reward; a liquidation gives -1 and terminates the episode."""
        return self._steps.rewards(), self.columns["liquidated"].copy()

    def describe_value(self, name: str, value: Any) -> str:
        """A figure as text; the health factor without debt is "no debt"."""
        return describe_debt_figure(name, value) or super().describe_value(name, value)

    def exact(self) -> dict[str, list[Any]]:
        """All outputs of the program, and the net wealth computed from them."""
        exact: dict[str, list[Any]] = {name: self.exactly(name).ints() for name in FIGURES}
        sums = zip(*(exact[f"{name}_value_e8"] for name in ("collateral", "cash", "debt")), strict=True)
        exact["net_wealth_e8"] = [collateral + cash - debt for collateral, cash, debt in sums]
        return exact | {name: self.columns[name].tolist() for name in ("cash_yield_ppm", "acted", "liquidated")}

    def curves(self) -> dict[str, dict[str, Floats]]:
        """Price, health factor, collateral, debt and cash."""
        held = {name: self.figure(f"{name}_value_e8") / 10**8 for name in ("collateral", "debt", "cash")}
        return {
            "USD": {f"price of {self.config.collateral}": self.figure("price_e8") / 10**8},
            "(at most 10)": {"health factor": self.health()},
            "worth in USD": held | {"net wealth": self.net_wealth_e8() / 10**8},
        }

    def figure(self, name: str) -> Floats:
        """A figure of every row, as a float."""
        figures: Floats = self.columns["figures"][:, _PLACES[name]]
        return figures

    def exactly(self, name: str) -> Words:
        """A figure of every row, exact."""
        return Words(self.columns["words"][:, _PLACES[name]])

    def net_wealth_e8(self) -> Floats:
        """Collateral plus cash minus debt; exact up to ninety million dollars."""
        wealth: Floats = (
            self.figure("collateral_value_e8") + self.figure("cash_value_e8") - self.figure("debt_value_e8")
        )
        return wealth

    def headroom_value_e8(self) -> Floats:
        """Value of the headroom."""
        headroom: Floats = self.figure("headroom") * (self.adapter.terms.debt_price_e8 / self.adapter.debt_unit)
        return headroom

    def health(self) -> Floats:
        """Health factor, capped at 10; also 10 without debt."""
        return np.minimum(self.figure("health_factor_wad") / 1e18, HIGHEST_FACTOR)

    def _store(self, found: Outcome, rows: Rows | None = None) -> None:
        """Store the outputs of a program that ran on `rows`, by default on all."""
        first = len(found) - len(FIGURES)
        words, figures = found.words[:, first:], found.floats[:, first:]
        if rows is None:
            self.columns["words"], self.columns["figures"] = words, figures
        else:
            self.columns["words"][rows], self.columns["figures"][rows] = words, figures


def nearest_actions(shares_ppm: NDArray[Any], choices: tuple[int, ...], *, continuous: bool) -> NDArray[Any]:
    """The actions nearest to `shares_ppm`: indices into `choices`, or shares from -1 to 1."""
    if continuous:
        return np.asarray(shares_ppm / MILLION, dtype=np.float32)[:, None]
    return np.asarray(np.abs(shares_ppm[:, None] - np.array(choices)).argmin(axis=1))
