"""Write the files of a training without training, by the trainer's own code: record, checkpoints, evaluations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mayavi.rl.config import TrainConfig
from mayavi.rl.training_runs.checkpoints import write_checkpoint
from mayavi.rl.training_runs.folder import FINISHED, RunFolder


def stored_training(models: Path, run_id: str, *, status: str = FINISHED, **changes: Any) -> RunFolder:
    """A stored training; `changes` are values of its record, and `config` changes of its settings."""
    config = TrainConfig.of({"env": "aave", "framework": "sb3", "timesteps": 2_000}, changes.pop("config", {}))
    folder = RunFolder(models / run_id)
    folder.path.mkdir(parents=True)
    record = {
        "status": status,
        "config": config.to_json(),
        "versions": {"mayavi": "0.1.0", "torch": "2.9.1"},
        "seed": config.seed,
        "device": "cpu",
        "steps": 2_048 if status == FINISHED else 1_024,
        "episodes": 170,
        "mean_reward": 0.25,
        "seconds": 12.5,
        "started_at": "2026-03-14T09:26:53Z",
        "finished_at": "2026-03-14T09:27:06Z" if status == FINISHED else None,
        "resumes": [],
        "validations": [],
        "best": None,
        "world_digest": "ab" * 32,
    }
    folder.write(record | changes)
    steps = [512, 1_024]
    for each in steps:
        stored_checkpoint(folder.checkpoints_path / str(each), each, resumable=status != FINISHED and each == steps[-1])
    if status == FINISHED:
        stored_checkpoint(folder.final_path, 2_048, resumable=True)
    return folder


def stored_checkpoint(path: Path, steps: int, *, resumable: bool = False) -> None:
    """A checkpoint with two small files."""

    def save(place: Path) -> None:
        (place / "model.zip").write_bytes(b"weights")
        (place / "rows.json").write_text("{}")

    path.parent.mkdir(parents=True, exist_ok=True)
    only = ["rows.json"] if resumable else []
    write_checkpoint(path, {"steps": steps, "mean_reward": steps / 10_000, "only_to_resume": only}, save)


def stored_evaluation(
    folder: RunFolder,
    name: str,
    split: str,
    mean: float,
    *,
    episodes: int = 200,
    world: str = "",
    noise: float = 0.0,
    steps: int | None = None,
) -> Path:
    """An evaluation file with what a list of trainings reads of it."""
    folder.eval_path.mkdir(exist_ok=True)
    document = {
        "schema": "mayavi-eval",
        "version": 1,
        "env": {"name": "aave", "config": {"split": split}, **({"world_digest": world} if world else {})},
        "models": [{"name": "ppo"} if steps is None else {"name": "ppo", "steps": steps}],
        "settings": {"episodes": episodes, **({"noise": {"actions": noise}} if noise else {})},
        "ppo": {"mean_reward": mean},
    }
    file = folder.eval_path / f"{name}.json"
    file.write_text(json.dumps(document))
    return file
