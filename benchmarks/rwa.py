"""Portfolio of tokenised assets: market, rows, backtest, and recurrent PPO against sb3-contrib."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, require_packages, timed
from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.startup import command, run

ROWS, QUICK_ROWS = 1_024, 16
QUICK_HORIZON = 24
ROUNDS = 5
PATHS, QUICK_PATHS = 1_024, 8
EPISODES, QUICK_EPISODES = 10_000, 100
MEMORY_STEPS, MEMORY_ROWS, MEMORY_ROLLOUT = 8_192, 64, 32
QUICK_MEMORY_ROWS = 8
STEPS_A_SECOND = 500_000
BACKTEST_S = 60
CORES = min(2, len(os.sched_getaffinity(0)))


def measure(effort: Effort) -> Section:
    """Measure from the market up."""
    section = Section("rwa", "the portfolio of USDY, mETH and MI4")
    require_packages("gymnasium", "sb3_contrib")
    market(section, effort)
    environment(section, effort)
    backtest(section, effort)
    memory(section, effort)
    return section


# -- the market -------------------------------------------------------------------------------------------------------


def market(section: Section, effort: Effort) -> None:
    """Measure paths of thirty days plus one week of history, on one core."""
    from mayavi.numerics.streams import stream
    from mayavi.portfolio.env.config import LOOKBACK
    from mayavi.portfolio.market.model import RWAModel

    paths, hours = QUICK_PATHS if effort.quick else PATHS, 720 + LOOKBACK
    model = RWAModel()

    def draw() -> float:
        rngs = [stream(path, "benchmark") for path in range(paths)]
        began = time.perf_counter()
        model.draw(rngs, hours)
        return (time.perf_counter() - began) / (paths * hours)

    timing = in_turns({"draw": draw}, effort.rounds(ROUNDS))["draw"]
    section.rows.append(timed(f"an hour of a path, {paths:,} paths of {hours} hours, one core", timing, "µs"))


# -- the rows ---------------------------------------------------------------------------------------------------------


def environment(section: Section, effort: Effort) -> None:
    """Measure whole episodes including resets: a trainer's batch, and the plain environment."""
    import gymnasium

    import mayavi.gym_env  # noqa: F401  (gymnasium knows its environments from here on)

    rows = QUICK_ROWS if effort.quick else ROWS
    shorter: dict[str, Any] = {"horizon": QUICK_HORIZON} if effort.quick else {}
    batches = {threads: _Batch(rows, threads, **shorter) for threads in sorted({1, CORES})}
    plain = gymnasium.make("mayavi/RWAYield-v0", **shorter)
    plain.reset(seed=1)
    contestants: dict[str, Callable[[], float]] = {}
    for threads, batch in batches.items():
        contestants |= {f"steps {threads}": batch.steps, f"episodes {threads}": batch.episodes}
    contestants["plain"] = partial(_plain_episode, plain)
    for each in () if effort.quick else contestants.values():
        each()
    timings = in_turns(contestants, effort.rounds(ROUNDS))
    for threads in batches:
        on = "one thread" if threads == 1 else f"{threads} threads"
        alone, whole = timings[f"steps {threads}"], timings[f"episodes {threads}"]
        section.rows.append(_pace(f"{rows:,} rows, steps alone, {on}", alone))
        section.rows.append(_pace(f"{rows:,} rows, whole episodes and their starts, {on}", whole))
    section.rows.append(_pace("the plain environment, gymnasium.make, whole episodes", timings["plain"]))
    reached = Quantity(1 / timings[f"steps {CORES}"].median, "/s")
    section.targets.append(
        Target(f"steps of {rows:,} rows, {CORES} cores", Quantity(STEPS_A_SECOND, "/s"), reached, at_most=False)
    )
    ratio = Quantity(timings["plain"].ratio(timings[f"episodes {CORES}"]), "×")
    section.rows.append(
        Row("a step of the plain environment over one of these rows, starts included", {"ratio": ratio})
    )


def _pace(what: str, timing: Timing) -> Row:
    return Row(what, {"steps": Quantity(1 / timing.median, "/s"), "spread": Quantity(timing.spread, "%")})


