"""Environments and trainers: steps a second through the Gymnasium API, PPO end to end with every framework.

Measures the vector environments on one and two threads with random actions, trainings from the command line, and how
much an environment slows a framework down, compared with one that costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, require_packages
from benchmarks.measuring.spans import Spans, watch_rows
from benchmarks.measuring.timing import Timing, in_turns
from benchmarks.subjects.position import open_replica

ROUNDS = 3
AAVE = "aave"
ROWS = (1, 64, 2_048)
"""Batches of the Aave environment."""
OTHER_ROWS = (256,)
QUICK_ROWS = (1, 16)
QUICK_HORIZON = 8
STEPS_A_SECOND = 300_000
"""Steps of the largest Aave batch on two threads."""
ENV_SPANS = ("kernel", "fleet.run", "apply", "observe", "rewards", "begin", "adapter")
"""Spans from the inside out: kernel, input packing, environment code, Gymnasium adapter."""


def measure(effort: Effort) -> Section:
    """Measure every environment with random actions, then the trainers."""
    require_packages("gymnasium", "ray", "stable_baselines3")
    open_replica()  # built before anything is timed
    section = Section("rl", "environments, one action a row and step, and training")
    from benchmarks.rl_training import trainings
    from benchmarks.subjects import borrower_steps
    from mayavi.gym_env.chain_rows import ChainRowsEnv
    from mayavi.gym_env.registry import ENVS

    on_chain = [name for name, each in ENVS.items() if issubclass(each.load(), ChainRowsEnv)]
    for name in on_chain:
        environment(section, name, sizes_of(name, effort), effort)
    section.notes.append(
        "steps a second are those of whole episodes and the starts of the next; `kernel gain` is how much more one "
        "fleet does on two threads; then where time goes"
    )
    borrower_steps.measure(section, effort)
    market(section, effort)
    trainings(section, effort)
    return section


def sizes_of(name: str, effort: Effort) -> Sequence[int]:
    """Return the batches of an environment."""
    if effort.quick:
        return QUICK_ROWS
    return ROWS if name == AAVE else OTHER_ROWS


def market(section: Section, effort: Effort) -> None:
    """Measure the multi-agent market environment: one episode at a time, as RLlib plays it."""
    from mayavi.gym_env.market.env import AaveMarketEnv

    env, spans = AaveMarketEnv(exact_info=False), Spans()
    watch_rows(spans, env.rows)
    spans.watch(env, "step", "adapter")
    steps = 0

    def episode() -> float:
        nonlocal steps
        taken, count = 0.0, 0
        for _ in range(1 if effort.quick else 4):
            env.reset()
            over = False
            while not over:
                acting = env.rows.acting()[0].tolist()
                names = [name for name, acts in zip(env.possible_agents, acting, strict=True) if acts]
                actions = {name: env.action_spaces[name].sample() for name in names}
                began = time.perf_counter()
                _, _, terminated, truncated, _ = env.step(actions)
                taken += time.perf_counter() - began
                count += 1
                over = terminated["__all__"] or truncated["__all__"]
        steps += count
        return taken / count

    env.reset(seed=1)
    timing = in_turns({"market": episode}, effort.rounds(ROUNDS))["market"]
    figures = {
        "steps": Quantity(1 / timing.median, "/s"),
        "evm": Quantity(spans.seconds["kernel"] / steps * 1e6, "µs"),
        "spread": Quantity(timing.spread, "%"),
    }
    section.rows.append(Row(f"market, {len(env.possible_agents)} agents a step, one row, 1 thread", figures))


# -- environments -----------------------------------------------------------------------------------------------------


def environment(section: Section, name: str, sizes: Sequence[int], effort: Effort) -> None:
    """Measure steps per second by rows and threads."""
    cores = min(2, len(os.sched_getaffinity(0)))
    shorter = {"horizon": QUICK_HORIZON} if effort.quick else {}
    for rows in sizes:
        batches = {each: Batch(name, rows, each, **shorter) for each in sorted({1, min(cores, rows)})}
        play_in_turns(list(batches.values()), effort.rounds(ROUNDS), 1 if rows > 1 or effort.quick else 4)
        alone = Timing(tuple(batches[1].evm_seconds))
        for threads, batch in batches.items():
            taken = Timing(tuple(batch.seconds))
            section.rows.append(batch.row(taken, alone.ratio(Timing(tuple(batch.evm_seconds)))))
            if (name, rows, threads) == (AAVE, max(ROWS), 2):
                what = f"steps a second of {rows:,} rows of {name} on two threads, through the Gymnasium API"
                reached = Quantity(1 / taken.median, "/s")
                section.targets.append(Target(what, Quantity(STEPS_A_SECOND, "/s"), reached, at_most=False))


def play_in_turns(players: Sequence[Batch], rounds: int, episodes: int) -> None:
    """Play rounds of episodes in which all players take every step in turn, so a disturbance slows all."""
    for each in players:
        each.begin()
    for turn in range(-1, rounds):  # the first records and warms the caches
        for at in range(episodes * players[0].steps):
            for each in players if at % 2 else reversed(players):
                each.step()
        for each in players:
            each.end_round(counts=turn >= 0)


class Batch:
    """Vector environment stepped as RLlib does, with its parts timed."""

    def __init__(self, name: str, rows: int, threads: int, **settings: Any) -> None:
        from mayavi.gym_env.registry import make_vector

        self.name, self.rows, self.threads = name, rows, threads
        self.env: Any = make_vector(name, num_envs=rows, exact_info=False, threads=threads, **settings)
        self.steps: int = self.env.env.config.horizon + 1
        """Steps of an episode, plus the start of the next."""
        self.spans = Spans()
        watch_rows(self.spans, self.env.env)
        self.spans.watch(self.env, "step", "adapter")
        self.seconds: list[float] = []
        """Seconds per row step, by round."""
        self.evm_seconds: list[float] = []
        """Kernel seconds per row step, by round."""

    def begin(self) -> None:
        """Reset all rows."""
        self.env.reset(seed=1)
        self.env.action_space.seed(1)
        self._begin_round()

    def _begin_round(self) -> None:
        self._taken, self._count, self._kernel = 0.0, 0, self.spans.seconds["kernel"]

    def step(self) -> None:
        """Step all rows with random actions."""
        actions = self.env.action_space.sample()
        began = time.perf_counter()
        self.env.step(actions)
        self._taken += time.perf_counter() - began
        self._count += self.rows

    def end_round(self, *, counts: bool) -> None:
        """Record the round if it `counts`, else discard all timings so far."""
        if counts:
            self.seconds.append(self._taken / self._count)
            self.evm_seconds.append((self.spans.seconds["kernel"] - self._kernel) / self._count)
        else:
            self.env.env.fleet.finish_compiling()
            self.spans.clear()
        self._begin_round()

    def row(self, timing: Timing, gain: float) -> Row:
        """Return the table row: speed, gain of its threads, and where time goes."""
        figures = {
            "steps": Quantity(1 / timing.median, "/s"),
            "fastest": Quantity(1 / timing.fastest, "/s"),
            "kernel": Quantity(Timing(tuple(self.evm_seconds)).median * 1e6, "µs"),
            "kernel gain": Quantity(gain, "×"),
            "spread": Quantity(timing.spread, "%"),
        }
        whole = sum(self.spans.seconds.values())
        parts = {f"in {span.replace('.', ' ')}": Quantity(self.spans.seconds[span] / whole, "%") for span in ENV_SPANS}
        of = "row" if self.rows == 1 else "rows"
        return Row(f"{self.name}, {self.rows} {of}, {self.threads} thread{'s'[: self.threads - 1]}", figures | parts)
