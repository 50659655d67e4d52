"""Load the policy of a checkpoint, whichever framework trained it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.rl.config import TrainConfig
from mayavi.rl.training_runs.checkpoints import Checkpoint

if TYPE_CHECKING:
    from mayavi.rl.policy import Policy


def load_policy(config: TrainConfig, checkpoint: Checkpoint, role: str | None = None) -> Policy:
    """Load a policy on the CPU, with its observation statistics. Loading seeds the global random generators."""
    if config.framework == "sb3":
        from mayavi.rl.sb3.policy import load_sb3_policy

        policy = load_sb3_policy(config, checkpoint)
    elif config.framework == "fast":
        from mayavi.rl.fast.policy import load_fast_policy

        policy = load_fast_policy(config, checkpoint)
    else:
        from mayavi.rl.rllib.policy import load_rllib_policy

        policy = load_rllib_policy(config, checkpoint, role)
    if config.normalises:
        from mayavi.rl.training.normaliser import Normaliser

        policy.normaliser = Normaliser.read(checkpoint.path)
    return policy
