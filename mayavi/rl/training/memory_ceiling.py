"""Estimate the device memory of a training before it starts, and refuse it above a ceiling.

Counted are the weights with their gradients and Adam's two moments, the batch, and the activations of a minibatch
between forward and backward pass. The memory of the driver is not counted: leave room for it. Rows on a GPU are counted
where they are opened; their training may take the memory of the GPU.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from mayavi.errors import MemoryCeiling, UsageError
from mayavi.evm.devices import cuda_devices

if TYPE_CHECKING:
    from mayavi.rl.config import TrainConfig

VARIABLE = "MAYAVI_LOCAL_GPU_MEM_GB_CEILING"
DEFAULT_GB = 4.0
CQL_DRAWN_ACTIONS = 10
"""Actions that CQL draws for each observation, from each of three distributions."""
_FLOAT = 4
_GB = 10**9


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Estimated bytes on the device; `replay_bytes` stay in the memory of the host."""

    parameters: int
    model_bytes: int
    batch_bytes: int
    activation_bytes: int
    replay_bytes: int = 0
    on_gpu: bool = False
    """Whether the environment is on a GPU too, whose memory is then the ceiling unless another one is set."""

    @property
    def total_bytes(self) -> int:
        """Sum of all bytes on the device."""
        return self.model_bytes + self.batch_bytes + self.activation_bytes

    def describe(self) -> str:
        """Sizes of the parts in one line."""
        parts = (("model", self.model_bytes), ("batch", self.batch_bytes), ("activations", self.activation_bytes))
        return ", ".join(f"{name} {gigabytes(each)}" for name, each in parts)

    def to_json(self) -> dict[str, int]:
        """JSON data, as stored in `run.json`."""
        return {
            "parameters": self.parameters,
            "model_bytes": self.model_bytes,
            "batch_bytes": self.batch_bytes,
            "activation_bytes": self.activation_bytes,
            "replay_bytes": self.replay_bytes,
            "total_bytes": self.total_bytes,
        }


def ceiling_gb() -> float:
    """Memory that a training may use on this machine's device, in GB (10⁹ bytes)."""
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
    """Estimate a training. `sizes` holds (observation size, number of actions or action size) of each policy."""
    policies = [_estimate_policy(config, observations, actions, discrete) for observations, actions in sizes]
    return MemoryEstimate(
        parameters=sum(each.parameters for each in policies),
        model_bytes=sum(each.model_bytes for each in policies),
        batch_bytes=sum(each.batch_bytes for each in policies),
        activation_bytes=max(each.activation_bytes for each in policies),  # policies learn one after the other
        replay_bytes=sum(each.replay_bytes for each in policies),
        on_gpu=config.rows_on_device and config.device == "cuda",
    )


def _estimate_policy(config: TrainConfig, observations: int, actions: int, discrete: bool) -> MemoryEstimate:
    action = 1 if discrete else actions
    recurrent = 0
    if config.algorithm == "ppo":
        first = config.lstm_size if config.recurrent else observations
        towers = [(first, actions if discrete else 2 * actions), (first, 1)]
        rows, row = config.batch_size, observations + action + 6  # log-probability, value, return, advantage …
        if config.rows_on_device:  # noise, outputs and their temporaries, a permutation, and a gathered minibatch
            row += 5 * actions + 8 + observations
        if config.recurrent:  # an LSTM each for policy and value: before the layers in SB3, behind them in RLlib
            before = observations if config.framework == "sb3" else config.network[-1]
            recurrent = 2 * 4 * config.lstm_size * (before + config.lstm_size + 2)
    elif config.algorithm == "dqn":
        towers = [(observations, actions)] * 2  # online and target network
        rows, row = config.minibatch_size, 2 * observations + action + 2
    else:
        towers = [(observations, 2 * actions), *[(observations + actions, 1)] * 4]  # actor, two critics, their targets
        rows, row = config.minibatch_size, 2 * observations + action + 2
    parameters = recurrent + sum(_mlp_parameters([first, *config.network, last]) for first, last in towers)
    if config.recurrent and config.framework == "rllib":
        parameters = recurrent + sum(
            _mlp_parameters([observations, *config.network]) + _mlp_parameters([config.lstm_size, last])
            for _, last in towers
        )
    if config.algorithm in {"sac", "cql"} and config.framework == "rllib":
        parameters = _mlp_parameters([observations, *config.network, 2 * actions]) + 4 * _fused_critic_parameters(
            config, observations, actions
        )
    kept = sum(first + 2 * sum(config.network) + last for first, last in towers)
    if config.algorithm == "cql":  # critics also value three groups of drawn actions for each observation
        kept *= 1 + 3 * CQL_DRAWN_ACTIONS
    if config.recurrent:
        kept += 2 * 6 * config.lstm_size
    return MemoryEstimate(
        parameters=parameters,
        model_bytes=4 * _FLOAT * parameters,  # weights, gradients, and Adam's two moments
        batch_bytes=_FLOAT * rows * row,
        activation_bytes=2 * _FLOAT * config.minibatch_size * kept,
        replay_bytes=0 if config.algorithm == "ppo" else _FLOAT * config.buffer_size * row,
    )


def check_ceiling(found: MemoryEstimate) -> None:
    """Raise `MemoryCeiling` with the figures if the estimate is above the ceiling."""
    ceiling = ceiling_gb()
    if found.on_gpu and not os.environ.get(VARIABLE, "").strip():
        ceiling = cuda_devices()[0].memory / _GB
    if found.total_bytes > ceiling * _GB:
        raise MemoryCeiling(
            f"this training needs {gigabytes(found.total_bytes)} ({found.describe()}; "
            f"{found.parameters:,} parameters), and may take {ceiling:.4g} GB",
            f"smaller: network, num_envs × rollout_steps, minibatch_size; or raise {VARIABLE}",
        )


def gigabytes(count: int) -> str:
    """Format bytes: `3.2 GB`, `14.1 MB`, `0.6 MB`."""
    return f"{count / _GB:,.1f} GB" if count >= _GB / 10 else f"{count / 1e6:,.1f} MB"


def _mlp_parameters(widths: Sequence[int]) -> int:
    """Parameters of fully connected layers of these widths."""
    return sum((first + 1) * second for first, second in pairwise(widths))


def _fused_critic_parameters(config: TrainConfig, observations: int, actions: int) -> int:
    """Parameters of RLlib's critic: layers for observations and for actions, then layers over both."""
    both = 2 * config.network[-1]
    count = _mlp_parameters([observations, *config.network]) + _mlp_parameters([actions, *config.network])
    before = both
    for width in (*config.network, config.network[-1]):
        count += (before + 1) * width
        before = width + both
    return count + config.network[-1] + 1
