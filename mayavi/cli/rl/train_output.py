"""Output of `mayavi train`: heading, summary and JSON object of one training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.cli.console.progress import duration

if TYPE_CHECKING:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.train import TrainedModel


def heading(config: TrainConfig, run_id: str) -> str:
    """One line that describes the training."""
    memory = " with memory" if config.recurrent else ""
    how = f"{config.framework} {config.algorithm}{memory}"
    place = "" if config.source == "replica" else f" · {config.source}"
    return f"run {run_id} · {config.env}{place} · {how} · seed {config.seed} · {config.timesteps:,} steps"


def summary(done: TrainedModel) -> list[str]:
    """Lines that summarise a finished training."""
    from mayavi.rl.training.cost import describe_cost
    from mayavi.rl.training.hardware import describe_hardware

    pace = f"{done.steps / done.seconds:,.0f} steps a second" if done.seconds else ""
    lines = [f"{done.steps:,} steps, {done.episodes:,} episodes in {duration(done.seconds)} on {done.device}, {pace}"]
    if hardware := done.record.get("hardware"):
        cost = describe_cost(done.record)
        lines.append(f"{describe_hardware(hardware)}{f'; {cost}' if cost else ''}")
    if done.resumed_from is not None:
        exact = "with the same result as without the interruption" if done.exact else f"not exactly: {done.reason}"
        lines.append(f"resumed at step {done.resumed_from:,}, {exact}")
    if done.mean_reward is not None:
        lines.append(f"mean reward of the last episodes {done.mean_reward:.6g}")
    if done.best is not None:
        best, steps = done.best["mean_reward"], done.best["steps"]
        lines.append(f"best on the validation split {best:.6g}, after {steps:,} steps: {done.run_id}:best")
    lines.append(f"kept in {done.path}; `tensorboard --logdir {done.path / 'logs'}` shows the curves")
    return lines


def document(done: TrainedModel, evaluated: tuple[Mapping[str, Any], Path] | None) -> dict[str, object]:
    """The JSON object of a training, with its evaluation if there is one."""
    return {
        "run_id": done.run_id,
        "path": str(done.path),
        "config": done.config.to_json(),
        "steps": done.steps,
        "episodes": done.episodes,
        "mean_reward": done.mean_reward,
        "seconds": done.seconds,
        "steps_per_second": done.record.get("steps_per_second"),
        "device": done.device,
        "hardware": done.record.get("hardware"),
        "cost": done.record.get("cost"),
        "specialise": done.record.get("specialise", {}),
        "resumed_from": done.resumed_from,
        "exact": done.exact,
        "best": done.best,
        "evaluation": None if evaluated is None else evaluation_summary(*evaluated),
    }


def evaluation_summary(document: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Place, mean rewards and verdicts of an evaluation, those of several roles by role."""
    from mayavi.rl.evaluation.document import parts_of

    found: dict[str, Any] = {
        "file": str(file),
        "split": document["env"]["config"]["split"],
        "episodes": document["settings"]["episodes"],
    }
    parts = {role: _part_summary(part) for role, part in parts_of(document).items()}
    return found | parts.get("", parts)


def _part_summary(part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "mean_rewards": {name: part[name]["mean_reward"] for name in part["strategies"]},
        "verdicts": {each["against"]: each["verdict"] for each in part["comparisons"]},
    }
