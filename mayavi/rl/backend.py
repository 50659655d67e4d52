"""Where a training runs: on this machine, or on Modal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mayavi.errors import SetupError, UnknownName
from mayavi.rl.config import TrainConfig
from mayavi.rl.progress import Progress
from mayavi.rl.training import TrainedModel, train

VARIABLE = "MAYAVI_RL_BACKEND"
LOCAL, MODAL = "local", "modal"
BACKENDS = (LOCAL, MODAL)


def chosen_backend(remote: str | None = None) -> str:
    """What `--remote` says, else MAYAVI_RL_BACKEND, else `local`."""
    if remote is not None:
        if remote != MODAL:
            raise UnknownName.of("remote", remote, [MODAL], "trainings go to modal")
        return remote
    named = os.environ.get(VARIABLE, "").strip() or LOCAL
    if named not in BACKENDS:
        raise UnknownName.of(f"backend in {VARIABLE}", named, BACKENDS, f"there are {', '.join(BACKENDS)}")
    return named


def train_on(
    backend: str,
    config: TrainConfig,
    *,
    models: Path | None = None,
    resume: str | None = None,
    progress: Progress | None = None,
    ray: str | None = None,
    begun: Callable[[str], None] | None = None,
) -> TrainedModel:
    """Train `config` there; what comes of it is in `models` here."""
    if backend == MODAL:
        raise SetupError("this mayavi cannot train on Modal yet", "leave --remote out")
    return train(config, models=models, resume=resume, progress=progress, ray=ray, begun=begun)
