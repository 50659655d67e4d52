"""Environments and trainers against the EVM alone.

Measures how near the vector environment comes to the EVM's limit, PPO end to end with every framework, and the share of
the EVM in training, compared with an environment that costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.position import open_replica
from benchmarks.report import Effort, Quantity, Row, Section, Target, require_packages
from benchmarks.spans import Spans, watch_rows
from benchmarks.timing import Timing, in_turns

ROUNDS = 3
ROWS = (1, 64, 2_048)
QUICK_ROWS = (1, 16)
QUICK_HORIZON = 8
ENV_SPANS = ("kernel", "fleet.run", "apply", "observe", "rewards", "begin", "adapter")
"""Spans from the inside out: kernel, input packing, environment code, Gymnasium adapter."""


def measure(effort: Effort) -> Section:
    """Measure every environment with random actions, then the trainers."""
    require_packages("gymnasium", "ray", "stable_baselines3")
    open_replica()  # built before anything is timed
    section = Section("rl", "environments, one action a row and step, and training")
    from benchmarks import borrower_steps
    from benchmarks.rl_training import trainings
    from mayavi.gym_env.chain_rows import ChainRowsEnv
    from mayavi.gym_env.registry import ENVS

    sizes = QUICK_ROWS if effort.quick else ROWS
    on_chain = [name for name, each in ENVS.items() if issubclass(each.load(), ChainRowsEnv)]
    shares = {name: environment(section, name, sizes, effort) for name in on_chain}
    for threads in sorted({threads for each in shares.values() for threads in each}):
        name = min(shares, key=lambda each: shares[each][threads])
        what = f"of {_cores(threads)} ÷ EVM time of a row, {max(sizes)} rows (least of all: {name})"
        reached = Quantity(shares[name][threads], "%")
        section.targets.append(Target(what, Quantity(0.85, "%"), reached, at_most=False))
    section.notes.append(
        "the EVM's time of a row is that of the kernel on one thread in the same round, starts of episodes included: "
        "on two threads while two of them work at once, each for rows of its own, for the cores of a machine share "
        "caches and clock. What is reached is steps a second times that time, over the threads. `evm alone` is the "
        "same by the time that the EVM takes while the other core rests; `evm gain` is how much more two EVMs that "
        "share nothing do than one, `kernel gain` how much more one fleet does on two threads; then where time goes"
    )
    borrower_steps.measure(section, effort)
    market(section, effort)
    trainings(section, effort)
    return section


def _cores(threads: int) -> str:
    return "one core" if threads == 1 else f"{threads} cores"


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


def environment(section: Section, name: str, sizes: Sequence[int], effort: Effort) -> dict[int, float]:
    """Measure steps per second by rows and threads; return the largest batch's share of the EVM's limit, by threads."""
    cores = min(2, len(os.sched_getaffinity(0)))
    shorter = {"horizon": QUICK_HORIZON} if effort.quick else {}
    reached: dict[int, float] = {}
    for rows in sizes:
        threads = sorted({1, min(cores, rows)})
        batches = {each: Batch(name, rows, each, **shorter) for each in threads}
        apart = Apart([Batch(name, rows // max(threads), 1, **shorter) for _ in range(max(threads))])
        play_in_turns([*batches.values(), apart], effort.rounds(ROUNDS), 1 if rows > 1 or effort.quick else 4)
        alone, together = Timing(tuple(batches[1].evm_seconds)), Timing(tuple(apart.evm_seconds))
        for each, batch in batches.items():
            evm, taken = alone if each == 1 else together, Timing(tuple(batch.seconds))
            reached[each] = evm.ratio(taken) / each
            gains = {
                "evm alone": Quantity(alone.ratio(taken) / each, "%"),
                "evm gain": Quantity(alone.ratio(evm) * each, "×"),
                "kernel gain": Quantity(alone.ratio(Timing(tuple(batch.evm_seconds))), "×"),
            }
            section.rows.append(batch.row(taken, evm.median, reached[each], gains))
    return reached


def play_in_turns(players: Sequence[Batch | Apart], rounds: int, episodes: int) -> None:
    """Play rounds of episodes in which all players take every step in turn, so a disturbance slows all."""
    for each in players:
        each.begin()
    for turn in range(-1, rounds):  # the first warms the caches
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
        self.env = make_vector(name, num_envs=rows, exact_info=False, threads=threads, **settings)
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
            self.spans.clear()
        self._begin_round()

    def row(self, timing: Timing, evm: float, reached: float, gains: dict[str, Quantity]) -> Row:
        """Return the table row: speed, share of the EVM's limit, and where the rest goes."""
        figures = {
            "steps": Quantity(1 / timing.median, "/s"),
            "evm": Quantity(evm * 1e6, "µs"),
            "reached": Quantity(reached, "%"),
            **gains,
            "spread": Quantity(timing.spread, "%"),
        }
        whole = sum(self.spans.seconds.values())
        parts = {span.replace(".", " "): Quantity(self.spans.seconds[span] / whole, "%") for span in ENV_SPANS}
        of = "row" if self.rows == 1 else "rows"
        return Row(f"{self.name}, {self.rows} {of}, {self.threads} thread{'s'[: self.threads - 1]}", figures | parts)


class Apart:
    """Independent batches stepped concurrently, one per core: EVM time under full load."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches, self.steps = batches, batches[0].steps
        self.evm_seconds: list[float] = []
        """Kernel seconds per row step, by round."""
        self._threads = ThreadPoolExecutor(len(batches))

    def begin(self) -> None:
        """Reset all rows."""
        for each in self.batches:
            each.begin()

    def step(self) -> None:
        """Step all batches, each on its own thread."""
        for done in [self._threads.submit(each.step) for each in self.batches]:
            done.result()

    def end_round(self, *, counts: bool) -> None:
        """Record or discard the round for every batch."""
        for each in self.batches:
            each.end_round(counts=counts)
        if counts:
            self.evm_seconds.append(sum(each.evm_seconds[-1] for each in self.batches) / len(self.batches))
