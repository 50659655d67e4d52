"""Gymnasium environments on real contracts, and a portfolio environment. Importing this package registers them.

import gymnasium, mayavi.gym_env

env = gymnasium.make("mayavi/AaveBorrower-v0", split="train")
envs = gymnasium.make_vec("mayavi/AaveBorrower-v0", 64, vectorization_mode="vector_entry_point")
"""

from __future__ import annotations

from mayavi.errors import SetupError

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise SetupError(
        "environments need gymnasium, which is not installed", "`pip install 'mayavi-sim[rl]'` installs it"
    ) from error

from mayavi.gym_env.registry import ENVS, entry, make_rows, make_single, make_vector

__all__ = ["ENVS", "entry", "make_rows", "make_single", "make_vector"]

for _each in ENVS.values():
    gymnasium.register(
        _each.id,
        entry_point="mayavi.gym_env.registry:make_single",
        vector_entry_point="mayavi.gym_env.registry:make_vector",
        kwargs={"name": _each.name},
    )
