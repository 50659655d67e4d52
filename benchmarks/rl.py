"""Environments and trainers: how near the vector environment comes to what the EVM alone would allow, PPO end to end
with both frameworks, and what the EVM costs a trainer beside an environment that costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.position import REPOSITORY
from benchmarks.report import Effort, Quantity, Row, Section, Target, Unavailable
from benchmarks.spans import Spans, watch_rows
from benchmarks.timing import Timing, in_turns
from mayavi import Fork

ROUNDS = 3
ROWS = (1, 64, 2_048)
QUICK_ROWS = (1, 16)
ENV_SPANS = ("kernel", "fleet.run", "apply", "observe", "rewards", "begin", "adapter")
"""From the inside out: the kernel itself, what packs its inputs, the environment's own code, gymnasium's side."""


def measure(effort: Effort) -> Section:
    """Every environment with random actions first, then the trainers."""
    os.environ.setdefault("MAYAVI_CACHE_DIR", str(REPOSITORY / ".cache" / "mayavi"))
    section = Section("rl", "environments, one action a row and step, and training")
    try:
        import gymnasium  # noqa: F401
        import ray  # noqa: F401
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError as missing:
        raise Unavailable(f"{missing.name} is not installed", "`pip install 'mayavi-sim[rl]'` installs it") from None
    from benchmarks.rl_training import trainings
    from mayavi.gym_env.chain_rows import ChainRowsEnv
    from mayavi.gym_env.registry import ENVS

    Fork.replica("ethereum")  # built before anything that only opens it
    sizes = QUICK_ROWS if effort.quick else ROWS
    on_chain = [name for name, each in ENVS.items() if issubclass(each.load(), ChainRowsEnv)]
    shares = {name: environment(section, name, sizes, effort) for name in on_chain}
    for threads in sorted({threads for each in shares.values() for threads in each}):
        name = min(shares, key=lambda each: shares[each][threads])
        what = f"of {_cores(threads)} ÷ EVM time of a row, {max(sizes)} rows (least of all: {name})"
        reached = Quantity(shares[name][threads], "%")
        section.targets.append(Target(what, Quantity(0.85, "%"), reached, at_most=False))
    section.notes.append(
        "the EVM's time of a row is that of the kernel on one thread in the same round, starts of episodes included; "
        "what is reached is steps a second times that time, over the threads. Two threads also show what two cores of "
        "this machine share: `kernel` is the part of the time in which the EVM worked, `gain` how much faster the "
        "kernel itself is on them"
    )
    market(section, effort)
    trainings(section, effort)
    return section


def _cores(threads: int) -> str:
    return "one core" if threads == 1 else f"{threads} cores"


def market(section: Section, effort: Effort) -> None:
    """The market of several agents: one episode at a time, as RLlib plays it."""
    from mayavi.gym_env.aave_market import AaveMarketEnv

    env, spans = AaveMarketEnv(exact_info=False), Spans()
    watch_rows(spans, env.rows)
    spans.watch(env.rows, "liquidators_see", "observe")
    spans.watch(env.rows, "borrowers_see", "observe")
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
    """Steps a second by rows and threads; what the largest batch reaches of what the EVM allows, by threads."""
    threads = sorted({1, min(2, len(os.sched_getaffinity(0)))})
    reached: dict[int, float] = {}
    for rows in sizes:
        batches = {each: Batch(name, rows, each) for each in threads}
        contestants: dict[str, Callable[[], float]] = {
            str(each): partial(batch.episode, effort) for each, batch in batches.items()
        }
        for batch in batches.values():
            batch.episode(effort)
            batch.begin()
        timings = in_turns(contestants, effort.rounds(ROUNDS))
        evm = Timing(tuple(batches[1].evm_seconds))
        for each, batch in batches.items():
            reached[each] = evm.ratio(timings[str(each)]) / each
            gain = evm.ratio(Timing(tuple(batch.evm_seconds)))
            section.rows.append(batch.row(timings[str(each)], evm.median, reached[each], gain))
    return reached


class Batch:
    """A vector environment as RLlib steps it, with its parts timed."""

    def __init__(self, name: str, rows: int, threads: int) -> None:
        from mayavi.gym_env.registry import make_vector

        self.name, self.rows, self.threads = name, rows, threads
        self.env = make_vector(name, num_envs=rows, exact_info=False, threads=threads)
        self.spans = Spans()
        watch_rows(self.spans, self.env.env)
        self.spans.watch(self.env, "step", "adapter")
        self.env.reset(seed=1)
        self.env.action_space.seed(1)
        self.evm_seconds: list[float] = []
        """Of each round, what the kernel worked for a row's step."""

    def begin(self) -> None:
        """Count from here on."""
        self.evm_seconds.clear()
        self.spans.clear()

    def episode(self, effort: Effort) -> float:
        """Seconds of a row's step, over an episode of every row and the start of the next, with random actions."""
        steps: int = self.env.env.config.horizon + 1
        if self.rows == 1 and not effort.quick:
            steps *= 4
        actions = [self.env.action_space.sample() for _ in range(steps)]
        before, began = self.spans.seconds["kernel"], time.perf_counter()
        for each in actions:
            self.env.step(each)
        taken = time.perf_counter() - began
        self.evm_seconds.append((self.spans.seconds["kernel"] - before) / (steps * self.rows))
        return taken / (steps * self.rows)

    def row(self, timing: Timing, evm: float, reached: float, gain: float) -> Row:
        """A line of the table: how fast, how near to the EVM alone, and where the rest goes."""
        figures = {
            "steps": Quantity(1 / timing.median, "/s"),
            "evm": Quantity(evm * 1e6, "µs"),
            "reached": Quantity(reached, "%"),
            "gain": Quantity(gain, "×"),
            "spread": Quantity(timing.spread, "%"),
        }
        whole = sum(self.spans.seconds.values())
        parts = {span.replace(".", " "): Quantity(self.spans.seconds[span] / whole, "%") for span in ENV_SPANS}
        of = "row" if self.rows == 1 else "rows"
        return Row(f"{self.name}, {self.rows} {of}, {self.threads} thread{'s'[: self.threads - 1]}", figures | parts)
