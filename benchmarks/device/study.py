"""Study of docs/studies/gpu.md: what more steps on a GPU buy, against Stable-Baselines3's policies and the optimum.

    python benchmarks/device/study.py train gpu.zip --seeds 1,2,3            # on a machine with a GPU
    python benchmarks/device/study.py evaluate gpu.zip --rivals FOLDER       # anywhere; prints the tables of the page

Every number of steps is a training of its own, whose learning rate falls to zero at its end: a checkpoint in the middle
of a longer training would be judged with a learning rate that is still high. `train` needs torch, NumPy, gymnasium and
pydantic, and a world: `--source snapshot:FILE` where no contracts are built. It adds to FILE, so several commands share
the work. `evaluate` plays the policies on the processor; `--figure FILE.svg` needs matplotlib.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from mayavi.errors import MayaviError, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.comparison import Comparison, compare_pooled
from mayavi.rl.evaluation.evaluate import ROWS
from mayavi.rl.evaluation.play import Played, play
from mayavi.rl.evaluation.settings import EvaluationSettings
from mayavi.rl.evaluation.strategies import OPTIMUM, Planned, Trained
from mayavi.rl.models import Model, open_model
from mayavi.rl.search.optimum import find_optimum
from mayavi.rl.training.train import train
from mayavi.rl.training_runs.checkpoints import drop_resume_files
from mayavi.statistics.estimate import Estimate

STUDIES: dict[str, dict[str, Any]] = {
    "aave": {"env_config": {"reward": "carry"}, "gamma": 0.9, "gae_lambda": 0.9, "reward_scale": 1000.0},
    "aave-shock": {"env_config": {"reward": "guarded"}, "gamma": 0.85, "gae_lambda": 0.9, "reward_scale": 100.0},
}
"""What docs/studies/configs/{borrower,shock}.yaml say about learning; sizes of batches follow from the steps."""
HORIZON = 12
"""Steps of a rollout: an episode of `aave`."""
UPDATES = 32
"""Fewest updates of a training: the number that Stable-Baselines3 makes in 98,304 steps."""
MOST_ROWS, MOST_STARTS = 262_144, 65_536
SCRIPTS = ("noop", "repay_all", "follow_spread")


def settings(env: str, steps: int, seed: int, device: str, source: str) -> TrainConfig:
    """Settings of a training of `steps` steps: as many rows as leave `UPDATES` updates."""
    rows = 1 << max(3, (steps // (UPDATES * HORIZON)).bit_length() - 1)
    rows = min(rows, MOST_ROWS)
    batch = rows * HORIZON
    return TrainConfig.of(
        {"env": env, "framework": "fast", "device": device, "source": source, "seed": seed, "timesteps": steps},
        {"num_envs": rows, "rollout_steps": HORIZON, "minibatch_size": min(batch, max(512, batch // 24))},
        {"epochs": 10 if batch < 10**6 else 4, "learning_rate": 0.003, "learning_rate_end": 0.0},
        {"start_table": min(MOST_STARTS, max(rows, steps // HORIZON)), "checkpoint_every_steps": steps},
        {"checkpoint_every_s": 1e6, **STUDIES[env]},
    )


def run_trainings(options: argparse.Namespace) -> None:
    """Train every number of steps with every seed, and add the policies to the archive."""
    for steps in (int(float(each)) for each in options.steps.split(",")):
        for seed in (int(each) for each in options.seeds.split(",")):
            config, name = settings(options.env, steps, seed, options.device, options.source), f"{steps}-{seed}"
            with TemporaryDirectory() as scratch:
                before = time.perf_counter()
                done = train(config, models=Path(scratch), run_id=name)
                seconds = time.perf_counter() - before
                pack(options.archive, Path(scratch) / name)
            print(
                f"{config.env}, seed {seed}: {done.steps:,} steps, {done.episodes:,} episodes in {seconds:.1f} s, "
                f"{done.steps / seconds / 1e6:.2f} M steps/s with start and checkpoint",
                flush=True,
            )


def pack(archive: Path, run: Path) -> None:
    """Add what a policy needs of a training's folder to an archive."""
    final = open_model(run).checkpoint()
    drop_resume_files(final)
    with ZipFile(archive, "a") as file:
        for each in sorted([run / "run.json", *final.path.rglob("*")]):
            if each.is_file():
                file.write(each, f"{run.name}/{each.relative_to(run)}")


