"""A batch of rows as a `VecEnv` of stable-baselines3, with nothing in between.

from mayavi.gym_env.adapters.sb3 import make_sb3

model = PPO("MlpPolicy", make_sb3("aave", 64), seed=1)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SetupError, UsageError
from mayavi.gym_env.adapters.autoreset import EndlessRows
from mayavi.gym_env.adapters.vector import row_infos
from mayavi.gym_env.registry import make_rows
from mayavi.gym_env.rows import Observations, RowsEnv

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise SetupError(
        f"this needs {error.name}, which is not installed", "`pip install 'mayavi-sim[rl]'` installs it"
    ) from error

Indices = int | Iterable[int] | None


def make_sb3(name: str, rows: int = 1, *, exact_info: bool = False, **settings: Any) -> RowsVecEnv:
    """`rows` episodes of an environment side by side; `settings` as `make_rows` takes them."""
    return RowsVecEnv(make_rows(name, rows, **settings), exact_info=exact_info)


class RowsVecEnv(VecEnv):  # type: ignore[misc]
    """The rows of `env` for stable-baselines3. All of them step in one kernel call.

    A row whose episode ends starts its next one in the same step. Its info then holds `terminal_observation`,
    `TimeLimit.truncated` and, unrounded, what `Monitor` would tell: `episode` with `r`, `l` and `t`. With `exact_info`
    every info holds the exact integers too, at a price. `set_options({"episode": 17})` chooses the episode of the next
    reset. `state()` and `restore(state)` let a training go on exactly where it stood.
    """

    def __init__(self, env: RowsEnv[Any], *, exact_info: bool = False, render_mode: str | None = None) -> None:
        self.env, self.play, self.exact_info = env, EndlessRows(env), exact_info
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
        return self.env.observe()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions of the next `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Observations, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Step all rows."""
        stepped = self.play.step(self._actions)
        observations, done, infos = stepped.observations, stepped.done, self._infos()
        rewards = stepped.rewards.astype(np.float32)
        if done.any():
            self._tell_ends(infos, stepped.observations, stepped.truncated, np.flatnonzero(done))
            self.play.begin(done)
            observations = np.where(done[:, None], self.env.observe(), observations)
            if self.exact_info:
                for row, info in zip(np.flatnonzero(done), np.asarray(self._infos(), dtype=object)[done], strict=True):
                    self.reset_infos[row] = info
        return observations, rewards, done, infos

    def _tell_ends(
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

    # -- to go on later -----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Where all rows stand, generators included, as plain data fit for JSON."""
        return self.play.state()

    def restore(self, state: Mapping[str, Any]) -> Observations:
        """Stand where the rows stood whose `state` that is, and say what they see there."""
        self.play.restore(state)
        return self.env.observe()

    # -- what stable-baselines3 asks besides --------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing is held that would not go by itself."""

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the environment, which its rows share."""
        value = self._shown if attr_name == "render_mode" else getattr(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Rows share what they are; nothing of it can be changed."""
        raise UsageError(f"'{attr_name}' cannot be set on rows", "give it as a setting when the environment is made")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """A method that is asked of a row; `render` is the one there is."""
        if method_name != "render":
            raise AttributeError(f"rows have no method '{method_name}' of their own")
        from mayavi.gym_env.rendering import rendered

        return [rendered(self.env, row, self._shown) for row in self._get_indices(indices)]

    def get_images(self) -> list[Any]:
        """A picture of each row."""
        return self.env_method("render")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """Nothing is wrapped, but `Monitor`'s `episode` is told all the same."""
        return [issubclass(Monitor, wrapper_class) for _ in self._get_indices(indices)]
