"""`train`: train a policy on this machine, on a Ray cluster or on Modal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi.errors import UsageError
from mayavi.evm.devices import cuda_devices
from mayavi.evm.specialise import specialised
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import check_runs_on_device, env_facts, pin_block
from mayavi.rl.rllib.ray_connection import checked_runners
from mayavi.rl.rollouts.fitting import check_rollouts
from mayavi.rl.training import global_rng
from mayavi.rl.training.cost import Rental
from mayavi.rl.training.frameworks import check_installed, versions
from mayavi.rl.training.memory_ceiling import check_ceiling, estimate
from mayavi.rl.training.progress import Progress
from mayavi.rl.training.resuming import check_resumable, checkpoint_to_resume
from mayavi.rl.training.session import Session
from mayavi.rl.training_runs.checkpoints import Checkpoint
from mayavi.rl.training_runs.folder import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    RECORD,
    TRAINING,
    RunFolder,
    find_run,
    models_path,
    now,
)
from mayavi.runs.run_id import check_id, new_run_id


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """Result of a finished training."""

    run_id: str
    path: Path
    config: TrainConfig
    steps: int
    episodes: int
    mean_reward: float | None
    """Mean over the last hundred training episodes; use an evaluation to compare policies."""
    seconds: float
    device: str
    resumed_from: int | None = None
    exact: bool = True
    """Whether a resumed training equals an uninterrupted one."""
    reason: str = ""
    """Why a resumed training differs from an uninterrupted one."""
    best: Mapping[str, Any] | None = None
    """Best evaluation on the validation split, with `steps` and `mean_reward`; its policy is in `best/`."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Contents of `run.json`, with the hardware, the sessions and their cost."""


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
    rental: Rental | None = None,
    recorded: Mapping[str, Any] | None = None,
    specialise: str | None = None,
) -> TrainedModel:
    """Train `config` and store the run in a folder of `models`.

    `resume` names a run to continue; `config` may differ from the stored one only in the settings of `FREE_TO_CHANGE`.
    `commit()` is called after every write to the run's folder, `begun(run_id)` once the run's folder is locked. `ray`
    is the address of a cluster for RLlib's runners. The global random generators of the caller are preserved.
    `rental` is the price of this machine, by default MAYAVI_LOCAL_USD_PER_HOUR. `recorded` are settings that `run.json`
    has in place of those of `config`: paths of the machine that the run will be used on. No result depends on
    `specialise`: off, on or check, before MAYAVI_SPECIALISE.
    """
    with specialised(specialise):
        return _trained(config, models, resume, progress, commit, run_id, ray, begun, rental, recorded)


def _trained(
    config: TrainConfig,
    models: Path | None,
    resume: str | None,
    progress: Progress | None,
    commit: Callable[[], None] | None,
    run_id: str | None,
    ray: str | None,
    begun: Callable[[str], None] | None,
    rental: Rental | None,
    recorded: Mapping[str, Any] | None,
) -> TrainedModel:
    rental = rental or Rental.local()
    check_installed(config.framework)
    place = models_path(models)
    if resume is None:
        config = pin_block(config)
        folder = _new_folder(place, run_id)
    else:
        folder = find_run(resume, place)
        check_resumable(folder, config)
    check_runs_on_device(config)
    _check_device(config)
    facts = env_facts(config)
    check_rollouts(config, facts)
    memory = estimate(config, facts.sizes(), discrete=facts.discrete)
    check_ceiling(memory)
    if config.framework == "rllib" and resume is None:  # before the folder is created
        checked_runners(config, ray)
    with folder.held(), global_rng.preserved():
        if begun is not None:
            begun(folder.run_id)
        checkpoint = None
        if resume is None:
            record = _new_record(config, recorded or {}) | facts.to_json()
            record |= {"world": facts.world_name, "world_digest": facts.world_digest}
        else:
            record = folder.read() | {"config": config.to_json() | dict(recorded or {}), "finished_at": None}
            checkpoint = checkpoint_to_resume(folder, record, facts.world_digest, config)
        record |= {"status": TRAINING, "memory": memory.to_json()}
        session = Session(folder, config, facts, record, progress=progress, commit=commit, rental=rental)
        _run(session, checkpoint, ray)
    return trained_model(folder, config, resumed=checkpoint is not None)


def trained_model(folder: RunFolder, config: TrainConfig, *, resumed: bool = True) -> TrainedModel:
    """Read the result of a run from its record; with `resumed`, including how its last session was resumed."""
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
        record=done,
    )


def _run(session: Session, checkpoint: Checkpoint | None, ray: str | None) -> None:
    """Train with the configured framework, and record how the session ended; a finished run stays finished."""
    session.write_record()
    try:
        if session.config.framework == "sb3":
            from mayavi.rl.sb3.trainer import train_with_sb3

            train_with_sb3(session.config, session, checkpoint)
        elif session.config.framework == "fast":
            from mayavi.rl.fast.trainer import train_with_fast

            train_with_fast(session.config, session, checkpoint)
        else:
            from mayavi.rl.rllib.trainer import train_with_rllib

            train_with_rllib(session.config, session, checkpoint, ray)
    except BaseException as error:
        if session.record["status"] != FINISHED:
            _record_end(session, error)
        raise
    finally:
        session.close()


def _record_end(session: Session, error: BaseException) -> None:
    """Record that `error` interrupted the training, or why it failed."""
    interrupted = isinstance(error, KeyboardInterrupt)
    session.record |= {"status": INTERRUPTED if interrupted else FAILED}
    if not interrupted:
        session.record["error"] = f"{type(error).__name__}: {error}"
    session.write_record()


def _new_folder(models: Path, run_id: str | None) -> RunFolder:
    folder = RunFolder(models / check_id(run_id or new_run_id()))
    if (folder.path / RECORD).exists():
        raise UsageError(f"run {folder.run_id} exists already", "`--resume` continues it")
    return folder


def _check_device(config: TrainConfig) -> None:
    """Raise `UsageError` for `cuda` without a GPU, which one framework would not survive and the other ignore."""
    import torch

    if config.device != "cuda" or torch.cuda.is_available():
        return
    reason = "" if torch.version.cuda else f": torch {torch.__version__} is built without CUDA"
    try:
        cuda_devices()
    except UsageError as error:
        reason = f": {error.message}"
    raise UsageError(
        f"device is 'cuda', and torch sees no GPU here{reason}",
        "`--device auto` uses a GPU if there is one, else the CPU",
    )


def _new_record(config: TrainConfig, recorded: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": TRAINING,
        "config": config.to_json() | dict(recorded),
        "versions": versions(config.framework, config.env),
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
