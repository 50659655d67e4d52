"""Training and judging policies: one configuration for both frameworks, runs that can be resumed, evaluation.

from mayavi.rl.config import TrainConfig
from mayavi.rl.training import train

trained = train(TrainConfig(env="aave", timesteps=50_000, seed=1))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mayavi.rl.yield_optimizer import PPOYieldOptimizer

__all__ = ["PPOYieldOptimizer"]


def __getattr__(name: str) -> Any:
    """What the package gives itself, imported when it is asked for: `import mayavi.rl` stays light."""
    if name == "PPOYieldOptimizer":
        from mayavi.rl.yield_optimizer import PPOYieldOptimizer

        return PPOYieldOptimizer
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
