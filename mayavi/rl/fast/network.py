"""Policy and value network with their gradients, in one vector of weights.

The networks are small: what an autograd engine records about a layer costs more than the layer. So the backward pass is
written out here, and one operation clips or updates all weights. `tests/rl/fast/test_ppo.py` compares it with autograd.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

POLICY, VALUE = "policy", "value"
LOG_DEVIATION = "log_deviation"


class Network:
    """Two towers of fully connected layers: one for the policy, one for the value.

    `outputs` is the number of actions, or the number of means of a Gaussian policy. The latter is `gaussian`: its
    deviations are weights of their own, the same in every state.
    """

    def __init__(
        self, observations: int, outputs: int, hidden: Sequence[int], activation: str, *, gaussian: bool
    ) -> None:
        self.activation, self.layers = activation, len(hidden) + 1
        shapes: dict[str, tuple[int, ...]] = {}
        for tower, last in ((POLICY, outputs), (VALUE, 1)):
            for layer, (before, after) in enumerate(pairwise((observations, *hidden, last))):
                shapes[f"{tower}.{layer}.weight"] = (before, after)
                shapes[f"{tower}.{layer}.bias"] = (after,)
        if gaussian:
            shapes[LOG_DEVIATION] = (outputs,)
        self._shapes = shapes
        self.to(torch.zeros(sum(math.prod(shape) for shape in shapes.values())))

    def to(self, weights: Tensor) -> None:
        """Use `weights` from now on, on their device."""
        self.flat, self.flat_gradient = weights, torch.zeros_like(weights)
        self.weights, self.gradients = self._views(self.flat), self._views(self.flat_gradient)

    def initialise(self, deviation: float) -> None:
        """Draw orthogonal weights: a policy that begins almost uniform, as in Stable-Baselines3."""
        gains = {f"{POLICY}.{self.layers - 1}.weight": 0.01, f"{VALUE}.{self.layers - 1}.weight": 1.0}
        for name, weight in self.weights.items():
            if name.endswith(".weight"):
                torch.nn.init.orthogonal_(weight, gains.get(name, math.sqrt(2)))
        if LOG_DEVIATION in self.weights:
            self.weights[LOG_DEVIATION].fill_(math.log(deviation))

    def state_dict(self) -> dict[str, Tensor]:
        """Copy of all weights by name, on the CPU."""
        return {name: weight.cpu().clone() for name, weight in self.weights.items()}

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take over the weights of `state_dict`; `KeyError` or `RuntimeError` if they are of another network."""
        for name, weight in self.weights.items():
            weight.copy_(weights[name])

    def forward(self, tower: str, observations: Tensor) -> list[Tensor]:
        """Observations, activations of every hidden layer, and outputs of a tower."""
        found = [observations]
        for layer in range(self.layers):
            weight, bias = self.weights[f"{tower}.{layer}.weight"], self.weights[f"{tower}.{layer}.bias"]
            after = torch.addmm(bias, found[-1], weight)
            if layer < self.layers - 1:
                after = after.tanh_() if self.activation == "tanh" else after.relu_()
            found.append(after)
        return found

    def backward(self, tower: str, activations: Sequence[Tensor], gradient: Tensor) -> None:
        """Write the gradients of a tower, given its `forward` and the loss's `gradient` by its outputs."""
        for layer in reversed(range(self.layers)):
            before, weight = activations[layer], f"{tower}.{layer}.weight"
            torch.mm(before.T, gradient, out=self.gradients[weight])
            torch.sum(gradient, 0, out=self.gradients[f"{tower}.{layer}.bias"])
            if not layer:
                return
            gradient = gradient @ self.weights[weight].T
            if self.activation == "tanh":
                gradient = torch.addcmul(gradient, gradient * before, before, value=-1)  # times 1 - tanh²
            else:
                gradient *= before > 0

    def policy(self, observations: Tensor) -> Tensor:
        """Outputs of the policy."""
        return self.forward(POLICY, observations)[-1]

    def values(self, observations: Tensor) -> Tensor:
        """Value of each observation."""
        return self.forward(VALUE, observations)[-1].squeeze(-1)

    def _views(self, flat: Tensor) -> dict[str, Tensor]:
        parts = flat.split([math.prod(shape) for shape in self._shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}


class Adam:
    """Adam on one vector of weights. `torch.optim` would import torch's compiler, which takes a second."""

    def __init__(self, weights: Tensor) -> None:
        self.steps = 0
        self.mean, self.square = torch.zeros_like(weights), torch.zeros_like(weights)

    def step(self, weights: Tensor, gradient: Tensor, rate: float) -> None:
        """Move the weights."""
        self.steps += 1
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        scale = self.square.sqrt().div_(math.sqrt(1 - 0.999**self.steps)).add_(1e-5)
        weights.addcdiv_(self.mean, scale, value=-rate / (1 - 0.9**self.steps))

    def state_dict(self) -> dict[str, Tensor | int]:
        """All of its state, on the CPU."""
        return {"steps": self.steps, "mean": self.mean.cpu(), "square": self.square.cpu()}

    def load(self, state: Mapping[str, Tensor | int]) -> None:
        """Take over the state of `state_dict`."""
        self.steps = int(state["steps"])
        self.mean.copy_(torch.as_tensor(state["mean"]))
        self.square.copy_(torch.as_tensor(state["square"]))
