"""Action distributions of our own PPO, with the gradients of log-probabilities and entropies written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from mayavi.rl.fast.network import LOG_DEVIATION, Network


class Evaluated(NamedTuple):
    """Actions evaluated under a policy."""

    log_probabilities: Tensor
    entropies: Tensor
    backward: Callable[[Tensor, float], Tensor]
    """Gradient by the policy's outputs, from that by each log-probability and that by every entropy."""


class CategoricalPolicy:
    """Policy over discrete actions; the outputs of its network are logits."""

    def __init__(self, network: Network, space: Any) -> None:
        self.space, self.outputs = space, int(space.n)
        self.actions_type, self.actions_shape = torch.int64, ()

    def noise(self, steps: int, rows: int, generator: Generator | None = None) -> Tensor:
        """Gumbel noise on the generator's device: the action with the largest sum of logit and noise is drawn."""
        drawn = torch.empty(steps, rows, self.outputs, device=_device(generator))
        return drawn.exponential_(generator=generator).log_().neg_()

    def draw(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Draw one action per row."""
        return (outputs + noise).argmax(1)

    def played(self, actions: Tensor) -> Tensor:
        """Actions as the environment takes them."""
        return actions + int(self.space.start)

    def evaluate(self, outputs: Tensor, actions: Tensor) -> Evaluated:
        """Evaluate `actions` under the policy with these `outputs`."""
        logs, taken = outputs.log_softmax(1), actions.unsqueeze(1)
        chances = logs.exp()
        entropies = (chances * logs).sum(1).neg_()

        def backward(by_log_probability: Tensor, by_entropy: float) -> Tensor:
            by_log = by_log_probability.unsqueeze(1)
            gradient = (chances * by_log).neg_().scatter_add_(1, taken, by_log)
            if by_entropy:
                gradient.addcmul_(chances, logs + entropies.unsqueeze(1), value=-by_entropy)
            return gradient

        return Evaluated(logs.gather(1, taken).squeeze(1), entropies, backward)


class GaussianPolicy:
    """Policy over continuous actions; the outputs of its network are means."""

    def __init__(self, network: Network, space: Any) -> None:
        self.network, self.space, self.outputs = network, space, math.prod(space.shape)
        self.actions_type, self.actions_shape = torch.float32, (self.outputs,)
        self._bounds = [torch.from_numpy(each).to(network.flat.device) for each in (space.low, space.high)]

    def noise(self, steps: int, rows: int, generator: Generator | None = None) -> Tensor:
        """Standard normal noise on the generator's device."""
        return torch.randn(steps, rows, self.outputs, generator=generator, device=_device(generator))

    def draw(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Draw one action per row, not clipped."""
        return torch.addcmul(outputs, self.network.weights[LOG_DEVIATION].exp(), noise)

    def played(self, actions: Tensor) -> Tensor:
        """Actions as the environment takes them: clipped to its bounds."""
        return torch.clamp(actions.view(-1, *self.space.shape), *self._bounds)

    def evaluate(self, outputs: Tensor, actions: Tensor) -> Evaluated:
        """Evaluate `actions` under the policy with these `outputs`."""
        log_deviation = self.network.weights[LOG_DEVIATION]
        deviation = log_deviation.exp()
        distance = (actions - outputs) / deviation
        squares = distance * distance
        logs = (squares.mul(-0.5) - log_deviation - 0.5 * math.log(2 * math.pi)).sum(1)
        entropy = (log_deviation + 0.5 * math.log(2 * math.pi * math.e)).sum()

        def backward(by_log_probability: Tensor, by_entropy: float) -> Tensor:
            by_log = by_log_probability.unsqueeze(1)
            by_deviation = (by_log * (squares - 1)).sum(0).add_(by_entropy * len(actions))
            self.network.gradients[LOG_DEVIATION].copy_(by_deviation)
            return by_log * distance / deviation

        return Evaluated(logs, entropy.expand(len(actions)), backward)


def _device(generator: Generator | None) -> torch.device:
    return torch.device("cpu") if generator is None else generator.device
