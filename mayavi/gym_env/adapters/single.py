"""`gymnasium.Env` for a batch of one row."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from mayavi.errors import UsageError
from mayavi.gym_env.action_checks import numeric_action
from mayavi.gym_env.adapters.vector import row_infos
from mayavi.gym_env.episodes import next_episode
from mayavi.gym_env.rendering import MODES, checked_mode, rendered
from mayavi.gym_env.rows import Observations, RowsEnv


class MayaviEnv(gymnasium.Env[Observations, Any]):
    """Single environment. `reset(options={"episode": 17})` plays a chosen episode; `info` holds the exact integers.

    An action out of range is clipped and counted in `info["clipped_actions"]`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (gymnasium's own name; each environment has a copy with its modes)
        "render_modes": list(MODES),
        "render_fps": 4,
    }

    def __init__(self, env: RowsEnv[Any], *, render_mode: str | None = None) -> None:
        self.env, self.render_mode = env, checked_mode(env, render_mode)
        self.metadata = {**type(self).metadata, "render_modes": list(env.render_modes)}
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._printed: tuple[int, int] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start the next episode, or the one of `options["episode"]`."""
        super().reset(seed=seed)
        options = dict(options or {})
        chosen = options.pop("episode", None)
        if options:
            raise UsageError(f"reset has no option '{next(iter(options))}'", "it has episode")
        self.env.begin([0], [next_episode(self.np_random) if chosen is None else chosen])
        self._printed = None
        self._print()
        return self.env.observe()[0], self._info()

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Play `action`."""
        stepped = self.env.step(numeric_action(self.action_space, action)[None])
        self._print()
        outcome = float(stepped.rewards[0]), bool(stepped.terminated[0]), bool(stepped.truncated[0])
        return (stepped.observations[0], *outcome, self._info())

    def _info(self) -> dict[str, Any]:
        return {name: _plain(values[0]) for name, values in row_infos(self.env).items()}

    def render(self) -> Any:
        """Render the figures as text or the episode as a picture; `human` prints a line on each step instead."""
        if self.render_mode == "human":
            return self._print()
        return rendered(self.env, 0, self.render_mode)

    def _print(self) -> None:
        """With `human`, print a line once for each step."""
        now = int(self.env.episodes[0]), int(self.env.steps[0])
        if self.render_mode == "human" and self._printed != now:
            rendered(self.env, 0, "human")
            self._printed = now


class Integer(int):
    """Exact integer in an info; gymnasium's vector environments would store a plain `int` in 64 bits."""

    __slots__ = ()


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return Integer(value) if type(value) is int else value
