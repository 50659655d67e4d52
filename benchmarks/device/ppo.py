"""PPO with rows and network on a GPU: steps a second from end to end, and a long training with its evaluation.

    python benchmarks/device/ppo.py                          # 64 × 64, four epochs, 65,536 and 262,144 rows
    python benchmarks/device/ppo.py --stand-in               # the learner alone, on an environment of a few operations
    python benchmarks/device/ppo.py --steps 1e9 --rows 65536 --minibatches 24 --seed 1    # and evaluates it
    python benchmarks/device/ppo.py --twice --rows 65536     # the same weights again, and after an interruption?

Needs torch, NumPy, gymnasium and pydantic, and a world: `--source snapshot:FILE` where no contracts are built.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.device_rows import DeviceTrainingRows, open_device_rows, start_table
from mayavi.rl.fast.ppo import PPO
from mayavi.rl.training.progress import TrainProgress

WARM_UPS = 3
LEARNING: dict[str, Any] = {"reward_scale": 1000.0, "gamma": 0.9, "learning_rate": 0.003, "learning_rate_end": 0.0}
"""Settings of a long training: rewards of a borrower are thousandths of its wealth."""


class FreeRows:
    """Rows whose step is a few tensor operations: what is left is the learner."""

    def __init__(self, rows: int, device: str, observations: int = 15, actions: int = 5, horizon: int = 12) -> None:
        self.rows, self.horizon, self.torch_device, self.config, self.left = (
            rows,
            horizon,
            torch.device(device),
            None,
            0,
        )
        self.observation_space = spaces.Box(-9, 9, (observations,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(actions)
        zeros = torch.zeros(rows, device=device)
        self.observations = torch.randn(rows, observations, device=device)
        self.final_observations = torch.zeros_like(self.observations)
        self.rewards = zeros.double()
        self.terminated, self.truncated = zeros.bool(), zeros.bool()
        self.episodes, self.steps = zeros.long(), zeros.long()

    def begin(self) -> None:
        """Start all rows at different steps."""
        self.steps.copy_(torch.arange(self.rows, device=self.torch_device) % self.horizon)

    def step(self, actions: torch.Tensor) -> None:
        """Mix the observations with the actions."""
        self.observations.mul_(0.9).add_(0.01 * actions[:, None])
        self.final_observations.copy_(self.observations)
        self.rewards.copy_(self.observations[:, 0])
        self.steps.add_(1)
        torch.ge(self.steps, self.horizon, out=self.truncated)
        self.steps.masked_fill_(self.truncated, 0)

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing: these rows are only timed."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Nothing to restore."""

    def close(self) -> None:
        """Nothing to release."""


