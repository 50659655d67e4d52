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
PRECISIONS = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


class Network:
    """Two towers of fully connected layers: one for the policy, one for the value.

    `outputs` is the number of actions, or the number of means of a Gaussian policy. The latter is `gaussian`: its
    deviations are weights of their own, the same in every state. With the precision `bf16` the layers compute in that
    type, on a copy of the weights that `refresh` renews; the weights themselves and the optimizer stay in float32.
    """

    def __init__(
        self,
        observations: int,
        outputs: int,
        hidden: Sequence[int],
        activation: str,
        *,
        gaussian: bool,
        precision: str = "fp32",
    ) -> None:
        self.activation, self.layers, self.type = activation, len(hidden) + 1, PRECISIONS[precision]
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
        same = self.type == weights.dtype
        self._computing = weights if same else weights.to(self.type)
        self._gradient = self.flat_gradient if same else torch.zeros_like(self._computing)
        self.weights, self.gradients = self._views(self.flat), self._views(self._gradient)
        self._layers = self.weights if same else self._views(self._computing)

    def refresh(self) -> None:
        """Compute with the present weights; needed after a change of the weights unless the precision is fp32."""
        if self._computing is not self.flat:
            self._computing.copy_(self.flat)

    def whole_gradient(self) -> Tensor:
        """Gradient of all weights in float32, as the last `backward` of both towers wrote it."""
        if self._gradient is not self.flat_gradient:
            self.flat_gradient.copy_(self._gradient)
        return self.flat_gradient

    def initialise(self, deviation: float) -> None:
        """Draw orthogonal weights: a policy that begins almost uniform, as in Stable-Baselines3."""
        gains = {f"{POLICY}.{self.layers - 1}.weight": 0.01, f"{VALUE}.{self.layers - 1}.weight": 1.0}
        for name, weight in self.weights.items():
            if name.endswith(".weight"):
                torch.nn.init.orthogonal_(weight, gains.get(name, math.sqrt(2)))
        if LOG_DEVIATION in self.weights:
            self.weights[LOG_DEVIATION].fill_(math.log(deviation))
        self.refresh()

    def state_dict(self) -> dict[str, Tensor]:
        """Copy of all weights by name, on the CPU."""
        return {name: weight.cpu().clone() for name, weight in self.weights.items()}

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take over the weights of `state_dict`; `KeyError` or `RuntimeError` if they are of another network."""
        for name, weight in self.weights.items():
            weight.copy_(weights[name])
        self.refresh()

    def forward(self, tower: str, observations: Tensor) -> list[Tensor]:
        """Observations, activations of every hidden layer, and outputs of a tower; the outputs in float32."""
        found = [observations.to(self.type)]
        for layer in range(self.layers):
            weight, bias = self._layers[f"{tower}.{layer}.weight"], self._layers[f"{tower}.{layer}.bias"]
            after = torch.addmm(bias, found[-1], weight)
            if layer < self.layers - 1:
                after = after.tanh_() if self.activation == "tanh" else after.relu_()
            found.append(after)
        found[-1] = found[-1].float()
        return found

    def backward(self, tower: str, activations: Sequence[Tensor], gradient: Tensor) -> None:
        """Write the gradients of a tower, given its `forward` and the loss's `gradient` by its outputs."""
        gradient = gradient.to(self.type)
        for layer in reversed(range(self.layers)):
            before, weight = activations[layer], f"{tower}.{layer}.weight"
            torch.mm(before.T, gradient, out=self.gradients[weight])
            torch.sum(gradient, 0, out=self.gradients[f"{tower}.{layer}.bias"])
            if not layer:
                return
            gradient = gradient @ self._layers[weight].T
            if self.activation == "tanh" and gradient.is_cuda:  # one pass over memory instead of two
                gradient = torch.ops.aten.tanh_backward(gradient, before)
            elif self.activation == "tanh":
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
        self._correction, self._rate = weights.new_ones(()), weights.new_zeros(())

    def step(self, weights: Tensor, gradient: Tensor, rate: float) -> None:
        """Move the weights."""
        self.steps += 1
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        scale = self.square.sqrt().div_(math.sqrt(1 - 0.999**self.steps)).add_(1e-5)
        weights.addcdiv_(self.mean, scale, value=-rate / (1 - 0.9**self.steps))

    def advance(self, rate: float) -> None:
        """Count a step at learning rate `rate`, which `move` then takes."""
        self.steps += 1
        self._correction.fill_(math.sqrt(1 - 0.999**self.steps))
        self._rate.fill_(rate / (1 - 0.9**self.steps))

    def move(self, weights: Tensor, gradient: Tensor, share: Tensor) -> None:
        """Move the weights without a number from the host, as a CUDA graph needs it; a `share` of 0 changes nothing."""
        self.mean.lerp_(gradient, 0.1 * share)
        self.square.lerp_(gradient * gradient, 0.001 * share)
        scale = self.square.sqrt().div_(self._correction).add_(1e-5)
        weights.sub_((self.mean / scale).mul_(self._rate * share))

    def state_dict(self) -> dict[str, Tensor | int]:
        """All of its state, on the CPU."""
        return {"steps": self.steps, "mean": self.mean.cpu(), "square": self.square.cpu()}

    def load(self, state: Mapping[str, Tensor | int]) -> None:
        """Take over the state of `state_dict`."""
        self.steps = int(state["steps"])
        self.mean.copy_(torch.as_tensor(state["mean"]))
        self.square.copy_(torch.as_tensor(state["square"]))
