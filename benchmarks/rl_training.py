"""PPO end to end, one process per training: from the command line, and with its parts timed.

    python -m benchmarks.rl_training '{"frameworks": ["sb3"], "timesteps": 50000}'

is a process of the second kind: it trains on a real and on the free environment with the function behind
`mayavi train`, and prints where the time went. There RLlib samples in the learner's process, so that the free
environment is registered where it is played.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target, Unavailable
from benchmarks.measuring.spans import Spans, watch_rows
from benchmarks.measuring.timing import Timing
from benchmarks.startup import command, run
from benchmarks.subjects.position import REPOSITORY

ENV, FREE_ENV = "aave", "free"
TIMESTEPS, QUICK_TIMESTEPS = 50_000, 2_048
LIMIT_S = {"sb3": 40, "rllib": 60, "fast": 8}
ROUNDS_OF_TRAININGS = 5
"""Trainings on each environment in one process, in turns. One before them does not count: it also waits for imports."""
FREE_LIMIT = {"sb3": 1.1, "rllib": 1.1}
"""How much the EVM may slow a framework down. `fast` leaves little beside the EVM, so it has no limit."""
FAST_GAIN = 1.5
SEEDS_STEPS_A_SECOND = 188
ROUNDS = {"sb3": 1, "rllib": 1, "fast": 3}
NAMES = {"sb3": "Stable-Baselines3", "rllib": "RLlib", "fast": "fast"}
SPANS = ("kernel", "fleet.run", "apply", "observe", "rewards", "begin", "adapter", "playing", "learner", "other")


class Trained(NamedTuple):
    """Report of one training."""

    train_s: float
    thread_s: float
    """Processor time of the thread that trains, set-up included. Unlike the others it does not grow while something
    else has the core."""
    steps: int
    spans: dict[str, float]

    @property
    def loop_s(self) -> float:
        """Seconds of sampling and learning without set-up: the part an environment can slow down."""
        return sum(seconds for name, seconds in self.spans.items() if name != "other")


def trainings(section: Section, effort: Effort) -> None:
    """Measure all frameworks from the command line; then on a real and on the free environment, in turn."""
    timesteps = QUICK_TIMESTEPS if effort.quick else TIMESTEPS
    from_the_shell(section, effort, timesteps)
    against_free(section, effort, timesteps)
    if effort.quick:
        section.notes.append(f"a quick run trains {timesteps:,} steps: most of its time is the start of frameworks")


def from_the_shell(section: Section, effort: Effort, timesteps: int) -> None:
    """Measure `mayavi train` from process start to the model on disk."""
    with tempfile.TemporaryDirectory() as folder:
        asked = ["train", "--env", ENV, "--timesteps", str(timesteps), "--models", folder, "--no-eval"]
        if effort.quick:  # without runner processes, which import RLlib once more each
            asked += ["--set", "runners=0"]
        contestants = {each: run([*command(), *asked, "--framework", each]) for each in NAMES}
        rounds = dict.fromkeys(NAMES, 1) if effort.quick else ROUNDS
        timings = {each: Timing(tuple(took() for _ in range(rounds[each]))) for each, took in contestants.items()}
    for framework, timing in timings.items():
        speed = Quantity(timesteps / timing.median, "/s")
        what = f"mayavi train --env {ENV} --framework {framework} --timesteps {timesteps}"
        section.rows.append(Row(what, figures_of(timing, speed)))
        limit = Quantity(LIMIT_S[framework], "s")
        section.targets.append(Target(f"{what}, from process start", limit, Quantity(timing.median, "s")))
        gain = Quantity(speed.value / SEEDS_STEPS_A_SECOND, "×")
        what = f"that with {NAMES[framework]}, of {SEEDS_STEPS_A_SECOND} steps a second"
        section.targets.append(Target(what, Quantity(5, "×"), gain, at_most=False))
    if not effort.quick:  # there most of the time is the start of frameworks
        what = f"time of mayavi train --env {ENV} with {NAMES['sb3']}, against fast"
        gain = Quantity(timings["sb3"].median / timings["fast"].median, "×")
        section.targets.append(Target(what, Quantity(FAST_GAIN, "×"), gain, at_most=False))


def against_free(section: Section, effort: Effort, timesteps: int) -> None:
    """Measure where training time goes, and how much a free environment saves.

    A process for each framework, or in a quick run one for all, which imports torch once.
    """
    found: dict[str, dict[str, list[Trained]]] = {}
    for together in [list(NAMES)] if effort.quick else [[each] for each in NAMES]:
        found |= train_in_process(together, timesteps)
    for framework, title in NAMES.items():
        done = found[framework]
        loops = {env: Timing(tuple(each.loop_s for each in trained)) for env, trained in done.items()}
        threads = {env: Timing(tuple(each.thread_s for each in trained)) for env, trained in done.items()}
        for env, trained in done.items():
            steps, whole = trained[0].steps, sum(each.train_s for each in trained)
            parts = {span: sum(each.spans.get(span, 0.0) for each in trained) / whole for span in SPANS}
            what = f"PPO, {title}, {steps:,} steps of '{env}', playing and learning"
            figures = figures_of(loops[env], Quantity(steps / loops[env].median, "/s"))
            figures["processor"] = Quantity(threads[env].median, "s")
            shares = {span.replace(".", " "): Quantity(share, "%") for span, share in parts.items()}
            section.rows.append(Row(what, figures | shares))
        if framework in FREE_LIMIT:
            slower = Quantity(loops[ENV].ratio(loops[FREE_ENV]), "×")
            what = f"the EVM slows playing and learning with {title} down"
            section.targets.append(Target(what, Quantity(FREE_LIMIT[framework], "×"), slower))
            slower = Quantity(threads[ENV].ratio(threads[FREE_ENV]), "×")
            what = f"the same with {NAMES[framework]}, processor time of the training's thread"
            section.targets.append(Target(what, Quantity(FREE_LIMIT[framework], "×"), slower))


def figures_of(timing: Timing, speed: Quantity) -> dict[str, Quantity]:
    """Return the columns shared with environments, and the seconds."""
    return {"steps": speed, "spread": Quantity(timing.spread, "%"), "seconds": Quantity(timing.median, "s")}


def train_in_process(frameworks: list[str], timesteps: int) -> dict[str, dict[str, list[Trained]]]:
    """Train on both environments in a fresh process, with one framework after the other."""
    config = {"frameworks": frameworks, "timesteps": timesteps, "seed": 1, "runners": 0}
    arguments = [sys.executable, "-m", "benchmarks.rl_training", json.dumps(config)]
    done = subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"a training with {', '.join(NAMES[each] for each in frameworks)} failed: {reason}")
    return {
        framework: {env: [Trained(**each) for each in trained] for env, trained in found.items()}
        for framework, found in json.loads(done.stdout.splitlines()[-1]).items()
    }


# -- inside the process -----------------------------------------------------------------------------------------------


def main() -> None:
    """Train as the command line says, with every part timed."""
    config = json.loads(sys.argv[1])
    spans = Spans()
    watch_envs(spans)
    found = {framework: trained_on_both(config, framework, spans) for framework in config.pop("frameworks")}
    told = {
        framework: {env: [each._asdict() for each in trained] for env, trained in done.items()}
        for framework, done in found.items()
    }
    print(json.dumps(told))


def trained_on_both(config: dict[str, Any], framework: str, spans: Spans) -> dict[str, list[Trained]]:
    """Train with one framework on a real and on the free environment, in turns."""
    watch_framework(spans, framework)
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.rllib.ray_connection import ray_for
    from mayavi.rl.training.train import train

    found: dict[str, list[Trained]] = {ENV: [], FREE_ENV: []}
    quick = config["timesteps"] <= QUICK_TIMESTEPS
    with tempfile.TemporaryDirectory() as folder, ray_for(0, None) if framework == "rllib" else nullcontext():
        for turn in range(1 if quick else 1 + ROUNDS_OF_TRAININGS):
            for env in (ENV, FREE_ENV) if turn % 2 == 0 else (FREE_ENV, ENV):
                spans.reset()
                began, thread_began = time.perf_counter(), time.thread_time()
                done = train(TrainConfig.of(config, {"framework": framework, "env": env}), models=Path(folder))
                seconds, thread_s = time.perf_counter() - began, time.thread_time() - thread_began
                other = {"other": seconds - sum(spans.seconds.values())}
                if quick or turn > 0:
                    found[env].append(Trained(seconds, thread_s, done.steps, spans.seconds | other))
    return found


def watch_envs(spans: Spans) -> None:
    """Time the rows of both environments."""
    from benchmarks.subjects.free_env import FREE
    from mayavi.gym_env.registry import ENVS

    ENVS[FREE.name] = FREE
    for env in (ENV, FREE_ENV):
        watch_env(spans, ENVS[env].load())


def watch_framework(spans: Spans, framework: str) -> None:
    """Time the adapter of a framework, its sampling and its learning."""
    if framework == "sb3":
        from stable_baselines3 import PPO

        from mayavi.gym_env.adapters.sb3 import RowsVecEnv

        spans.watch(RowsVecEnv, "step_wait", "adapter")
        spans.watch(PPO, "collect_rollouts", "playing")
        spans.watch(PPO, "train", "learner")
    elif framework == "fast":
        from mayavi.rl.fast.ppo import PPO as FastPPO  # noqa: N811
        from mayavi.rl.fast.rows import TrainingRows

        spans.watch(TrainingRows, "step", "adapter")
        spans.watch(FastPPO, "collect", "playing")
        spans.watch(FastPPO, "learn", "learner")
    else:
        from ray.rllib.algorithms.ppo import PPO as RllibPpo  # noqa: N811
        from ray.rllib.core.learner.learner_group import LearnerGroup
        from ray.rllib.env.env_runner_group import EnvRunnerGroup
        from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

        from mayavi.gym_env.adapters.vector import MayaviVectorEnv

        spans.watch(MayaviVectorEnv, "step", "adapter")
        spans.watch(SingleAgentEnvRunner, "sample", "playing")
        spans.watch(LearnerGroup, "update", "learner")
        spans.watch(EnvRunnerGroup, "sync_weights", "learner")
        spans.watch(RllibPpo, "training_step", "playing")


def watch_env(spans: Spans, kind: type[Any]) -> None:
    """Time the rows of every environment of this class."""
    made = kind.__init__

    def init(self: Any, *args: Any, **options: Any) -> None:
        made(self, *args, **options)
        watch_rows(spans, self)

    kind.__init__ = init


if __name__ == "__main__":
    main()
