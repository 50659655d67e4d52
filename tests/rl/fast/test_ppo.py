"""The hand-written gradients are those of autograd, and PPO's rules are those of its definition."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

import torch
from gymnasium import spaces

from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.batch import Batch
from mayavi.rl.fast.network import LOG_DEVIATION, Adam, Network
from mayavi.rl.fast.ppo import PPO
from mayavi.rl.fast.step import Step

SIZE = 32


class ScriptedRows:
    """Three rows that give the rewards and ends of a list, and observe which step it is."""

    device = torch.device("cpu")

    def __init__(self, rewards: list[list[float]], done: list[list[bool]], cut: list[list[bool]]) -> None:
        self.script, self.at = list(zip(rewards, done, cut, strict=True)), 0
        self.env = SimpleNamespace(observation_space=spaces.Box(-9, 9, (2,)), action_space=spaces.Discrete(2, start=5))
        self.played: list[Any] = []

    @property
    def observations(self) -> torch.Tensor:
        return torch.tensor([[float(self.at), row] for row in range(3)]) / 4

    def normalised(self, observations: Any) -> Any:
        return observations

    def step(self, actions: Any) -> Step:
        rewards, done, cut = (torch.tensor(each) for each in self.script[self.at])
        self.played.append(actions.numpy())
        self.at += 1
        return Step(rewards, done, cut, self.observations + 0.5)


def made(space: Any, **settings: Any) -> PPO:
    torch.manual_seed(7)
    env = SimpleNamespace(observation_space=spaces.Box(-1, 1, (3, 2)), action_space=space)
    config = TrainConfig.of({"env": "aave", "framework": "fast", "network": [8, 5]}, settings)
    rows: Any = SimpleNamespace(env=env)
    ppo = PPO(config, rows, "cpu")
    ppo.network.flat += 0.3 * torch.randn_like(ppo.network.flat)  # beyond the first, almost uniform policy
    return ppo


def drawn(ppo: PPO, space: Any) -> Batch:
    """Minibatch whose ratios are clipped in some rows."""
    observations = torch.rand(SIZE, 6) * 2 - 1
    outputs = ppo.network.policy(observations)
    actions = ppo.policy.draw(outputs, ppo.policy.noise(1, SIZE)[0])
    logs = ppo.policy.evaluate(outputs, actions).log_probabilities + 0.3 * torch.randn(SIZE)
    return Batch(observations, actions, logs, torch.randn(SIZE), torch.randn(SIZE))


def loss(network: Network, batch: Batch, config: TrainConfig) -> torch.Tensor:
    """PPO's loss by torch's own layers' arithmetic and distributions, for autograd."""
    weights: Any = network.weights
    act = torch.tanh if config.activation == "tanh" else torch.relu

    def tower(name: str) -> torch.Tensor:
        found = batch.observations
        for layer in range(3):
            found = found @ weights[f"{name}.{layer}.weight"] + weights[f"{name}.{layer}.bias"]
            found = act(found) if layer < 2 else found
        return found

    outputs, distribution = tower("policy"), torch.distributions
    if LOG_DEVIATION in weights:
        policy: Any = distribution.Independent(distribution.Normal(outputs, weights[LOG_DEVIATION].exp()), 1)
    else:
        policy = distribution.Categorical(logits=outputs)
    ratio = (policy.log_prob(batch.actions) - batch.log_probabilities).exp()
    advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range)
    surrogate = torch.min(ratio * advantages, clipped * advantages).mean()
    error = (tower("value").squeeze(1) - batch.returns).square().mean()
    result: torch.Tensor = (
        -surrogate - config.entropy_coefficient * policy.entropy().mean() + config.value_coefficient * error
    )
    return result


