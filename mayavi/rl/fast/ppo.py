"""Proximal policy optimisation over rows.

    ppo = PPO(config, rows, device)
    batch = ppo.collect()               # `rollout_steps` steps of every row
    figures = ppo.learn(batch, rate)    # `epochs` passes over them, in minibatches

Every step is one call for all rows: the policy sees one batch, the environment runs one program. Values and
log-probabilities of a rollout are computed at its end, all at once. An update permutes the batch once in each pass; its
minibatches are slices. Rules are those of Stable-Baselines3: advantages are normalised in each minibatch, the loss of
values is not clipped, and an update ends early at 1.5 times `target_kl`.

Rows give and take tensors. Where they live on a device, everything stays there: random numbers come from a generator
of that device, and `CapturedUpdate` takes the gradient steps. Otherwise all random numbers come from torch's generator
on the CPU, so that a network on a GPU gets the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.batch import Batch
from mayavi.rl.fast.captured_update import CapturedUpdate
from mayavi.rl.fast.distributions import CategoricalPolicy, GaussianPolicy
from mayavi.rl.fast.network import POLICY, VALUE, Adam, Network
from mayavi.rl.fast.step import Rows

FIGURED = 1 << 17
"""Most steps behind the figures of an update on a device."""


class Rollout(NamedTuple):
    """Buffers of a rollout by step and row, the same in every rollout; observations have one step more."""

    observations: Tensor
    outputs: Tensor
    actions: Tensor
    rewards: Tensor
    done: Tensor


def make_network(config: TrainConfig, observation_space: Any, action_space: Any) -> Network:
    """Network of a training, with weights of zero."""
    discrete = hasattr(action_space, "n")
    outputs = int(action_space.n) if discrete else math.prod(action_space.shape)
    inputs = math.prod(observation_space.shape)
    return Network(
        inputs, outputs, config.network, config.activation, gaussian=not discrete, precision=config.precision
    )


class PPO:
    """Policy, value network and optimizer of a training, and the rows it plays.

    `generator` is that of rows on a device, and draws all random numbers there.
    """

    def __init__(
        self, config: TrainConfig, rows: Rows, device: str | torch.device, generator: Generator | None = None
    ) -> None:
        self.config, self.rows, self.device, self.generator = config, rows, torch.device(device), generator
        seen, done = rows.env.observation_space, rows.env.action_space
        self.network = make_network(config, seen, done)
        self.network.initialise(config.initial_deviation)
        self.network.to(self.network.flat.to(device))
        self.policy = (CategoricalPolicy if hasattr(done, "n") else GaussianPolicy)(self.network, done)
        self.optimizer = Adam(self.network.flat)
        self._captured: CapturedUpdate | None = None
        if generator is not None or self.device.type == "cuda":
            self._captured = CapturedUpdate(config, self.network, self.optimizer, self.gradient)
        self._rollout: Rollout | None = None

    def collect(self) -> Batch:
        """Play `rollout_steps` steps in every row; the batch is overwritten by the next call."""
        steps, rows = self.config.rollout_steps, self.rows
        noise = self.policy.noise(steps, self.config.num_envs, self.generator).to(self.device)
        kept = self._buffers()
        kept.observations[0].copy_(rows.observations)
        for step in range(steps):
            outputs = self.network.policy(kept.observations[step])
            actions = self.policy.draw(outputs, noise[step])
            played = rows.step(self.policy.played(actions))
            kept.outputs[step].copy_(outputs)
            kept.actions[step].copy_(actions)
            kept.rewards[step].copy_(played.rewards)
            kept.done[step].copy_(played.done)
            if played.cut is not None and (self.generator is not None or bool(played.cut.any())):
                values = self.network.values(rows.normalised(played.last).to(self.device))
                kept.rewards[step] += self.config.gamma * values.to(played.cut.device) * played.cut  # it would go on
            kept.observations[step + 1].copy_(rows.observations)
        values = self._values(kept.observations)
        advantages = self._advantages(kept.rewards, kept.done, values)
        taken = kept.actions.flatten(0, 1)
        logs = self.policy.evaluate(kept.outputs.flatten(0, 1), taken).log_probabilities
        returns = (advantages + values[:-1]).flatten()
        return Batch(kept.observations[:-1].flatten(0, 1), taken, logs, advantages.flatten(), returns)

    def learn(self, batch: Batch, rate: float) -> dict[str, float]:
        """Improve policy and values by a rollout; returns figures of the update."""
        updates = self._epochs(batch, rate)
        return self._figures(batch) | {"train/learning_rate": rate, "train/n_updates": updates}

    def _epochs(self, batch: Batch, rate: float) -> int:
        """Take the gradient steps of an update and return their number; a large KL divergence ends it early."""
        if self._captured is None:
            return self._epochs_one_by_one(batch, rate)
        updates, goes_on = 0, True
        self._captured.begin()
        for _ in range(self.config.epochs):
            if goes_on:
                taken, goes_on = self._captured.epoch(batch, self._permutation(len(batch.returns)), rate)
                updates += taken
        return updates

    def _epochs_one_by_one(self, batch: Batch, rate: float) -> int:
        config, updates = self.config, 0
        for _ in range(config.epochs):
            order = self._permutation(len(batch.returns))
            shuffled = [each[order].split(config.minibatch_size) for each in batch]
            for parts in zip(*shuffled, strict=True):
                divergence = self.gradient(Batch(*parts))
                if config.target_kl is not None and float(divergence()) > 1.5 * config.target_kl:
                    return updates
                gradient = self.network.whole_gradient()
                gradient *= (config.max_grad_norm / (gradient.norm() + 1e-6)).clamp_(max=1.0)
                self.optimizer.step(self.network.flat, gradient, rate)
                self.network.refresh()
                updates += 1
        return updates

    def _permutation(self, count: int) -> Tensor:
        if self.generator is None:
            return torch.randperm(count).to(self.device)
        return torch.randperm(count, generator=self.generator, device=self.device)

    def gradient(self, batch: Batch) -> Callable[[], Tensor]:
        """Write the gradient of PPO's loss on a minibatch to the network; returns a function for the KL divergence."""
        config, size, advantages = self.config, len(batch.returns), batch.advantages
        if size > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy = self.network.forward(POLICY, batch.observations)
        evaluated = self.policy.evaluate(policy[-1], batch.actions)
        change = evaluated.log_probabilities - batch.log_probabilities
        ratio = change.exp()
        surrogate = ratio * advantages
        clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range) * advantages
        by_log_probability = surrogate * (surrogate <= clipped) / -size
        self.network.backward(
            POLICY, policy, evaluated.backward(by_log_probability, -config.entropy_coefficient / size)
        )
        value = self.network.forward(VALUE, batch.observations)
        error = value[-1].squeeze(1) - batch.returns
        self.network.backward(VALUE, value, error.unsqueeze(1) * (2 * config.value_coefficient / size))
        return lambda: (ratio - 1 - change).mean()

    def _buffers(self) -> Rollout:
        """Buffers of a rollout; rewards and ends are where the rows are."""
        if self._rollout is None:
            steps, count, policy = self.config.rollout_steps, self.config.num_envs, self.policy
            inputs = math.prod(self.rows.env.observation_space.shape)

            def buffer(*shape: int, kind: torch.dtype = torch.float32, device: Any = self.device) -> Tensor:
                return torch.zeros(shape, dtype=kind, device=device)

            home = self.rows.device
            self._rollout = Rollout(
                buffer(steps + 1, count, inputs),
                buffer(steps, count, policy.outputs),
                buffer(steps, count, *policy.actions_shape, kind=policy.actions_type),
                buffer(steps, count, device=home),
                buffer(steps, count, kind=torch.bool, device=home),
            )
        return self._rollout

    def _values(self, observations: Tensor) -> Tensor:
        """Values by step and row; on a device step by step, which takes less memory."""
        if self._captured is not None:
            return torch.stack([self.network.values(each) for each in observations])
        return self.network.values(observations.flatten(0, 1)).view(observations.shape[:2])

    def _advantages(self, rewards: Tensor, done: Tensor, values: Tensor) -> Tensor:
        """Generalised advantage estimates, by step and row."""
        rewards, goes_on = rewards.to(self.device), (~done).to(self.device, torch.float32)
        discounts = self.config.gamma * goes_on
        errors = rewards + discounts * values[1:] - values[:-1]
        found, advantage = torch.empty_like(errors), torch.zeros_like(errors[0])
        for step in reversed(range(len(errors))):
            advantage = errors[step] + self.config.gae_lambda * discounts[step] * advantage
            found[step] = advantage
        return found

    def _figures(self, batch: Batch) -> dict[str, float]:
        """Figures of a batch after an update, by the names of Stable-Baselines3; on a device of a sample of it."""
        spread, unexplained = batch.returns.var(), batch.advantages.var()  # returns less the values before the update
        if self._captured is not None:
            batch = batch.sample(FIGURED)
        evaluated = self.policy.evaluate(self.network.policy(batch.observations), batch.actions)
        change = evaluated.log_probabilities - batch.log_probabilities
        ratio = change.exp()
        found = {
            "train/approx_kl": (ratio - 1 - change).mean(),
            "train/clip_fraction": ((ratio - 1).abs() > self.config.clip_range).float().mean(),
            "train/entropy_loss": -evaluated.entropies.mean(),
            "train/value_loss": (self.network.values(batch.observations) - batch.returns).square().mean(),
            "train/explained_variance": 1 - unexplained / spread,
        }
        figures = dict(zip(found, torch.stack(list(found.values())).tolist(), strict=True))
        return {name: value for name, value in figures.items() if math.isfinite(value)}  # returns may all be equal
