"""Training environments of RLlib's runners, on any node."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from gymnasium.vector import VectorWrapper
from gymnasium.vector.utils import batch_space

import mayavi
from mayavi.errors import WorkerError
from mayavi.evm.specialise import Specialised, chosen_specialise, current, specialised
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows, world_of
from mayavi.rl.rllib.caller_frames import find_callers_quickly
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.normaliser import Lens, Normaliser, seen_space
from mayavi.rl.training.training_signal import TrainingSignal

NAME = "mayavi-training"
RECENT = 100
_played: list[Specialised] = []
"""What the environments of this process have replayed, where it is a runner's own process."""


class TrainingVector(VectorWrapper):
    """Rows for a trainer: normalised, with rewards and episode ends from `TrainingSignal`.

    RLlib seeds its runners with consecutive numbers, as `AutoresetRows` seeds rows, so two runners would play the same
    episodes. Here rows are seeded from the seed of the training and the index of their runner.
    """

    def __init__(self, env: Any, *, seed: int, config: TrainConfig) -> None:
        super().__init__(env)
        self.first_seed: int | None = seed
        self.signal = TrainingSignal.of(config)
        self.lens: Lens | None = None
        self.recent: deque[float] = deque(maxlen=RECENT)
        """Returns of the last episodes in the environment's own rewards, before they are normalised."""
        if config.normalises:
            raw = env.single_observation_space
            self.single_observation_space = seen_space(config, raw)
            self.observation_space = batch_space(self.single_observation_space, env.num_envs)
            self.lens = Lens(config.gamma, env.num_envs, raw.shape, Normaliser())

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Start episodes; the first call uses the seed of the runner."""
        own, self.first_seed = self.first_seed, None
        observations, infos = self.env.reset(seed=own, options=options)
        return (observations if self.lens is None else self.lens.observe(observations)), infos

    def step(self, actions: Any) -> Any:
        """Step all rows."""
        play = self.unwrapped.play
        over = play.over.copy()  # these rows start a new episode and earn no reward
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if self.lens is not None:
            done = terminated | truncated
            observations, rewards = self.lens.observe(observations), self.lens.reward(rewards, done, over)
            self.recent.extend(play.returns[done].tolist())
        return observations, self.signal.reward(rewards), *self.signal.ends(terminated, truncated), infos


def register_training(config: TrainConfig) -> dict[str, Any]:
    """Arguments of `AlgorithmConfig.environment` for the environment of `config`."""
    from ray.tune.registry import register_env

    from mayavi.gym_env.adapters.rllib import has_several_agents

    find_callers_quickly()
    if has_several_agents(config.env):
        from mayavi.rl.rllib.agent_order import sort_agents

        sort_agents()  # the learner too reads episodes agent by agent
    register_env(NAME, partial(create, mayavi.__version__, config.to_json(), chosen_specialise()))
    return {"env": NAME, "env_config": {}}


def create(version: str, config: dict[str, Any], specialise: str, context: Mapping[str, Any], **_: Any) -> Any:
    """Make the environment in a runner."""
    if mayavi.__version__ != version:
        raise WorkerError(
            f"a node of the Ray cluster has mayavi {mayavi.__version__}, and the training runs on {version}",
            "install the same version on all of them",
        )
    find_callers_quickly()
    if current() is not None:
        return _create(TrainConfig.of(config), specialise, context)
    with specialised(specialise) as replayed:
        _played.append(replayed)
        return _create(TrainConfig.of(config), specialise, context)


def played_sites(_: Any) -> list[dict[str, Any]]:
    """Counts of the call sites of this process, for a training that asks its runners."""
    return [site for each in _played for site in each.sites()]


def _create(asked: TrainConfig, specialise: str, context: Mapping[str, Any]) -> Any:
    from mayavi.gym_env.adapters.rllib import create as create_rows
    from mayavi.gym_env.adapters.rllib import has_several_agents

    index = getattr(context, "worker_index", 0) or 0
    if has_several_agents(asked.env):
        from mayavi.rl.rllib.agent_order import sort_agents
        from mayavi.rl.rllib.multi_agent import TrainingAgents

        sort_agents()
        rows = make_training_rows(asked, 1, threads=1, specialise=specialise)
        return TrainingAgents(rows, runner=index, signal=TrainingSignal.of(asked))
    settings = {
        "config": asked.env_config,
        "world": world_of(asked),
        "num_envs": context["num_envs"],
        "resumable": True,
        "specialise": specialise,
    }
    rows = create_rows(asked.env, settings)
    seed = spread_seed(asked.seed, f"rows of runner {index}")
    return TrainingVector(rows, seed=seed, config=asked)


def keep_paths(runner: Any) -> None:
    """Keep the paths that a runner's batch of rows has recorded, for later trainings."""
    env = getattr(runner, "env", None)
    if env is not None and hasattr(env.unwrapped, "play"):  # a market of several agents is not a batch
        env.unwrapped.env.keep_paths()


def training_vector(runner: Any) -> TrainingVector:
    """The rows of a runner, without RLlib's wrappers."""
    env = runner.env
    while not isinstance(env, TrainingVector):
        env = env.env
    return env
