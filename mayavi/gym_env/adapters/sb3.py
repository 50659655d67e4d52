"""stable-baselines3 `VecEnv` for a batch of rows.

```python
from mayavi.gym_env.adapters.sb3 import make_sb3

model = PPO("MlpPolicy", make_sb3("aave", 64), seed=1)
```
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SetupError, UsageError
from mayavi.gym_env.adapters.autoreset import AutoresetRows
from mayavi.gym_env.adapters.vector import row_infos
from mayavi.gym_env.registry import check_single_agent, make_rows
from mayavi.gym_env.rows import Observations, RowsEnv
from mayavi.setup_errors import RL_HINT

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise SetupError(f"this needs {error.name}, which is not installed", RL_HINT) from error

Indices = int | Iterable[int] | None


def make_sb3(
    name: str, rows: int = 1, *, exact_info: bool = False, resumable: bool = False, **settings: Any
) -> RowsVecEnv:
    """Make an environment with a batch of `rows` episodes; `settings` are those of `make_rows`."""
    check_single_agent(name)
    return RowsVecEnv(make_rows(name, rows, **settings), exact_info=exact_info, resumable=resumable)


class RowsVecEnv(VecEnv):  # type: ignore[misc]
    """Rows of `env` for stable-baselines3. One kernel call steps all of them.

    A row whose episode ends starts its next one in the same step. Its info then holds `terminal_observation`,
    `TimeLimit.truncated` and, unrounded, the `episode` of `Monitor` with `r`, `l` and `t`. With `exact_info` every info
    holds the exact integers too, which costs time. `set_options({"episode": 17})` chooses the episode of the next
    reset. With `resumable`, `state()` and `restore(state)` resume a training exactly where it stopped.
    """

    def __init__(
        self,
        env: RowsEnv[Any],
        *,
        exact_info: bool = False,
        render_mode: str | None = None,
        resumable: bool = False,
    ) -> None:
        self.env, self.play, self.exact_info = env, AutoresetRows(env, resumable=resumable), exact_info
        self._shown = render_mode
        self._began = time.time()
        self._actions: NDArray[Any] = np.zeros(0)
        super().__init__(env.rows, env.observation_space, env.action_space)

    def reset(self) -> Observations:
        """Start an episode in every row."""
        self.play.seed(self._seeds)
        for options in self._options:
            unknown = next((name for name in options if name != "episode"), None)
            if unknown is not None:
                raise UsageError(f"reset has no option '{unknown}'", "it has episode")
        chosen = [options.get("episode") for options in self._options]
        self._reset_seeds()
        self._reset_options()
        self.play.begin(np.ones(self.num_envs, dtype=np.bool_), chosen)
        self.reset_infos = self._infos()
        observations: Observations = self.env.observe()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions for the next `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Observations, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Step all rows."""
        stepped = self.play.step(self._actions)
        observations, done, infos = stepped.observations, stepped.done, self._infos()
        rewards = stepped.rewards.astype(np.float32)
        if done.any():
            self._add_ends(infos, stepped.observations, stepped.truncated, np.flatnonzero(done))
            self.play.begin(done)
            observations = np.where(done[:, None], self.env.observe(), observations)
            if self.exact_info:
                for row, info in zip(np.flatnonzero(done), np.asarray(self._infos(), dtype=object)[done], strict=True):
                    self.reset_infos[row] = info
        return observations, rewards, done, infos

    def _add_ends(
        self, infos: list[dict[str, Any]], last: Observations, truncated: NDArray[np.bool_], rows: NDArray[np.intp]
    ) -> None:
        seconds = round(time.time() - self._began, 6)
        for row in rows.tolist():
            episode = {"r": float(self.play.returns[row]), "l": int(self.env.steps[row]), "t": seconds}
            infos[row] |= {
                "terminal_observation": last[row].copy(),
                "TimeLimit.truncated": bool(truncated[row]),
                "episode": episode,
            }

    def _infos(self) -> list[dict[str, Any]]:
        if not self.exact_info:
            return [{} for _ in range(self.num_envs)]
        columns = row_infos(self.env)
        return [{name: values[row] for name, values in columns.items()} for row in range(self.num_envs)]

    # -- resuming -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State of all rows with their RNGs, as JSON data; needs `resumable`."""
        return self.play.state()

    def restore(self, state: Mapping[str, Any]) -> Observations:
        """Resume from a saved `state`; returns the observations."""
        self.play.restore(state)
        observations: Observations = self.env.observe()
        return observations

    # -- other methods of `VecEnv` ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing to release."""

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Attribute of the environment, repeated for each row."""
        value = self._shown if attr_name == "render_mode" else getattr(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Raises `UsageError`: rows share their settings."""
        raise UsageError(f"'{attr_name}' cannot be set on rows", "give it as a setting when the environment is made")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method for rows; `render` is the only one."""
        if method_name != "render":
            raise AttributeError(f"rows have no method '{method_name}' of their own")
        from mayavi.gym_env.rendering import rendered

        return [rendered(self.env, row, self._shown) for row in self._get_indices(indices)]

    def get_images(self) -> list[Any]:
        """A picture of each row."""
        return self.env_method("render")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """True for `Monitor` alone: infos hold its `episode`."""
        return [issubclass(Monitor, wrapper_class) for _ in self._get_indices(indices)]