@dataclass(frozen=True, slots=True)
class Group:
    """Trainings that differ in their seed: what they played, and how long each took."""

    name: str
    played: list[Played]
    seconds: list[float]
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """Outcome of a group: its mean reward, its regret, that of each seed, and the comparison with the rivals."""

    group: Group
    reward: Estimate
    regret: Estimate
    by_seed: list[float]
    difference: Comparison | None


def evaluate(options: argparse.Namespace) -> list[Judged]:
    """Play all policies on the same episodes of the test split, and judge every group."""
    with TemporaryDirectory() as scratch:
        for archive in options.archives:
            with ZipFile(archive) as file:
                file.extractall(scratch)
        ours = [open_model(each) for each in sorted(Path(scratch).iterdir(), key=_steps_and_seed)]
        rivals = [open_model(each) for each in sorted(options.rivals.iterdir()) if (each / "run.json").is_file()]
        return judge(ours, rivals, options)


def _steps_and_seed(run: Path) -> tuple[int, int]:
    steps, _, seed = run.name.partition("-")
    return int(steps), int(seed)


def judge(ours: Sequence[Model], rivals: Sequence[Model], options: argparse.Namespace) -> list[Judged]:
    """Judge our trainings, by their number of steps, and those to compare with."""
    if not ours or not rivals:
        raise UsageError("there is nothing to compare", "name an archive of `train` and a folder with trainings")
    limits = EvaluationSettings(episodes=options.episodes)

    def make(rows: int) -> Any:
        world = None if options.source is None else _world(options.source)
        return rivals[0].make_env(rows, world=world, split="test", reward="net_wealth")

    env, episodes = make(min(ROWS, options.episodes)), range(options.episodes)
    for model in (*ours, *rivals):
        model.check_fits(env)
        if model.record["world_digest"] != rivals[0].record["world_digest"]:
            raise UsageError(f"{model.run_id} was trained on another world than {rivals[0].run_id}")
    plans = find_optimum(make, episodes, limits.search)
    scripts = {OPTIMUM: play(env, Planned(OPTIMUM, plans.plans), episodes)}
    scripts |= {name: play(env, name, episodes) for name in SCRIPTS}

    def group(name: str, models: Iterable[Model]) -> Group:
        chosen = sorted(models, key=lambda each: each.config.seed)
        played = [play(env, Trained(f"{name}@{each.config.seed}", each.policy()), episodes) for each in chosen]
        seconds = [float(each.record["seconds"]) for each in chosen]
        return Group(name, played, seconds, chosen[0].config.timesteps)

    by_steps: dict[int, list[Model]] = {}
    for each in ours:
        by_steps.setdefault(each.config.timesteps, []).append(each)
    groups = [group(f"{steps:,}", by_steps[steps]) for steps in sorted(by_steps)]
    theirs = group("sb3", rivals)
    attainable = np.max([each.rewards for one in (*groups, theirs) for each in one.played], axis=0)
    attainable = np.max([attainable, *(each.rewards for each in scripts.values())], axis=0)
    beyond = int((attainable > scripts[OPTIMUM].rewards).sum())
    print(
        f"{env.name}, test split, {len(episodes):,} episodes, reward net_wealth. The optimum is that of a "
        f"{plans.method} search; in {beyond:,} episodes a policy or a script earned more, which counts as attainable.\n"
    )
    alone = [Group(name, [each], []) for name, each in scripts.items()]
    return [judged(each, attainable, theirs, limits) for each in (*groups, theirs, *alone)]


def _world(source: str) -> Any:
    from mayavi.worlds.source import WorldSource

    return WorldSource.named(source)


def judged(group: Group, attainable: Any, rivals: Group, limits: EvaluationSettings) -> Judged:
    """Estimate the regret of a group over seeds and episodes, and compare it with the rivals, seed by seed."""
    rewards = np.stack([each.rewards for each in group.played])
    regrets = attainable - rewards
    pairs = list(zip(group.played, rivals.played, strict=False))
    difference = compare_pooled(pairs, limits) if len(group.played) > 1 and group is not rivals else None
    estimate = limits.bootstrap.estimate_pooled
    return Judged(group, estimate(rewards), estimate(regrets), regrets.mean(axis=1).tolist(), difference)


