"""Choose where a training runs: on this machine or on Modal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mayavi.errors import UnknownName, UsageError
from mayavi.evm.specialise import specialised
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.progress import Progress
from mayavi.rl.training.train import TrainedModel, train

VARIABLE = "MAYAVI_RL_BACKEND"
LOCAL, MODAL = "local", "modal"
BACKENDS = (LOCAL, MODAL)


def chosen_backend(remote: str | None = None) -> str:
    """Backend named by `remote`, else by MAYAVI_RL_BACKEND, else `local`."""
    if remote is not None:
        if remote not in BACKENDS:
            raise UnknownName.of("remote", remote, BACKENDS, "use modal, or local for this machine")
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
    run_id: str | None = None,
    progress: Progress | None = None,
    ray: str | None = None,
    begun: Callable[[str], None] | None = None,
    say: Callable[[str], None] = print,
    specialise: str | None = None,
) -> TrainedModel:
    """Train `config` on `backend`; the run is stored in `models` on this machine.

    `run_id` is the id of a new run. `say` receives messages for the user, such as the maximum cost before anything is
    spent. `specialise` is that of `train`.
    """
    if backend == MODAL:
        from mayavi.rl.modal.training import train_on_modal

        if ray is not None:
            raise UsageError("a training runs on a Ray cluster or on Modal, not on both", "leave --ray or --remote out")
        with specialised(specialise):
            return train_on_modal(
                config, models=models, resume=resume, run_id=run_id, progress=progress, begun=begun, say=say
            )
    return train(
        config,
        models=models,
        resume=resume,
        run_id=run_id,
        progress=progress,
        ray=ray,
        begun=begun,
        specialise=specialise,
    )
