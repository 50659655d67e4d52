"""What a training will hold in the memory of its device, worked out before anything is started.

Counted are the weights, their gradients and the two moments of Adam; the batch; and what a minibatch leaves in the
layers between forward and backward. What the driver takes for itself is not: leave it room.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mayavi.errors import MemoryCeiling, UsageError

if TYPE_CHECKING:
    from mayavi.rl.config import TrainConfig

VARIABLE = "MAYAVI_LOCAL_GPU_MEM_GB_CEILING"
DEFAULT_GB = 4.0
_FLOAT = 4
_GB = 10**9


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on the device, and what they are for; `replay_bytes` stay in the memory of the machine."""

    parameters: int
    model_bytes: int
    batch_bytes: int
    activation_bytes: int
    replay_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All that is on the device."""
        return self.model_bytes + self.batch_bytes + self.activation_bytes

    def told(self) -> str:
        """The figures in a line."""
        parts = (("model", self.model_bytes), ("batch", self.batch_bytes), ("activations", self.activation_bytes))
        return ", ".join(f"{name} {gigabytes(each)}" for name, each in parts)

    def to_json(self) -> dict[str, int]:
        """For programs."""
        return {
            "parameters": self.parameters,
            "model_bytes": self.model_bytes,
            "batch_bytes": self.batch_bytes,
            "activation_bytes": self.activation_bytes,
            "replay_bytes": self.replay_bytes,
            "total_bytes": self.total_bytes,
        }


def ceiling_gb() -> float:
    """The most that a training may hold on this machine's device, in GB (10⁹ bytes)."""
    written = os.environ.get(VARIABLE, "").strip()
    if not written:
        return DEFAULT_GB
    try:
        value = float(written)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{VARIABLE} is '{written}'", "give gigabytes, such as 4.0")
    return value


def estimate(config: TrainConfig, observations: int, actions: int, *, discrete: bool) -> MemoryEstimate:
    """What training on `observations` numbers and `actions` (choices, or numbers) takes."""
    widths = list(config.network)
    if config.algorithm == "ppo":
        rows, sequences = config.batch_size, config.minibatch_size
        towers = [(widths, actions), (widths, 1)]
        extra = 0 if discrete else actions  # the deviations
        networks = 1
        lstm = _lstm(config, observations) if config.recurrent else 0
        row_floats = observations + (1 if discrete else actions) + 6  # log-probability, value, return, advantage …
    else:
        rows = sequences = config.minibatch_size
        lstm = extra = 0
        row_floats = 2 * observations + (1 if discrete else actions) + 2
        if config.algorithm == "dqn":
            towers, networks = [(widths, actions)], 2  # with its target
        else:
            towers, networks = [(widths, 2 * actions), *[(widths, 1)] * 4], 1  # actor, two critics, two targets
    inputs = [config.lstm_size if config.recurrent else observations] * len(towers)
    if config.algorithm == "sac":
        inputs = [observations, *[observations + actions] * 4]
    parameters = networks * sum(_mlp(first, *tower) for first, tower in zip(inputs, towers, strict=True)) + lstm + extra
    activations = sequences * sum(
        first + 2 * sum(hidden) + last for first, (hidden, last) in zip(inputs, towers, strict=True)
    )
    if config.recurrent:
        activations += sequences * 12 * config.lstm_size
    replay = 0 if config.algorithm == "ppo" else config.buffer_size * row_floats * _FLOAT
    return MemoryEstimate(
        parameters=parameters,
        model_bytes=4 * _FLOAT * parameters,
        batch_bytes=_FLOAT * rows * row_floats,
        activation_bytes=2 * _FLOAT * activations,
        replay_bytes=replay,
    )


def check_ceiling(found: MemoryEstimate) -> None:
    """`MemoryCeiling` with the figures where the estimate is above the ceiling."""
    ceiling = ceiling_gb()
    if found.total_bytes > ceiling * _GB:
        raise MemoryCeiling(
            f"this training needs {gigabytes(found.total_bytes)} ({found.told()}; {found.parameters:,} parameters), "
            f"and may take {ceiling:g} GB",
            f"smaller: network, num_envs × rollout_steps, minibatch_size; or raise {VARIABLE}",
        )


def gigabytes(count: int) -> str:
    """`3.2 GB`, `14.1 MB`, `0.6 MB`."""
    return f"{count / _GB:,.1f} GB" if count >= _GB / 10 else f"{count / 1e6:,.1f} MB"


def _mlp(first: int, hidden: list[int], last: int) -> int:
    sizes = [first, *hidden, last]
    return sum(a * b + b for a, b in zip(sizes, sizes[1:], strict=False))


def _lstm(config: TrainConfig, observations: int) -> int:
    size = config.lstm_size
    one = 4 * size * (observations + size + 2)
    return 2 * one  # SB3 keeps one for the policy and one for the value