def settings(options: argparse.Namespace, rows: int, **more: Any) -> TrainConfig:
    """Settings of a training with `rows` rows."""
    values = {
        "env": options.env,
        "framework": "fast",
        "device": options.device,
        "source": options.source,
        "num_envs": rows,
        "rollout_steps": options.rollout_steps,
        "minibatch_size": max(1, rows * options.rollout_steps // options.minibatches),
        "network": [int(each) for each in options.network.split(",")],
        "epochs": options.epochs,
        "precision": options.precision,
        "seed": options.seed,
        "start_table": options.table,
        "normalize_observations": False,
        "normalize_rewards": False,
    }
    return TrainConfig.of(values, more)


def synchronised(device: torch.device) -> float:
    """Seconds, after the device has done all its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def opened(options: argparse.Namespace, config: TrainConfig) -> PPO:
    """PPO over rows on the device, of the environment or of the stand-in."""
    torch.manual_seed(config.seed)
    device = "cpu" if config.device == "emulated" else config.device
    play: Any = FreeRows(config.num_envs, device) if options.stand_in else open_device_rows(config, start_table(config))
    rows = DeviceTrainingRows(config, None, play)
    rows.begin(config.seed)
    generator = torch.Generator(rows.device)
    generator.manual_seed(config.seed)
    return PPO(config, rows, rows.device, generator)


def time_updates(options: argparse.Namespace, rows: int) -> None:
    """Print steps a second of rollouts, of learning and of both."""
    config, before = settings(options, rows), time.perf_counter()
    ppo = opened(options, config)
    device, started = ppo.device, time.perf_counter() - before
    for _ in range(WARM_UPS):
        ppo.learn(ppo.collect(), 3e-4)
    rollout = learning = 0.0
    first = synchronised(device)
    for _ in range(options.updates):
        begun = synchronised(device)
        batch = ppo.collect()
        collected = synchronised(device)
        ppo.learn(batch, 3e-4)
        rollout, learning = rollout + collected - begun, learning + synchronised(device) - collected
    steps, whole = options.updates * config.batch_size, synchronised(device) - first
    print(
        f"{'stand-in' if options.stand_in else config.env}, {rows:,} rows, network {options.network}, "
        f"{config.epochs} epochs, {config.precision}: started in {started:.1f} s, "
        f"rollout {steps / rollout / 1e6:.1f}, learning {steps / learning / 1e6:.1f}, "
        f"end to end {steps / whole / 1e6:.2f} M steps/s; {ppo.rows.env.left:,} row-steps on the processor; "
        f"{memory(device)}",
        flush=True,
    )
    if options.profile:
        profile(ppo)
    ppo.rows.env.close()


def profile(ppo: PPO) -> None:
    """Print the kernels that take most time, of a rollout and of learning."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiled

    batch = ppo.collect()
    for name, work in (("learning", lambda: ppo.learn(batch, 3e-4)), ("rollout", ppo.collect)):
        with profiled(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
            work()
            synchronised(ppo.device)
        print(f"{name}:\n{found.key_averages().table(sort_by='self_cuda_time_total', row_limit=16)}", flush=True)


def compare_weights(options: argparse.Namespace, rows: int) -> bool:
    """Train twice with the same seed; print whether the weights are the same to the bit."""
    found = []
    for _ in range(2):
        ppo = opened(options, settings(options, rows))
        for _ in range(options.updates):
            ppo.learn(ppo.collect(), 3e-4)
        found.append(ppo.network.flat.clone())
        ppo.rows.env.close()
    same = bool(found[0].equal(found[1]))
    print(f"{rows:,} rows, {options.updates} updates, twice: {'the same' if same else 'other'} weights", flush=True)
    return same and (options.stand_in or compare_resumed(options, rows))


def compare_resumed(options: argparse.Namespace, rows: int) -> bool:
    """Train at once, and with an interruption after half of the steps; print whether the weights are the same."""
    from mayavi.rl.models import open_model
    from mayavi.rl.training.train import train

    config = settings(options, rows)
    half = max(1, options.updates // 2) * config.batch_size
    config = TrainConfig.of(config.to_json(), {"timesteps": 2 * half})

    def stop(report: TrainProgress) -> None:
        if report.steps == half:
            raise KeyboardInterrupt

    with TemporaryDirectory() as scratch:
        models = Path(scratch)
        train(config, models=models, run_id="at-once")
        try:
            train(config, models=models, run_id="resumed", progress=stop)
        except KeyboardInterrupt:
            train(config, models=models, resume="resumed")
        found = [open_model(run, models).policy().network.flat for run in ("at-once", "resumed")]  # type: ignore[attr-defined]
    same = bool(found[0].equal(found[1]))
    print(f"{rows:,} rows, interrupted and resumed: {'the same' if same else 'other'} weights", flush=True)
    return same


def memory(device: torch.device) -> str:
    """Most memory that torch took."""
    if device.type != "cuda":
        return "host memory"
    most = torch.cuda.max_memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    return f"at most {most / 1e9:.1f} GB in torch"


def train_long(options: argparse.Namespace, rows: int) -> None:
    """Train for `--steps` and evaluate on the test split, against the strategies of the environment."""
    from mayavi.rl.evaluation.play import play
    from mayavi.rl.models import open_model
    from mayavi.rl.training.train import train

    config = settings(options, rows, **LEARNING, timesteps=int(float(options.steps)))
    reports: list[float] = []
    with TemporaryDirectory() as scratch:
        before = time.perf_counter()
        trained = train(config, models=Path(scratch), progress=lambda _: reports.append(time.perf_counter()))
        seconds = time.perf_counter() - before
        print(
            f"{config.env}: {trained.steps:,} steps, {trained.episodes:,} episodes in {seconds:.1f} s, "
            f"{trained.steps / seconds / 1e6:.2f} M steps/s with start, checkpoints and logs; "
            f"mean reward of the last rollout {trained.mean_reward}",
            flush=True,
        )
        print(describe_times(before, reports, before + seconds, config.batch_size), flush=True)
        model, episodes = open_model(trained.run_id, Path(scratch)), range(options.test_episodes)
        env = model.make_env(min(256, len(episodes)), split="test")
        for name in ("policy", *type(env).strategies):
            rewards = play(env, model.policy() if name == "policy" else name, episodes).rewards
            half = 1.96 * rewards.std(ddof=1) / len(rewards) ** 0.5
            print(f"  test split, {len(rewards):,} episodes, {name}: {rewards.mean():.6f} ± {half:.6f}", flush=True)


def describe_times(begun: float, reports: Sequence[float], ended: float, batch: int) -> str:
    """Where the time of a training went: before the first update, in updates, and in the slowest of them."""
    between = sorted(np.diff(np.array(reports)).tolist())
    if not between:
        return f"  one update, after {reports[0] - begun:.1f} s"
    usual = between[len(between) // 2]
    slowest = ", ".join(f"{each:.2f}" for each in between[:-6:-1])
    return (
        f"  {reports[0] - begun:.1f} s until the first update, {len(between)} more in {sum(between):.1f} s, "
        f"usually {usual * 1e3:.1f} ms ({batch / usual / 1e6:.2f} M steps/s), the slowest {slowest} s; "
        f"{ended - reports[-1]:.1f} s after the last"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="aave")
    parser.add_argument("--source", default="replica", help="world: replica, snapshot:FILE or rpc")
    parser.add_argument("--device", default="cuda", help="cuda, or emulated: slow, for tests")
    parser.add_argument("--rows", default="65536,262144", help="numbers of rows, with commas")
    parser.add_argument("--network", default="64,64")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rollout-steps", type=int, default=12)
    parser.add_argument(
        "--minibatches", type=int, default=4, help="minibatches of a pass; 24 for a training that learns"
    )
    parser.add_argument("--precision", default="fp32", choices=("fp32", "tf32", "bf16"))
    parser.add_argument("--updates", type=int, default=10, help="updates that are timed")
    parser.add_argument("--table", type=int, default=None, help="episodes in the table of starts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stand-in", action="store_true", help="time the learner on an environment that costs little")
    parser.add_argument("--profile", action="store_true", help="print the kernels that take most time")
    parser.add_argument(
        "--twice", action="store_true", help="compare the weights of two trainings, and of an interrupted one"
    )
    parser.add_argument("--steps", default=None, help="train for so many steps, such as 1e9, with the first of --rows")
    parser.add_argument("--test-episodes", type=int, default=1000)
    options = parser.parse_args(arguments)
    rows = [int(each) for each in options.rows.split(",")]
    torch.set_float32_matmul_precision("high" if options.precision == "tf32" else "highest")
    if options.steps is not None:
        train_long(options, rows[0])
        return 0
    with torch.no_grad():
        if options.twice:
            return 0 if all(compare_weights(options, each) for each in rows) else 1
        for each in rows:
            time_updates(options, each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
