"""The scenario environment beside the row environment of the same borrower.

Both play a borrower on Aave V3 with a price that moves and a liquidator, one episode after the other or many at once;
`tests/scenario_env/test_against_rows.py` holds that both give the same integers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.measuring.report import Effort, Quantity, Row, Section, require_packages
from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.subjects.position import open_replica

ROUNDS = 6
HORIZON = 12
EPISODES = 3
ROWS = (1, 64, 1_024)
QUICK_ROWS = (1, 16)
SCENARIO = """
name: borrower
chain: ethereum
steps: 12
step_blocks: 18_000
prices:
  WETH: {process: gbm, volatility: 80%}
agents:
  borrower: {kind: borrower, collateral: {WETH: 1}, debt: {USDC: 1_650}, cash: 100%}
  liquidator: {kind: liquidator, frictionless: true}
blocks: {borrower: [borrower], market: [prices], liquidation: [liquidator]}
learner:
  agent: borrower
  observes: [own.collateral, own.debt, own.health_factor, own.balance.USDC, own.headroom, AaveV3.USDC.borrow_rate,
             AaveV3.WETH.supply_rate, AaveV3.WETH.price, time_left]
  actions: [repay 25% USDC, repay 100% USDC, borrow 25% USDC, borrow 50% USDC]
  reward: pnl
  tokens: [USDC]
"""


def measure(effort: Effort) -> Section:
    """Measure steps a second of both environments in the same rounds, and the parts of a scenario's step."""
    require_packages("gymnasium")
    open_replica()  # built before anything is timed
    import gymnasium

    from mayavi.gym_env.registry import make_vector

    section = Section("scenario_env", "a borrower on Aave V3, as a scenario and as a row environment")
    cores = min(2, len(os.sched_getaffinity(0)))
    contestants: dict[str, Batch] = {
        f"row environment aave-shock, {rows} row{'s'[: rows - 1]}, 1 thread": Batch(
            make_vector("aave-shock", num_envs=rows, exact_info=False, threads=1, horizon=HORIZON)
        )
        for rows in (QUICK_ROWS if effort.quick else ROWS)
    }
    settings: dict[str, Any] = {"scenario": SCENARIO}
    ours = "scenario, one process"
    contestants[ours] = Batch(make_vector("scenario", num_envs=1, exact_info=False, **settings))
    contestants[f"scenario, {cores} processes (AsyncVectorEnv)"] = Batch(
        gymnasium.make_vec("mayavi/Scenario-v0", cores, vectorization_mode="async", **settings)
    )
    measured: dict[str, Callable[[], float]] = {name: each.round for name, each in contestants.items()}
    for each in contestants.values():
        each.begin()
    timings = in_turns(measured, effort.rounds(ROUNDS))
    for name, timing in timings.items():
        section.rows.append(_row(name, timing, timings[ours]))
    contestants[ours].env.close()
    contestants[f"scenario, {cores} processes (AsyncVectorEnv)"].env.close()
    parts(section, effort)
    section.notes.append(
        "whole episodes of 12 random actions and the starts of the next. `× scenario` is steps a second over those of "
        "the scenario in one process, median of the ratios of the same rounds"
    )
    return section


def _row(name: str, timing: Timing, ours: Timing) -> Row:
    figures = {
        "steps": Quantity(1 / timing.median, "/s"),
        "× scenario": Quantity(ours.ratio(timing), "×"),
        "spread": Quantity(timing.spread, "%"),
    }
    return Row(name, figures)


def parts(section: Section, effort: Effort) -> None:
    """Measure what a reset and a step of the scenario consist of, beside a step of `mayavi run` with its records."""
    from mayavi.gym_env.configuration import configured
    from mayavi.scenario_env.config import ScenarioEnvConfig
    from mayavi.scenario_env.episode import Episode
    from mayavi.scenario_env.simulations import ScenarioEpisodes, load

    source = ScenarioEpisodes(load(configured(ScenarioEnvConfig, {"scenario": SCENARIO})))

    def reset() -> float:
        return _seconds(lambda: Episode(source, 1).close())

    def build() -> float:
        return _seconds(lambda: source.open(1))

    def copy() -> float:
        return _seconds(source.pristine.copy)

    def plain() -> float:
        simulation = source.open(1)
        simulation.scheduler.begin()
        return _seconds(simulation.scheduler.tick)

    timings = in_turns(
        {
            "reset of an episode": reset,
            "build of its agents": build,
            "copy of the world": copy,
            "step of the run": plain,
        },
        effort.rounds(ROUNDS),
    )
    for name, timing in timings.items():
        section.rows.append(Row(name, {"median": Quantity(timing.median * 1e3, "ms"),
                                       "spread": Quantity(timing.spread, "%")}))  # fmt: skip


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class Batch:
    """A vector environment that is stepped with random actions."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def begin(self) -> None:
        """Start all episodes and play one, to warm the caches."""
        self.env.reset(seed=1)
        self.env.action_space.seed(1)
        self._play(1)

    def round(self) -> float:
        """Play whole episodes; return the seconds of a step of one episode."""
        rows = int(self.env.num_envs)
        episodes = EPISODES if rows < 100 else 1
        return self._play(episodes) / (episodes * HORIZON * rows)

    def _play(self, episodes: int) -> float:
        actions = [self.env.action_space.sample() for _ in range(episodes * (HORIZON + 1))]
        began = time.perf_counter()
        for each in actions:  # the step after an end starts the next episode
            self.env.step(each)
        return time.perf_counter() - began