@pytest.mark.parametrize("space", [spaces.Discrete(4), spaces.Box(-1, 1, (2,))], ids=["discrete", "continuous"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("entropy", [0.0, 0.1])
def test_the_gradient_is_that_of_autograd(space: Any, activation: str, entropy: float) -> None:
    ppo = made(space, activation=activation, entropy_coefficient=entropy, value_coefficient=0.7)
    batch = drawn(ppo, space)
    ppo.gradient(batch)
    for weight in ppo.network.weights.values():
        weight.requires_grad_()
    expected = torch.autograd.grad(loss(ppo.network, batch, ppo.config), list(ppo.network.weights.values()))
    for name, wanted in zip(ppo.network.weights, expected, strict=True):
        torch.testing.assert_close(ppo.network.gradients[name], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.slow(2)
@pytest.mark.parametrize("captured", [False, True])
def test_a_step_of_the_optimizer_is_that_of_torch(captured: bool) -> None:
    torch.manual_seed(3)
    ours, theirs = torch.randn(20), torch.nn.Parameter(torch.zeros(20))
    theirs.data.copy_(ours)
    adam, reference = Adam(ours), torch.optim.Adam([theirs], lr=0.01, eps=1e-5)
    for _ in range(5):
        gradient = torch.randn(20)
        theirs.grad = gradient.clone()
        reference.step()
        if captured:
            adam.advance(0.01)
            adam.move(ours, gradient, torch.ones(()))
            adam.move(ours, gradient, torch.zeros(()))  # of an update that has ended: nothing changes
        else:
            adam.step(ours, gradient, 0.01)
    torch.testing.assert_close(ours, theirs.data)


def test_advantages_stop_at_ends_and_count_the_value_of_an_episode_that_was_cut() -> None:
    torch.manual_seed(1)
    done = [[False, True, False], [False, False, True]]
    rows: Any = ScriptedRows([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], done, [[False, False, False], [False, False, True]])
    config = {"env": "aave", "framework": "fast", "num_envs": 3, "rollout_steps": 2, "minibatch_size": 6}
    ppo = PPO(TrainConfig.of(config, {"gamma": 0.9, "gae_lambda": 0.8}), rows, "cpu")
    batch = ppo.collect()
    assert set(np.concatenate(rows.played).tolist()) <= {5, 6}
    assert (np.concatenate(rows.played) == batch.actions.numpy() + 5).all()

    def value(step: float, row: int, more: float = 0.0) -> float:
        return float(ppo.network.values(torch.tensor([[step / 4 + more, row / 4 + more]])))

    second = [4 + 0.9 * value(2, 0) - value(1, 0), 5 + 0.9 * value(2, 1) - value(1, 1)]
    second.append(6 + 0.9 * value(2, 2, 0.5) - value(1, 2))  # cut: the value of its last observation, not of the next
    first = [1 + 0.9 * value(1, 0) - value(0, 0) + 0.72 * second[0], 2 - value(0, 1)]
    first.append(3 + 0.9 * value(1, 2) - value(0, 2) + 0.72 * second[2])
    assert batch.advantages.tolist() == pytest.approx(first + second, abs=1e-5)
    before = [value(step, row) for step in (0, 1) for row in range(3)]
    assert (batch.returns - batch.advantages).tolist() == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("space", [spaces.Discrete(3), spaces.Box(-0.5, 0.5, (1,))], ids=["discrete", "continuous"])
def test_draws_follow_the_policy_and_stay_within_the_bounds(space: Any) -> None:
    ppo = made(space)
    outputs = ppo.network.policy(torch.zeros(1, 6)).expand(40_000, -1)
    actions = ppo.policy.draw(outputs, ppo.policy.noise(1, 40_000)[0])
    played = ppo.policy.played(actions).numpy()
    if isinstance(space, spaces.Discrete):
        shares = np.bincount(played, minlength=3) / len(played)
        assert shares == pytest.approx(outputs[0].softmax(0).tolist(), abs=0.01)
        return
    deviation = math.exp(float(ppo.network.weights[LOG_DEVIATION]))
    assert float(actions.mean()) == pytest.approx(float(outputs[0]), abs=0.03 * deviation)
    assert float(actions.std()) == pytest.approx(deviation, rel=0.02)
    assert (played.min(), played.max()) == (-0.5, 0.5)


def test_a_large_divergence_ends_an_update_early() -> None:
    ppo = made(spaces.Discrete(4), minibatch_size=8, target_kl=1e-6, learning_rate=0.01)
    batch = drawn(ppo, spaces.Discrete(4))
    assert ppo.learn(batch, 0.01)["train/n_updates"] < 40
    assert made(spaces.Discrete(4), minibatch_size=8).learn(batch, 0.01)["train/n_updates"] == 40
