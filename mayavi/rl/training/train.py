"""`train`: the one function that trains, here, on a Ray cluster and on Modal alike."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mayavi
from mayavi.errors import SetupError, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.checkpoints import Checkpoint, read_checkpoint
from mayavi.rl.training.progress import Progress
from mayavi.rl.training.run_folder import FAILED, FINISHED, INTERRUPTED, TRAINING, RunFolder, find_run, models_path, now
from mayavi.rl.training.validation import best_of

FREE_TO_CHANGE = {
    "timesteps",
    "checkpoint_every_s",
    "checkpoint_every_steps",
    "evaluate_every",
    "runners",
    "device",
    "torch_threads",
}
"""Settings that a resumed run may have otherwise; all others decide what is trained."""
PACKAGES = {
    "sb3": ("stable_baselines3", "sb3_contrib"),
    "rllib": ("ray",),
}


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A finished training."""

    run_id: str
    path: Path
    config: TrainConfig
    steps: int
    episodes: int
    mean_reward: float | None
    """Of the last hundred episodes that were trained on; an evaluation says more."""
    seconds: float
    device: str
    resumed_from: int | None = None
    exact: bool = True
    """Whether a resumed training is what an undisturbed one would have been."""
    reason: str = ""
    """Why it is not."""
    best: Mapping[str, Any] | None = None
    """The evaluation on the validation split that was the best, `steps` and `mean_reward`; its policy is in `best/`."""


def train(
    config: TrainConfig,
    *,
    models: Path | None = None,
    resume: str | None = None,
    progress: Progress | None = None,
    commit: Callable[[], None] | None = None,
    run_id: str | None = None,
    ray: str | None = None,
    begun: Callable[[str], None] | None = None,
) -> TrainedModel:
    """Train `config` and keep everything in the folder of the run.

    `resume` names a run to go on with; `config` must then be that run's, but for what `FREE_TO_CHANGE` lists. `commit`
    is called whenever something new is on disk, `begun` with the run's id as soon as there is one. `ray` is the address
    of a cluster that RLlib's runners work on. The caller's generators are left as they were.
    """
    from mayavi.rl.environments import env_facts, pinned
    from mayavi.rl.rllib.ray_connection import checked_runners
    from mayavi.rl.training import global_rng
    from mayavi.rl.training.memory_ceiling import check_ceiling, estimate
    from mayavi.rl.training.session import Session
    from mayavi.runs.run_id import check_id, new_run_id

    check_installed(config.framework)
    place = models_path(models)
    if resume is None:
        config = pinned(config)
        folder = RunFolder(place / check_id(run_id or new_run_id()))
        if (folder.path / "run.json").exists():
            raise UsageError(f"there is a run {folder.run_id} already", "`--resume` goes on with it")
    else:
        folder = find_run(resume, place)
        check_resumable(folder, config)
    _check_device(config)
    facts = env_facts(config)
    memory = estimate(config, facts.sizes(), discrete=facts.discrete)
    check_ceiling(memory)
    if config.framework == "rllib" and resume is None:  # before anything is kept of a run that cannot be
        checked_runners(config, ray)
    with folder.held(), global_rng.kept():
        if begun is not None:
            begun(folder.run_id)
        if resume is None:
            record = _new_record(config) | facts.to_json() | {"world_digest": facts.world_digest}
            checkpoint = None
        else:
            record = folder.read() | {"config": config.to_json(), "finished_at": None}
            checkpoint = _taken_up(folder, record, facts.world_digest, config)
        record |= {"status": TRAINING, "memory": memory.to_json()}
        session = Session(folder, config, facts, record, progress=progress, commit=commit)
        session.write_record()
        try:
            if config.framework == "sb3":
                from mayavi.rl.sb3.trainer import train_with_sb3

                train_with_sb3(config, session, checkpoint)
            else:
                from mayavi.rl.rllib.trainer import train_with_rllib

                train_with_rllib(config, session, checkpoint, ray)
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            session.record |= {"status": INTERRUPTED if stopped else FAILED}
            if not stopped:
                session.record["error"] = f"{type(error).__name__}: {error}"
            session.write_record()
            raise
        finally:
            session.close()
    return trained_model(folder, config, resumed=checkpoint is not None)


