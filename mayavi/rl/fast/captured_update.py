"""Gradient steps of PPO that a GPU takes without the host.

A minibatch is gathered into buffers that stay where they are, and one CUDA graph runs forward and backward pass,
clipping and Adam on them. No number comes from the host in between: learning rate and bias corrections are tensors. An
update that `target_kl` ends goes on with a share of zero, which changes nothing; the host reads once per pass whether
it ended. On a CPU the same operations run one by one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.batch import Batch
from mayavi.rl.fast.network import Adam, Network

WARM_UPS = 3
"""Runs before a capture, in which libraries allocate what they need."""


class CapturedUpdate:
    """Gradient steps over static minibatches; `gradient` writes the network's gradient for one of them."""

    def __init__(
        self,
        config: TrainConfig,
        network: Network,
        optimizer: Adam,
        gradient: Callable[[Batch], Callable[[], Tensor]],
    ) -> None:
        self.config, self.network, self.optimizer, self._gradient = config, network, optimizer, gradient
        self._share, self._taken = network.flat.new_ones(()), network.flat.new_zeros(())
        """1 while the update goes on, and the number of its gradient steps."""
        self._minibatches: dict[int, tuple[Batch, Callable[[], None]]] = {}

    def begin(self) -> None:
        """Begin an update."""
        self._share.fill_(1.0)
        self._taken.zero_()

    def epoch(self, batch: Batch, order: Tensor, rate: float) -> tuple[int, bool]:
        """Pass over `batch` in this order; returns its gradient steps, and whether the update goes on."""
        before, parts = self.optimizer.steps, order.split(self.config.minibatch_size)
        for part in parts:
            minibatch, step = self._minibatch(batch, len(part))
            for source, target in zip(batch, minibatch, strict=True):
                torch.index_select(source, 0, part, out=target)
            self.optimizer.advance(rate)
            step()
        if self.config.target_kl is None:
            return len(parts), True
        share, taken = torch.stack([self._share, self._taken]).tolist()
        self._taken.zero_()
        self.optimizer.steps = before + int(taken)
        return int(taken), bool(share)

    def _minibatch(self, batch: Batch, size: int) -> tuple[Batch, Callable[[], None]]:
        """Buffers for a minibatch of `size` steps, and the function that learns from them."""
        if size not in self._minibatches:
            buffers = Batch(*(each[:size].clone() for each in batch))
            self._minibatches[size] = buffers, self._captured(buffers)
        return self._minibatches[size]

    def _captured(self, minibatch: Batch) -> Callable[[], None]:
        def step() -> None:
            self._step(minibatch)

        if not self.network.flat.is_cuda:
            return step
        share, aside = self._share.clone(), torch.cuda.Stream()
        self._share.zero_()  # the steps of the warm-up change nothing
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        self._share.copy_(share)
        replay: Callable[[], None] = graph.replay
        return replay

    def _step(self, minibatch: Batch) -> None:
        config, network = self.config, self.network
        divergence = self._gradient(minibatch)
        if config.target_kl is not None:
            self._share.mul_(divergence() <= 1.5 * config.target_kl)
        gradient = network.whole_gradient()
        gradient *= (config.max_grad_norm / (gradient.norm() + 1e-6)).clamp_(max=1.0)
        self.optimizer.move(network.flat, gradient, self._share)
        network.refresh()
        self._taken.add_(self._share)