def print_tables(found: Sequence[Judged]) -> None:
    """Print the tables of the page as Markdown; regrets and differences in millionths of the wealth."""
    heads = ("", "steps", "a training takes", "mean reward, 95 %", "regret, 95 %, ×10⁻⁶", "against SB3, 95 %, ×10⁻⁶")
    print_row(*heads, "verdict")
    print("|---|---|---|---|---|---|---|")
    for each in found:
        name, seconds = each.group.name, each.group.seconds
        what = ("Stable-Baselines3" if name == "sb3" else "GPU") if each.group.steps else f"`{name}`"
        steps = f"{each.group.steps:,}" if each.group.steps else ""
        took = f"{np.mean(seconds):.1f} s" if seconds else ""
        against = verdict = ""
        if each.difference is not None:
            against, verdict = shown(each.difference.difference, 1e6), each.difference.verdict.word
        print_row(what, steps, took, shown(each.reward, 1, 6), shown(each.regret, 1e6), against, verdict)
    print("\nRegret of each seed, ×10⁻⁶:\n")
    trainings = [each for each in found if each.group.steps]
    seeds = list(dict.fromkeys(_seed(played) for each in trainings for played in each.group.played))
    print_row("", *(f"seed {seed}" for seed in seeds))
    print("|---|" + "---|" * len(seeds))
    for each in trainings:
        regrets = {_seed(played): regret for played, regret in zip(each.group.played, each.by_seed, strict=True)}
        print_row(each.group.name, *(f"{regrets[seed] * 1e6:.3f}" if seed in regrets else "" for seed in seeds))


def print_row(*cells: str) -> None:
    """Print a row of a table; empty cells have no spaces of their own."""
    print(f"| {' | '.join(cells)} |".replace("  ", " "))


def _seed(played: Played) -> str:
    return played.name.partition("@")[2]


def shown(estimate: Estimate, scale: float, digits: int = 3) -> str:
    """A value with its interval."""
    value = f"{estimate.value * scale:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{estimate.low * scale:.{digits}f}, {estimate.high * scale:.{digits}f}]"


def draw(found: Sequence[Judged], picture: Path) -> None:
    """Draw the regret over the steps of a training, every seed and their mean, beside Stable-Baselines3's."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "mayavi", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
    ours = [each for each in found if each.group.steps and each.group.name != "sb3"]
    (theirs,) = (each for each in found if each.group.name == "sb3")
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    steps = [each.group.steps for each in ours]
    means = [each.regret.value * 1e6 for each in ours]
    axes.plot(steps, means, color="#2f5d9e", marker="o", label="GPU, mean of seeds")
    for at, each in zip(steps, ours, strict=True):
        axes.plot([at] * len(each.by_seed), np.array(each.by_seed) * 1e6, color="#2f5d9e", marker=".", ls="", alpha=0.5)
    axes.axhline(
        theirs.regret.value * 1e6, color="#c0392b", ls="--", label=f"Stable-Baselines3, {theirs.group.steps:,} steps"
    )
    axes.axhspan(min(theirs.by_seed) * 1e6, max(theirs.by_seed) * 1e6, color="#c0392b", alpha=0.15, lw=0)
    axes.set(xscale="log", yscale="symlog", xlabel="steps of a training", ylabel="regret, millionths of the wealth")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    figure.savefig(picture, metadata={"Date": None, "Creator": "benchmarks/device/study.py"})
    print(f"\nwrote {picture}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, or evaluate what was trained."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    training = verbs.add_parser("train", help="train on a GPU, and add the policies to an archive")
    training.add_argument("archive", type=Path)
    training.add_argument("--env", default="aave", choices=sorted(STUDIES))
    training.add_argument("--steps", default="1e5,1e6,1e7,1e8,1e9", help="steps of the trainings, with commas")
    training.add_argument("--seeds", default="1,2,3,4,5")
    training.add_argument("--source", default="replica", help="world: replica, snapshot:FILE or rpc")
    training.add_argument("--device", default="cuda", help="cuda, or emulated: slow, for tests")
    evaluation = verbs.add_parser("evaluate", help="play the policies on the test split; print tables as Markdown")
    evaluation.add_argument("archives", type=Path, nargs="+")
    evaluation.add_argument("--rivals", type=Path, required=True, help="folder with trainings to compare with")
    evaluation.add_argument("--episodes", type=int, default=1_000)
    evaluation.add_argument("--source", default=None, help="world; by default that of the trainings to compare with")
    evaluation.add_argument("--figure", type=Path, help="draw the regret over steps into this SVG file")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "train":
            run_trainings(options)
            return 0
        found = evaluate(options)
        print_tables(found)
        if options.figure is not None:
            draw(found, options.figure)
    except MayaviError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
