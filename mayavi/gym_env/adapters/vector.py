"""`gymnasium.vector.VectorEnv` for a batch of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.action_clipping import clip_actions
from mayavi.gym_env.adapters.autoreset import AutoresetRows
from mayavi.gym_env.rendering import MODES, checked_mode, rendered
from mayavi.gym_env.rows import Observations, RowsEnv

_MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class MayaviVectorEnv(VectorEnv[Any, Any, Any]):
    """N episodes, stepped by one kernel call.

    Row i of a batch seeded with s plays the episodes of a single environment seeded with s + i. `autoreset_mode` says
    when a finished row starts its next episode: `next_step` (the default; the next action of that row is ignored),
    `same_step` (the last observation and info are in `infos["final_obs"]` and `infos["final_info"]`) or `disabled`
    (`reset(options={"reset_mask": mask})`). `reset(options={"episode": numbers})` plays chosen episodes. With
    `exact_info` the infos hold the exact integers of every step. With `resumable` the state of all rows can be saved:
    `play.state()`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (gymnasium's own name; each batch has a copy with its mode)
        "render_modes": list(MODES),
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        env: RowsEnv[Any],
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        exact_info: bool = True,
        render_mode: str | None = None,
        resumable: bool = False,
    ) -> None:
        mode = _MODES.get(autoreset_mode) if isinstance(autoreset_mode, str) else autoreset_mode
        if mode is None and isinstance(autoreset_mode, str):  # gymnasium's own values, such as "NextStep"
            mode = next((each for each in AutoresetMode if each.value == autoreset_mode), None)
        if mode is None:
            raise UsageError(f"autoreset mode '{autoreset_mode}' is not known", f"take one of {', '.join(_MODES)}")
        self.env, self.autoreset_mode, self.exact_info = env, mode, exact_info
        self.render_mode = checked_mode(env, render_mode)
        self.metadata = {**type(self).metadata, "render_modes": list(env.render_modes), "autoreset_mode": mode}
        self.num_envs = env.rows
        self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
        self.observation_space = batch_space(env.observation_space, env.rows)
        self.action_space = batch_space(env.action_space, env.rows)
        self.play = AutoresetRows(env, resumable=resumable)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start episodes in all rows, or in those of `options["reset_mask"]`."""
        self.play.seed(seed)
        options = dict(options or {})
        mask = np.asarray(options.pop("reset_mask", np.ones(self.num_envs)), dtype=np.bool_)
        chosen = options.pop("episode", None)
        if options:
            raise UsageError(f"reset has no option '{next(iter(options))}'", "it has episode and reset_mask")
        if mask.shape != (self.num_envs,):
            raise UsageError(
                f"reset_mask has the shape {mask.shape}", f"give one truth value for each of {self.num_envs} rows"
            )
        self.play.begin(
            mask, None if chosen is None else np.broadcast_to(np.asarray(chosen), (self.num_envs,))[mask].tolist()
        )
        return self.env.observe(), self._infos(mask)

    def step(
        self, actions: Any
    ) -> tuple[Observations, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step all rows."""
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and self.play.over.any():
            return self._step_after_ends(actions)
        if self.play.over.any():
            raise UsageError("an episode is over", "reset its row: reset(options={'reset_mask': mask})")
        stepped = self.play.step(actions)
        observations, done = stepped.observations, stepped.done
        infos = self._infos(np.ones(self.num_envs, dtype=np.bool_))
        if self.autoreset_mode is AutoresetMode.SAME_STEP and done.any():
            ends = {
                "final_obs": _objects(observations, done),
                "_final_obs": done,
                "final_info": _with_masks(infos, done),
            }
            self.play.begin(done)
            observations = np.where(done[:, None], self.env.observe(), observations)
            infos = self._infos(np.ones(self.num_envs, dtype=np.bool_)) | ends | {"_final_info": done}
        return observations, stepped.rewards, stepped.terminated, stepped.truncated, infos

    def _step_after_ends(self, actions: Any) -> tuple[Any, ...]:
        """Reset the rows that are over; the others act."""
        over = self.play.over.copy()
        clip_actions(self.single_action_space, actions, ~over)  # before anything changes: bad ones are refused
        self.play.begin(over)
        none = np.zeros(self.num_envs, dtype=np.bool_)
        if over.all():
            return self.env.observe(), np.zeros(self.num_envs), none, none.copy(), self._infos(over)
        stepped = self.play.step(actions, ~over)
        return stepped.observations, stepped.rewards, stepped.terminated, stepped.truncated, self._infos(~none)

    def _infos(self, present: NDArray[np.bool_]) -> dict[str, Any]:
        if not self.exact_info:
            return {}
        infos: dict[str, Any] = {}
        for name, values in self.env.exact().items():
            parts = self.env.info_names.get(name)
            infos[name] = _objects_of(values) if parts is None else _by_part(values, parts, present)
            infos[f"_{name}"] = present
        for name, column in _counters(self.env).items():
            infos |= {name: column, f"_{name}": present}
        return infos

    def render(self) -> Any:
        """Render every row."""
        return tuple(rendered(self.env, row, self.render_mode) for row in range(self.num_envs))


def row_infos(env: RowsEnv[Any]) -> dict[str, NDArray[Any]]:
    """Info columns of all rows: exact figures, lists by name where they have names, episode, step, clipped actions."""
    infos: dict[str, NDArray[Any]] = {}
    for name, values in env.exact().items():
        parts = env.info_names.get(name)
        infos[name] = _objects_of(values if parts is None else [dict(zip(parts, each, strict=True)) for each in values])
    return infos | _counters(env)


def _counters(env: RowsEnv[Any]) -> dict[str, NDArray[Any]]:
    return {"episode_number": env.episodes.copy(), "step": env.steps.copy(), "clipped_actions": env.clipped.copy()}


def _objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """Column of Python objects; a value may be a list, which stays one."""
    return np.fromiter(values, dtype=object, count=len(values))


def _by_part(values: Sequence[Sequence[Any]], parts: Sequence[str], present: NDArray[np.bool_]) -> dict[str, Any]:
    """Columns of a figure with named parts, nested as Gymnasium's own batches nest them."""
    columns: dict[str, Any] = {}
    for part, column in zip(parts, zip(*values, strict=True), strict=True):
        columns[part] = np.array(column)
        columns[f"_{part}"] = present
    return columns


def _with_masks(infos: dict[str, Any], present: NDArray[np.bool_]) -> dict[str, Any]:
    """Copy of `infos` whose masks are `present`."""
    return {
        name: present if name.startswith("_") else _with_masks(values, present) if isinstance(values, dict) else values
        for name, values in infos.items()
    }


def _objects(values: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
    column = np.full(len(values), None, dtype=object)
    for row in np.flatnonzero(present):
        column[row] = values[row].copy()
    return column
