"""Rows whose observations, rewards and ends are tensors on a device: their interface, and how they are opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SetupError, UsageError
from mayavi.evm.devices import check_device_name, check_specialised, cuda_devices
from mayavi.gym_env.registry import entry
from mayavi.setup_errors import RL_HINT

if TYPE_CHECKING:
    import torch
    from gymnasium import spaces

    from mayavi.gym_env.configuration import EnvConfig
    from mayavi.worlds.source import WorldSource


class TensorRows(Protocol):
    """Rows on a device that play the episodes of a table.

    The tensors are views of the device's memory, the same for the life of the rows. Row r plays the entries r,
    r + rows, r + 2 · rows, … of the table, modulo its length.
    """

    rows: int
    config: Any
    observation_space: spaces.Box
    action_space: spaces.Space[Any]
    torch_device: torch.device
    observations: torch.Tensor
    """(rows, numbers) float32, of the present state; of the new episode where one has just begun."""
    final_observations: torch.Tensor
    """(rows, numbers) float32, after the last step and before any new episode."""
    rewards: torch.Tensor
    """(rows,) float64."""
    terminated: torch.Tensor
    truncated: torch.Tensor
    episodes: torch.Tensor
    """(rows,) int64: number of the episode that each row plays."""
    steps: torch.Tensor
    """(rows,) int64: steps taken in that episode."""
    left: int
    """Steps of single rows that the processor had to run so far."""

    def begin(self) -> None:
        """Start the first episode of every row."""

    def step(self, actions: torch.Tensor) -> None:
        """Play int64 (rows,) or float32 (rows, 1); rows whose episode ended start their next one."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Episodes of all rows and the actions so far, as arrays."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Resume from a `state()` of the same rows."""

    def close(self) -> None:
        """Release the device's memory."""


def open_tensor_rows(
    name: str, config: EnvConfig, rows: int, episodes: Sequence[int], device: str, world: WorldSource | None
) -> TensorRows:
    """Open rows of an environment on a device: `cuda`, `cuda:1`, … or `emulated`.

    `SetupError` without torch; `UsageError` without a driver, for too little memory, with `specialise` off, or if the
    environment does not run on a device, with the reason.
    """
    torch = import_torch()
    from mayavi.gym_env.device.kinds import PROCESSOR, whole_environment
    from mayavi.gym_env.device.rows import DeviceRows

    check_device_name(device, processor=PROCESSOR)
    whole_environment(entry(name).load())
    check_specialised()
    if device.startswith("cuda"):
        cuda_devices(PROCESSOR)
        if not torch.cuda.is_available():
            raise UsageError(
                f"torch {torch.__version__} sees no GPU, and the CUDA driver does", "install torch with CUDA support"
            )
    return DeviceRows(name, config, rows, episodes=episodes, device=device, world=world)


def import_torch() -> Any:
    """Import torch; `SetupError` if it is not installed."""
    try:
        return import_module("torch")
    except ModuleNotFoundError:
        raise SetupError("environments on a device need torch, which is not installed", RL_HINT) from None


def table_of(rng: np.random.Generator, count: int) -> list[int]:
    """Draw the numbers of `count` episodes, as rows on the processor draw theirs."""
    from mayavi.gym_env.episodes import next_episode

    return [next_episode(rng) for _ in range(count)]