def trained_model(folder: RunFolder, config: TrainConfig, *, resumed: bool = True) -> TrainedModel:
    """What the record of a run says came of it; `resumed` tells of its last stretch that it was not the first."""
    done = folder.read()
    last = (done.get("resumes") or [None])[-1] if resumed else None
    return TrainedModel(
        run_id=folder.run_id,
        path=folder.path,
        config=config,
        steps=done["steps"],
        episodes=done["episodes"],
        mean_reward=done["mean_reward"],
        seconds=done["seconds"],
        device=done["device"],
        resumed_from=last["steps"] if last else None,
        exact=last["exact"] if last else True,
        reason=last.get("reason", "") if last else "",
        best=done.get("best"),
    )


def check_installed(framework: str) -> None:
    """`SetupError` that names the extra where a framework is missing."""
    for package in ("torch", "gymnasium", *PACKAGES[framework]):
        if find_spec(package) is None:
            raise SetupError(
                f"training with {framework} needs {package}, which is not installed",
                "`pip install 'mayavi-sim[rl]'` installs it",
            )


def check_resumable(folder: RunFolder, config: TrainConfig) -> None:
    """`UsageError` where the run is finished, or was another training than `config`."""
    record = folder.read()
    if record["status"] == FINISHED and config.timesteps <= record["steps"]:
        raise UsageError(
            f"run {folder.run_id} is finished: {record['steps']:,} timesteps are trained",
            f"`--resume {folder.run_id} --timesteps {2 * record['config']['timesteps']}` trains it further",
        )
    begun = TrainConfig.of(record["config"]).to_json()
    for name, value in config.to_json().items():
        if name not in FREE_TO_CHANGE and begun[name] != value:
            raise UsageError(
                f"run {folder.run_id} has {name} {begun[name]!r}, and {value!r} is asked for",
                "a run is resumed as it was begun; leave the option out, or start another run",
            )
    for name, there in record["versions"].items():
        here = versions(config.framework).get(name)
        if name not in {"python", "mayavi"} and here != there:
            raise UsageError(
                f"run {folder.run_id} was trained with {name} {there}, and here is {here}",
                f"install {name} {there}, or start another run",
            )


def _check_device(config: TrainConfig) -> None:
    """`UsageError` where a GPU is asked for and torch has none: one framework would crash, the other not use it."""
    import torch

    if config.device == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            "device is 'cuda', and torch sees no GPU here",
            "`--set device=auto` takes one where there is one, else the CPU",
        )


def versions(framework: str) -> dict[str, str]:
    """What the figures of a training depend on."""
    found = {"mayavi": mayavi.__version__, "python": platform.python_version()}
    for name in ("numpy", "torch", "gymnasium", *PACKAGES[framework]):
        try:
            found[name] = version(name.replace("_", "-"))
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def _new_record(config: TrainConfig) -> dict[str, Any]:
    return {
        "status": TRAINING,
        "config": config.to_json(),
        "versions": versions(config.framework),
        "seed": config.seed,
        "device": config.device,
        "steps": 0,
        "episodes": 0,
        "mean_reward": None,
        "seconds": 0.0,
        "started_at": now(),
        "finished_at": None,
        "resumes": [],
        "validations": [],
        "best": None,
    }


def _taken_up(folder: RunFolder, record: dict[str, Any], world_digest: str, config: TrainConfig) -> Checkpoint | None:
    """The checkpoint to go on from, None where the run had none yet; the record goes back to where that was."""
    if record["world_digest"] != world_digest:
        raise UsageError(
            f"run {folder.run_id} was trained on another world than '{config.source}' is now",
            "give the world it was begun on, or start another run",
        )
    if folder.final_path.exists():  # trained further: what was the end is a checkpoint like any other
        steps = read_checkpoint(folder.final_path, whole=False).steps
        folder.checkpoints_path.mkdir(exist_ok=True)
        folder.final_path.rename(folder.checkpoints_path / str(steps))
    found = [each for each in folder.checkpoints() if each.resumable]
    checkpoint = read_checkpoint(found[-1].path) if found else None
    facts: Mapping[str, Any] = {"steps": 0, "episodes": 0, "mean_reward": None}
    if checkpoint is not None:
        facts = checkpoint.facts
    record |= {name: facts[name] for name in ("steps", "episodes", "mean_reward")}
    validations = list(facts.get("validations", ()))
    record |= {"validations": validations, "best": best_of(validations)}
    return checkpoint
