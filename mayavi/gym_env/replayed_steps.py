"""Play an environment with random actions, to see which of its transactions are replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.evm.fleet import Fleet
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.registry import make_rows
from mayavi.gym_env.rows import RowsEnv

ROWS = 64


def play_randomly(
    name: str,
    steps: int,
    config: Mapping[str, object] | None = None,
    *,
    source: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fleet:
    """Take at least `steps` random steps over all rows of environment `name`, and return its fleet.

    Every path that is taken often is compiled by then. `progress(done, steps)` is called after each step of all rows.
    `UsageError` if the environment stands on no chain.
    """
    env = make_rows(name, ROWS, config=config, source=source)
    if not isinstance(env, ChainRowsEnv):
        raise UsageError(f"'{name}' stands on no chain, and replays no transaction", "choose an environment on one")
    if env.fleet.specialise == "off":
        raise UsageError("transactions are not replayed", "unset MAYAVI_SPECIALISE, or give on")
    rng, number = np.random.default_rng(0), env.rows
    env.begin(range(env.rows), range(env.rows))
    for done in range(0, steps, env.rows):
        env.step(_drawn(env, rng))
        if progress is not None:
            progress(min(done + env.rows, steps), steps)
        over = np.flatnonzero((env.steps >= env.config.horizon) | ~env.acting().any(axis=1))
        if over.size:
            env.begin(over, range(number, number + over.size))
            number += over.size
    env.fleet.finish_compiling()
    return env.fleet


def _drawn(env: RowsEnv[Any], rng: np.random.Generator) -> Any:
    def of(space: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        if hasattr(space, "n"):
            return rng.integers(space.n, size=shape)
        return rng.uniform(space.low, space.high, (*shape, *space.shape))

    if env.multi_agent:
        return {role.name: of(role.action_space, (env.rows, role.agents)) for role in env.roles}
    return of(env.action_space, (env.rows,))