class _Batch:
    """Vector environment that rebalances to thirds: no row is ruined, so rows stay in step."""

    def __init__(self, rows: int, threads: int, **settings: Any) -> None:
        from mayavi.gym_env.registry import make_vector

        self.env = make_vector(
            "rwa",
            num_envs=rows,
            exact_info=False,
            threads=threads,
            autoreset_mode="disabled",
            stop_drawdown=0.99,
            **settings,
        )
        self.rows, self.horizon = rows, int(self.env.env.config.horizon)
        self.env.reset(seed=1)
        self.actions = np.zeros((rows, 3), dtype=np.float32)

    def steps(self) -> float:
        """Return the seconds of a row step, without resets."""
        self.env.reset()
        return self._played()

    def episodes(self) -> float:
        """Return the seconds of a row step, with its share of the reset."""
        began = time.perf_counter()
        self.env.reset()
        start = time.perf_counter() - began
        return start / (self.horizon * self.rows) + self._played()

    def _played(self) -> float:
        began = time.perf_counter()
        for _ in range(self.horizon):
            self.env.step(self.actions)
        return (time.perf_counter() - began) / (self.horizon * self.rows)


def _plain_episode(env: Any) -> float:
    action = np.zeros(3, dtype=np.float32)
    began, steps, over = time.perf_counter(), 0, False
    env.reset()
    while not over:
        _, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
        steps += 1
    return (time.perf_counter() - began) / steps


# -- the backtest -----------------------------------------------------------------------------------------------------


def backtest(section: Section, effort: Effort) -> None:
    """Measure every baseline on drawn markets, from process start to the last line."""
    episodes = QUICK_EPISODES if effort.quick else EPISODES
    asked = ["backtest", "rwa", "--simulated", "--episodes", str(episodes)]
    what = f"mayavi {' '.join(asked)}"
    timing = in_turns({what: run([*command(), *asked])}, 1)[what]
    section.rows.append(timed(f"{what}, all baselines, from process start", timing, "s"))
    section.targets.append(
        Target(f"{episodes:,} episodes with all baselines", Quantity(BACKTEST_S, "s"), Quantity(timing.median, "s"))
    )


# -- a policy with memory ---------------------------------------------------------------------------------------------


def memory(section: Section, effort: Effort) -> None:
    """Compare recurrent PPO by `train` on rows with sb3-contrib on its DummyVecEnv: same network and batches."""
    rows = QUICK_MEMORY_ROWS if effort.quick else MEMORY_ROWS
    steps = rows * MEMORY_ROLLOUT if effort.quick else MEMORY_STEPS
    contestants = {"rows": partial(_train_rows, steps, rows), "dummy": partial(_train_dummy, steps, rows)}
    timings = in_turns(contestants, 1 if effort.quick else 2)
    section.rows.append(_pace(f"recurrent PPO, {steps:,} steps, mayavi.rl.training.train.train", timings["rows"]))
    section.rows.append(_pace(f"recurrent PPO, {steps:,} steps, sb3-contrib on its DummyVecEnv", timings["dummy"]))
    gain = Quantity(timings["dummy"].ratio(timings["rows"]), "×")
    section.targets.append(
        Target("recurrent PPO, times sb3-contrib's own pace", Quantity(1.0, "×"), gain, at_most=False)
    )
    section.notes.append(
        f"both learn with one thread from {rows} episodes, {MEMORY_ROLLOUT} steps between two updates, "
        "10 epochs, the network of `mayavi train --env rwa --recurrent`: learning is most of the time of both"
    )


def _config(steps: int, rows: int) -> Any:
    from mayavi.rl.config import TrainConfig

    return TrainConfig.of(
        {
            "env": "rwa",
            "framework": "sb3",
            "recurrent": True,
            "timesteps": steps,
            "num_envs": rows,
            "rollout_steps": MEMORY_ROLLOUT,
            "evaluate_every": None,
            "device": "cpu",
        }
    )


def _train_rows(steps: int, rows: int) -> float:
    from mayavi.rl.training.train import train

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = train(_config(steps, rows), models=Path(folder))
        return (time.perf_counter() - began) / done.steps


def _train_dummy(steps: int, rows: int) -> float:
    import gymnasium
    import torch
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    config = _config(steps, rows)
    torch.set_num_threads(config.torch_threads)
    began = time.perf_counter()
    made = [lambda: Monitor(gymnasium.make("mayavi/RWAYield-v0"))] * rows
    widths = list(config.network)
    model = RecurrentPPO(
        "MlpLstmPolicy",
        VecNormalize(DummyVecEnv(made), gamma=config.gamma),
        n_steps=MEMORY_ROLLOUT,
        batch_size=config.minibatch_size,
        n_epochs=config.epochs,
        ent_coef=config.entropy_coefficient,
        policy_kwargs={"net_arch": {"pi": widths, "vf": widths}, "lstm_hidden_size": config.lstm_size},
        seed=1,
        device="cpu",
    )
    model.learn(steps)
    return (time.perf_counter() - began) / int(model.num_timesteps)
