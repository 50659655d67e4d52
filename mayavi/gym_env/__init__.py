"""Gymnasium environments on real contracts, and a portfolio environment. Importing this package registers them.

```python
import gymnasium, mayavi.gym_env

env = gymnasium.make("mayavi/AaveBorrower-v0", split="train")
env = mayavi.gym_env.AaveBorrowerEnv(split="train")
envs = gymnasium.make_vec("mayavi/AaveBorrower-v0", 64, vectorization_mode="vector_entry_point")
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mayavi.errors import SetupError
from mayavi.setup_errors import RL_HINT

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise SetupError("environments need gymnasium, which is not installed", RL_HINT) from error

from mayavi.gym_env.registry import ENVS, entry, make_rows, make_single, make_vector, plugin_entries

if TYPE_CHECKING:
    from mayavi.gym_env.adapters.cuda import CudaVectorEnv, make_cuda
    from mayavi.gym_env.environments import (
        AaveBorrowerEnv,
        AaveBorrowerShockEnv,
        AaveLiquidatorEnv,
        CompoundV3BorrowerEnv,
        VestingEnv,
    )
    from mayavi.gym_env.market.env import AaveMarketEnv

__all__ = [
    "ENVS",
    "AaveBorrowerEnv",
    "AaveBorrowerShockEnv",
    "AaveLiquidatorEnv",
    "AaveMarketEnv",
    "CompoundV3BorrowerEnv",
    "CudaVectorEnv",
    "VestingEnv",
    "entry",
    "make_cuda",
    "make_rows",
    "make_single",
    "make_vector",
]

for _each in (*ENVS.values(), *plugin_entries()):
    gymnasium.register(
        _each.id,
        entry_point="mayavi.gym_env.registry:make_single",
        vector_entry_point="mayavi.gym_env.registry:make_vector",
        kwargs={"name": _each.name},
    )


def __getattr__(name: str) -> Any:
    """Import the class of an environment, or the modules for rows on a GPU, on first use."""
    if name in {"CudaVectorEnv", "make_cuda"}:
        return getattr(import_module("mayavi.gym_env.adapters.cuda"), name)
    if name == "AaveMarketEnv":
        return import_module("mayavi.gym_env.market.env").AaveMarketEnv
    for each in ENVS.values():
        if each.single.endswith(f":{name}"):
            return each.load_single()
    raise AttributeError(f"module 'mayavi.gym_env' has no attribute '{name}'")
