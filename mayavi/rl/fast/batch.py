"""Batch of steps that PPO learns from."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """Steps of a rollout, or some of them."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    """Of the actions, under the policy that played them."""
    advantages: Tensor
    returns: Tensor

    def sample(self, most: int) -> Batch:
        """Return at most `most` steps at equal distances, all if there are fewer."""
        stride = -(-len(self.returns) // most)
        return self if stride == 1 else Batch(*(each[::stride] for each in self))
