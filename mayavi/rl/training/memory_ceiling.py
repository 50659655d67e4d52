"""What a training will hold in the memory of its device, worked out before anything is started.

Counted are the weights, their gradients and the two moments of Adam; the batch; and what a minibatch leaves in the
layers between forward and backward. What the driver takes for itself is not: leave it room.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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


def estimate(config: TrainConfig, sizes: Sequence[tuple[int, int]], *, discrete: bool) -> MemoryEstimate:
    """What a training takes: for each policy, how many numbers it observes, and its choices or numbers of an action."""
    policies = [_policy(config, observations, actions, discrete) for observations, actions in sizes]
    return MemoryEstimate(
        parameters=sum(each.parameters for each in policies),
        model_bytes=sum(each.model_bytes for each in policies),
        batch_bytes=sum(each.batch_bytes for each in policies),
        activation_bytes=max(each.activation_bytes for each in policies),  # one after the other
        replay_bytes=sum(each.replay_bytes for each in policies),
    )


def _policy(config: TrainConfig, observations: int, actions: int, discrete: bool) -> MemoryEstimate:
    action = 1 if discrete else actions
    recurrent = 0
    if config.algorithm == "ppo":
        first = config.lstm_size if config.recurrent else observations
        towers = [(first, actions if discrete else 2 * actions), (first, 1)]
        rows, row = config.batch_size, observations + action + 6  # log-probability, value, return, advantage …
        if config.recurrent:  # a memory each for the policy and the value: before the layers, with RLlib behind them
            before = observations if config.framework == "sb3" else config.network[-1]
            recurrent = 2 * 4 * config.lstm_size * (before + config.lstm_size + 2)
    elif config.algorithm == "dqn":
        towers = [(observations, actions)] * 2  # with its target
        rows, row = config.minibatch_size, 2 * observations + action + 2
    else:
        towers = [(observations, 2 * actions), *[(observations + actions, 1)] * 4]  # actor, two critics, their targets
        rows, row = config.minibatch_size, 2 * observations + action + 2
    parameters = recurrent + sum(_mlp([first, *config.network, last]) for first, last in towers)
    if config.recurrent and config.framework == "rllib":
        parameters = recurrent + sum(
            _mlp([observations, *config.network]) + _mlp([config.lstm_size, last]) for _, last in towers
        )
    if config.algorithm == "sac" and config.framework == "rllib":
        parameters = _mlp([observations, *config.network, 2 * actions]) + 4 * _fused_critic(
            config, observations, actions
        )
    kept = sum(first + 2 * sum(config.network) + last for first, last in towers)
    if config.recurrent:
        kept += 2 * 6 * config.lstm_size
    return MemoryEstimate(
        parameters=parameters,
        model_bytes=4 * _FLOAT * parameters,  # the weights, their gradients, and what Adam remembers of both
        batch_bytes=_FLOAT * rows * row,
        activation_bytes=2 * _FLOAT * config.minibatch_size * kept,
        replay_bytes=0 if config.algorithm == "ppo" else _FLOAT * config.buffer_size * row,
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


def _mlp(widths: Sequence[int]) -> int:
    return sum((first + 1) * second for first, second in pairwise(widths))


def _fused_critic(config: TrainConfig, observations: int, actions: int) -> int:
    """RLlib's critic of continuous actions: layers for what is seen and for what is done, then layers over both."""
    both = 2 * config.network[-1]
    count = _mlp([observations, *config.network]) + _mlp([actions, *config.network])
    before = both
    for width in (*config.network, config.network[-1]):
        count += (before + 1) * width
        before = width + both
    return count + config.network[-1] + 1
