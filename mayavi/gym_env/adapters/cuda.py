"""`gymnasium.vector.VectorEnv` for rows on a GPU: tensors that never leave it, and NumPy on top.

```python
from mayavi.gym_env import make_cuda

envs = make_cuda("aave", 65_536, split="train")
observations, _ = envs.reset_tensors()
stepped = envs.step_tensors(actions)        # an int64 tensor on the GPU, or anything with `__dlpack__`
stepped.observations, stepped.rewards, stepped.terminated
```
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from mayavi.errors import BadArgument, SetupError, UsageError
from mayavi.evm.devices import check_device_name
from mayavi.gym_env.action_clipping import clip_actions
from mayavi.gym_env.adapters.tensor_rows import TensorRows, import_torch, open_tensor_rows, table_of
from mayavi.gym_env.adapters.vector import MayaviVectorEnv
from mayavi.gym_env.configuration import EnvConfig, configured
from mayavi.gym_env.device.kinds import PROCESSOR, whole_environment
from mayavi.gym_env.device.whole_numbers import whole_number
from mayavi.gym_env.registry import check_single_agent, chosen_world, entry, make_vector, named_world, split_name
from mayavi.gym_env.rows import Observations
from mayavi.numerics.streams import stream
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    import torch

TABLE = 65_536
"""Episodes that rows play in turn, unless there are more rows."""


class TensorStep(NamedTuple):
    """Tensors after a step, over the memory of the device: the next step overwrites them."""

    observations: torch.Tensor
    """Of the new episode where one has just begun."""
    rewards: torch.Tensor
    terminated: torch.Tensor
    truncated: torch.Tensor
    final_observations: torch.Tensor
    """Before any new episode began."""


class CudaVectorEnv(VectorEnv[Any, Any, Any]):
    """N episodes on a device. A row whose episode ends starts its next one in the same step.

    `step_tensors` takes and returns tensors of the device and copies nothing. `step` does the same with NumPy arrays;
    its infos hold `final_obs` and `_final_obs` where an episode ended. Row r plays the entries r, r + N, r + 2 · N, …
    of a table of episodes, modulo its length. A reset starts with the first of them again; with another `seed` it draws
    another table, opens it, and replaces all tensors.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (gymnasium's own name)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self, rows: TensorRows, *, seed: int | None = None, reopen: Callable[[int], TensorRows] | None = None
    ) -> None:
        self.rows, self.num_envs, self.render_mode = rows, rows.rows, None
        self._seed, self._reopen, self._begun = seed, reopen, False
        self.single_observation_space, self.single_action_space = rows.observation_space, rows.action_space
        self.observation_space = batch_space(rows.observation_space, rows.rows)
        self.action_space = batch_space(rows.action_space, rows.rows)

    @property
    def torch_device(self) -> torch.device:
        """Where the tensors are."""
        return self.rows.torch_device

    def reset_tensors(self, *, seed: int | None = None) -> tuple[torch.Tensor, dict[str, Any]]:
        """Start episodes in all rows; returns their observations on the device."""
        if seed is not None and seed != self._seed:
            if self._reopen is None:
                raise UsageError(
                    "the episodes of these rows are those of their table, whatever the seed",
                    "leave the seed out, or make the environment with make_cuda",
                )
            self.rows.close()
            self.rows, self._seed = self._reopen(seed), seed
        self.rows.begin()
        self._begun = True
        return self.rows.observations, {}

    def step_tensors(self, actions: Any) -> TensorStep:
        """Step all rows. `actions` are clipped to the bounds of the action space, and not checked otherwise."""
        torch = import_torch()
        if not self._begun:
            raise UsageError("no episode has begun", "call reset first")
        rows, space = self.rows, self.single_action_space
        shape = " × ".join(map(str, self.action_space.shape or ()))
        if not hasattr(actions, "__dlpack__"):
            raise BadArgument(
                f"the actions are of the type {type(actions).__name__}",
                f"give a tensor of {shape} on {rows.torch_device}, or anything with `__dlpack__`; step takes lists",
            )
        if not isinstance(actions, torch.Tensor):
            actions = torch.from_dlpack(actions)
        if actions.shape != self.action_space.shape:
            raise UsageError(f"the actions have the shape {tuple(actions.shape)}", f"give {shape}")
        if actions.device != rows.observations.device:
            raise UsageError(
                f"the actions are on {actions.device}, and the rows on {rows.torch_device}",
                "move them there, or call step with an array",
            )
        rows.step(self._within_bounds(torch, space, actions))
        return TensorStep(rows.observations, rows.rewards, rows.terminated, rows.truncated, rows.final_observations)

    def _within_bounds(self, torch: Any, space: Any, actions: Any) -> Any:
        if hasattr(space, "n"):
            return actions.to(torch.int64).clamp(int(space.start), int(space.start) + int(space.n) - 1)
        low, high = (torch.as_tensor(each, device=actions.device) for each in (space.low, space.high))
        return actions.to(torch.float32).clamp(low, high)

    # -- NumPy --------------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start episodes in all rows; a seed for each row is refused, as are options."""
        if options:
            raise UsageError(f"reset has no option '{next(iter(options))}' on a device", "leave the options out")
        if seed is not None and not isinstance(seed, int | np.integer):
            raise UsageError("rows on a device have one seed", "give one number")
        return _array(self.reset_tensors(seed=None if seed is None else int(seed))[0]), {}

    def step(
        self, actions: Any
    ) -> tuple[Observations, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step all rows, with arrays that are copied to and from the device."""
        torch = import_torch()
        given = np.asarray(actions)
        clip_actions(self.single_action_space, given, np.ones(self.num_envs, dtype=np.bool_))  # bad ones are refused
        stepped = self.step_tensors(torch.as_tensor(given.copy(), device=self.torch_device))
        terminated, truncated = _array(stepped.terminated), _array(stepped.truncated)
        infos: dict[str, Any] = {}
        if (done := terminated | truncated).any():
            infos = {"final_obs": _array(stepped.final_observations), "_final_obs": done}
        return _array(stepped.observations), _array(stepped.rewards), terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Release the device's memory."""
        self.rows.close()


def make_cuda(
    name: str,
    num_envs: int = TABLE,
    *,
    device: str = "cuda",
    seed: int = 0,
    table: int | None = None,
    config: Mapping[str, object] | EnvConfig | None = None,
    world: WorldSource | str | None = None,
    source: str | None = None,
    fallback: bool = False,
    **settings: Any,
) -> CudaVectorEnv | MayaviVectorEnv:
    """Make an environment with `num_envs` episodes on a GPU; `settings` are those of the environment.

    `seed` draws the numbers of the `table` episodes that the rows play in turn, by default 65,536 or one for each row.
    `device` is `cuda`, `cuda:1`, … or `emulated`, which is slow and needs no GPU. If the environment cannot run there,
    `UsageError` says why; with `fallback` a warning does, and the environment is `make_vector`'s on the processor.
    Misuse, such as a device of no known name, is an error even then.
    """
    _check_single_agent(name)
    check_device_name(device, processor=PROCESSOR)
    whole_number("num_envs", num_envs, 1)
    if table is not None:
        whole_number("table", table, 1, hint=f"left out it is {TABLE:,}, or num_envs if that is more")
    chosen: dict[str, Any] = {"config": config, "source": source, "world": world, **settings}
    plain, named = split_name(name)
    if isinstance(world, str):
        world, chain = named_world(world)
        settings = {"chain": chain, **settings}
    settled = configured(entry(plain).load().config_type, config, named | settings)
    found: Any = chosen_world(world, source)

    def open_rows(drawn: int) -> TensorRows:
        episodes = table_of(stream(drawn, "episodes of rows on a device"), table or max(TABLE, num_envs))
        return open_tensor_rows(plain, settled, num_envs, episodes, device, found)

    try:
        return CudaVectorEnv(open_rows(seed), seed=seed, reopen=open_rows)
    except (UsageError, SetupError) as error:
        if not fallback:
            raise
        warnings.warn(f"'{plain}' runs on the processor: {error.message}", stacklevel=2)
        return make_vector(name, num_envs=num_envs, autoreset_mode="same_step", exact_info=False, **chosen)


def _check_single_agent(name: str) -> None:
    """Raise `UsageError` if an environment has several agents: with the reason why no device runs it."""
    try:
        check_single_agent(name)
    except UsageError as error:
        try:
            whole_environment(entry(name).load())
        except UsageError as why:
            message = f"{why.message}; make_vector cannot have it either, because it has several agents"
            raise UsageError(message, error.hint) from None
        raise


def _array(values: torch.Tensor) -> NDArray[Any]:
    return np.array(values.cpu().numpy())
