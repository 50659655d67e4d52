"""Resume a training run: what may change, and the checkpoint to continue from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.frameworks import versions
from mayavi.rl.training.validation import best_of
from mayavi.rl.training_runs.checkpoints import Checkpoint, move_checkpoint, read_checkpoint
from mayavi.rl.training_runs.folder import FINISHED, RunFolder, further_timesteps

FREE_TO_CHANGE = {
    "timesteps",
    "checkpoint_every_s",
    "checkpoint_every_steps",
    "evaluate_every",
    "test_episodes",
    "runners",
    "device",
    "torch_threads",
}
"""Settings that may differ in a resumed run; all others decide what is trained."""


def check_resumable(folder: RunFolder, config: TrainConfig) -> None:
    """Raise `UsageError` if the timesteps are trained, or the run was started with other settings or versions."""
    record = folder.read()
    _check_timesteps(folder, record, config.timesteps)
    started = TrainConfig.of(record["config"]).to_json()
    for name, value in config.to_json().items():
        if name not in FREE_TO_CHANGE and started[name] != value:
            raise UsageError(
                f"run {folder.run_id} has {name} {started[name]!r}, and {value!r} is asked for",
                "a run resumes with the settings it was started with; leave the option out, or start another run",
            )
    for name, there in record["versions"].items():
        here = versions(config.framework, config.env).get(name)
        if name not in {"python", "mayavi"} and here != there:
            raise UsageError(
                f"run {folder.run_id} was trained with {name} {there}, and {here} is installed",
                f"install {name} {there}, or start another run",
            )


def _check_timesteps(folder: RunFolder, record: Mapping[str, Any], asked: int) -> None:
    """Raise `UsageError` if `asked` timesteps are trained; an unfinished run may keep those it was started with."""
    command = f"mayavi train --resume {folder.run_id}{folder.models_option}"
    if record["status"] == FINISHED:
        if asked <= record["steps"]:
            raise UsageError(
                f"run {folder.run_id} is finished: {record['steps']:,} timesteps are trained",
                f"`{command} --timesteps {further_timesteps(record)}` trains it further",
            )
        return
    started = record["config"]["timesteps"]
    done = max((each.steps for each in folder.checkpoints() if each.resumable), default=0)
    if asked <= done and asked != started:
        raise UsageError(
            f"run {folder.run_id} has trained {done:,} timesteps already, and {asked:,} are asked for",
            f"`{command}` continues it to {started:,}; another number must be above {done:,}",
        )


def changed_schedules(config: TrainConfig, checkpoint: Checkpoint) -> str:
    """Why a training that goes on from `checkpoint` differs from one of `config.timesteps` from its start; or nothing.

    Schedules end with the training: with other timesteps those of the steps so far were others.
    """
    before = checkpoint.facts.get("timesteps", config.timesteps)
    settings = config.scheduled
    if before == config.timesteps or not settings:
        return ""
    follow = "follows" if len(settings) == 1 else "follow"
    return f"{' and '.join(settings)} {follow} from timesteps, which were {before:,} and are {config.timesteps:,}"


def checkpoint_to_resume(
    folder: RunFolder, record: dict[str, Any], world_digest: str, config: TrainConfig
) -> Checkpoint | None:
    """Newest resumable checkpoint, None if the run has none yet. Resets the figures of `record` to it.

    Raises `UsageError` if the world has changed. The checkpoint of a finished run moves to `checkpoints/`.
    """
    if record["world_digest"] != world_digest:
        raise UsageError(
            f"run {folder.run_id} was trained on another world than '{config.source}' is now",
            "give the world it was started on, or start another run",
        )
    if folder.final_path.exists():
        final = read_checkpoint(folder.final_path, whole=False)
        folder.checkpoints_path.mkdir(exist_ok=True)
        move_checkpoint(final, folder.checkpoints_path / str(final.steps))
    found = [each for each in folder.checkpoints() if each.resumable]
    checkpoint = read_checkpoint(found[-1].path) if found else None
    facts: Mapping[str, Any] = {"steps": 0, "episodes": 0, "mean_reward": None}
    if checkpoint is not None:
        facts = checkpoint.facts
    record |= {name: facts[name] for name in ("steps", "episodes", "mean_reward")}
    validations = list(facts.get("validations", ()))
    record |= {"validations": validations, "best": best_of(validations)}
    return checkpoint
