"""Proximal policy optimisation over rows.

    ppo = PPO(config, rows, device)
    batch = ppo.collect()               # `rollout_steps` steps of every row
    figures = ppo.learn(batch, rate)    # `epochs` passes over them, in minibatches

Every step is one call for all rows: the policy sees one batch, the environment runs one program. Values and
log-probabilities of a rollout are computed at its end, all at once. An update permutes the batch once in each pass; its
minibatches are slices. Rules are those of Stable-Baselines3: advantages are normalised in each minibatch, the loss of
values is not clipped, and an update ends early at 1.5 times `target_kl`.

All random numbers come from torch's generator on the CPU, so that a GPU gets the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.network import LOG_DEVIATION, POLICY, VALUE, Adam, Network
from mayavi.rl.fast.rows import TrainingRows


class Batch(NamedTuple):
    """Steps of a rollout, or some of them."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    """Of the actions, under the policy that played them."""
    advantages: Tensor
    returns: Tensor


class Evaluated(NamedTuple):
    """Actions evaluated under a policy."""

    log_probabilities: Tensor
    entropies: Tensor
    backward: Callable[[Tensor, float], Tensor]
    """Gradient by the policy's outputs, from that by each log-probability and that by every entropy."""


class CategoricalPolicy:
    """Policy over discrete actions; the outputs of its network are logits."""

    def __init__(self, network: Network, space: Any) -> None:
        self.space = space
        self.actions_type, self.actions_shape = torch.int64, ()

    def noise(self, steps: int, rows: int) -> Tensor:
        """Gumbel noise: the action with the largest sum of logit and noise is drawn."""
        return torch.empty(steps, rows, int(self.space.n)).exponential_().log_().neg_()

    def draw(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Draw one action per row."""
        return (outputs + noise).argmax(1)

    def played(self, actions: Tensor) -> NDArray[Any]:
        """Actions as the environment takes them."""
        return np.asarray(actions.cpu().numpy() + int(self.space.start))

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
        self.network, self.space = network, space
        self.actions_type, self.actions_shape = torch.float32, (math.prod(space.shape),)

    def noise(self, steps: int, rows: int) -> Tensor:
        """Standard normal noise."""
        return torch.randn(steps, rows, *self.actions_shape)

    def draw(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Draw one action per row, not clipped."""
        return torch.addcmul(outputs, self.network.weights[LOG_DEVIATION].exp(), noise)

    def played(self, actions: Tensor) -> NDArray[Any]:
        """Actions as the environment takes them: clipped to its bounds."""
        shaped = actions.cpu().numpy().reshape(-1, *self.space.shape)
        return np.asarray(np.clip(shaped, self.space.low, self.space.high))

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


def make_network(config: TrainConfig, observation_space: Any, action_space: Any) -> Network:
    """Network of a training, with weights of zero."""
    discrete = hasattr(action_space, "n")
    outputs = int(action_space.n) if discrete else math.prod(action_space.shape)
    inputs = math.prod(observation_space.shape)
    return Network(inputs, outputs, config.network, config.activation, gaussian=not discrete)


class PPO:
    """Policy, value network and optimizer of a training, and the rows it plays."""

    def __init__(self, config: TrainConfig, rows: TrainingRows, device: str) -> None:
        self.config, self.rows, self.device = config, rows, device
        seen, done = rows.env.observation_space, rows.env.action_space
        self.network = make_network(config, seen, done)
        self.network.initialise(config.initial_deviation)
        self.network.to(self.network.flat.to(device))
        self.policy = (CategoricalPolicy if hasattr(done, "n") else GaussianPolicy)(self.network, done)
        self.optimizer = Adam(self.network.flat)

    def collect(self) -> Batch:
        """Play `rollout_steps` steps in every row."""
        steps, count = self.config.rollout_steps, self.config.num_envs
        noise = self.policy.noise(steps, count).to(self.device)
        seen = [self._seen(self.rows.observations)]
        outputs, actions = [], []
        rewards = np.empty((steps, count), dtype=np.float32)
        done = np.empty((steps, count), dtype=np.bool_)
        for step in range(steps):
            outputs.append(self.network.policy(seen[-1]))
            actions.append(self.policy.draw(outputs[-1], noise[step]))
            played = self.rows.step(self.policy.played(actions[-1]))
            rewards[step], done[step] = played.rewards, played.done
            if played.cut.any():  # the episode would have gone on: its value counts
                values = self.network.values(self._seen(self.rows.normalised(played.last))).cpu().numpy()
                rewards[step] += self.config.gamma * values * played.cut
            seen.append(self._seen(self.rows.observations))
        values = self.network.values(torch.cat(seen)).view(steps + 1, count)
        advantages = self._advantages(torch.from_numpy(rewards), torch.from_numpy(done), values)
        taken = torch.cat(actions)
        logs = self.policy.evaluate(torch.cat(outputs), taken).log_probabilities
        return Batch(torch.cat(seen[:-1]), taken, logs, advantages.flatten(), (advantages + values[:-1]).flatten())

    def learn(self, batch: Batch, rate: float) -> dict[str, float]:
        """Improve policy and values by a rollout; returns figures of the update."""
        before = self.network.values(batch.observations)
        updates = self._epochs(batch, rate)
        return self._figures(batch, before) | {"train/learning_rate": rate, "train/n_updates": updates}

    def _epochs(self, batch: Batch, rate: float) -> int:
        """Take the gradient steps of an update and return their number; a large KL divergence ends it early."""
        config, updates = self.config, 0
        for _ in range(config.epochs):
            order = torch.randperm(len(batch.returns)).to(self.device)
            shuffled = [each[order].split(config.minibatch_size) for each in batch]
            for parts in zip(*shuffled, strict=True):
                divergence = self.gradient(Batch(*parts))
                if config.target_kl is not None and float(divergence()) > 1.5 * config.target_kl:
                    return updates
                gradient = self.network.flat_gradient
                gradient *= (config.max_grad_norm / (gradient.norm() + 1e-6)).clamp_(max=1.0)
                self.optimizer.step(self.network.flat, gradient, rate)
                updates += 1
        return updates

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

    def _figures(self, batch: Batch, values_before: Tensor) -> dict[str, float]:
        """Figures of the whole batch after an update, by the names of Stable-Baselines3."""
        evaluated = self.policy.evaluate(self.network.policy(batch.observations), batch.actions)
        change = evaluated.log_probabilities - batch.log_probabilities
        ratio, spread = change.exp(), batch.returns.var()
        found = {
            "train/approx_kl": (ratio - 1 - change).mean(),
            "train/clip_fraction": ((ratio - 1).abs() > self.config.clip_range).float().mean(),
            "train/entropy_loss": -evaluated.entropies.mean(),
            "train/value_loss": (self.network.values(batch.observations) - batch.returns).square().mean(),
            "train/explained_variance": 1 - (batch.returns - values_before).var() / spread,
        }
        figures = {name: float(value) for name, value in found.items()}
        return {name: value for name, value in figures.items() if math.isfinite(value)}  # returns may all be equal

    def _seen(self, observations: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy(np.array(observations, dtype=np.float32).reshape(len(observations), -1)).to(self.device)
