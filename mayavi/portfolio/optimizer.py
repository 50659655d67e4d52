"""`PPOYieldOptimizer`: PPO for the portfolio of USDY, mETH and MI4, from an observation to weights.

    optimizer = PPOYieldOptimizer(seed=1)
    optimizer.train()
    weights = optimizer.predict(observation)

It is `mayavi train --env rwa` with the names of an optimiser: what it trains is a run like any other, which `mayavi
eval` and `mayavi backtest` play, and whose every setting is in `config`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, ModelMismatch, UsageError
from mayavi.rl.config import Framework, TrainConfig
from mayavi.rl.env_defaults import RWA
from mayavi.rl.models import Model, open_model
from mayavi.rl.training.run_folder import BEST

if TYPE_CHECKING:
    from mayavi.portfolio.env.env import RWAYieldEnv
    from mayavi.rl.policy import Policy, State
    from mayavi.rl.training.progress import Progress
    from mayavi.rl.training.train import TrainedModel

NOT_TRAINED = "train() or load(path) first"


@dataclass(slots=True)
class Memory:
    """What a recurrent policy remembers of an episode: one for each episode, made by `PPOYieldOptimizer.memory`."""

    state: State | None = None

    def forget(self) -> None:
        """A new episode begins."""
        self.state = None


class PPOYieldOptimizer:
    """Trains, keeps, loads and asks a policy of the environment `rwa`.

    `n_steps` are the steps between two updates, over all `num_envs` episodes together. `env_config` is what the
    environment is told, `settings` any other setting of `TrainConfig` by its name; what neither names is what `mayavi
    train --env rwa` begins with. With `model_path` a training is saved there when it ends; runs are kept in `models`.
    `state_dim` and `action_dim` need not be said: who does is told where the environment has other numbers.
    """

    def __init__(
        self,
        learning_rate: float = 3e-4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float = 0.2,
        entropy_coef: float = 0.01,
        n_steps: int = 2048,
        batch_size: int = 64,
        n_epochs: int = 10,
        total_timesteps: int = 500_000,
        model_path: str | Path | None = None,
        *,
        state_dim: int | None = None,
        action_dim: int | None = None,
        network: Sequence[int] = (256, 128, 64),
        recurrent: bool = False,
        framework: Framework = "sb3",
        seed: int = 0,
        num_envs: int = 64,
        env_config: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        models: Path | None = None,
    ) -> None:
        _check_dimensions(state_dim, action_dim)
        rows = max(1, num_envs)  # fewer are refused below, by their name
        if n_steps % rows:
            raise UsageError(
                f"{n_steps:,} steps between two updates are not the same number for each of {num_envs} episodes",
                f"take n_steps={max(1, n_steps // num_envs) * num_envs}, or a num_envs that divides it",
            )
        self.config = TrainConfig.of(
            {
                "env": RWA,
                "framework": framework,
                "recurrent": recurrent,
                "seed": seed,
                "learning_rate": learning_rate,
                "gamma": gamma,
                "gae_lambda": gae_lambda,
                "clip_range": clip_range,
                "entropy_coefficient": entropy_coef,
                "rollout_steps": n_steps // rows,
                "num_envs": num_envs,
                "minibatch_size": batch_size,
                "epochs": n_epochs,
                "timesteps": total_timesteps,
                "network": list(network),
                "env_config": dict(env_config or {}),
            },
            dict(settings or {}),
        )
        self.model_path = None if model_path is None else Path(model_path)
        self.models = models
        self._model: Model | None = None
        self._policy: Policy | None = None
        self._env: RWAYieldEnv | None = None

    def __repr__(self) -> str:
        config = self.config
        memory = " with memory" if config.recurrent else ""
        used = "no policy yet" if self._model is None else f"run {self._model.run_id}, {self._model.checkpoint().name}"
        return f"<PPOYieldOptimizer {config.framework} ppo{memory}, seed {config.seed}: {used}>"

    # -- a model ------------------------------------------------------------------------------------------------------

    def train(self, total_timesteps: int | None = None, *, progress: Progress | None = None) -> TrainedModel:
        """Train a run of its own; its best policy on the validation split, or else its last, is the one in use then.

        A run that was interrupted goes on with `mayavi train --resume`, and is then loaded.
        """
        from mayavi.rl.training.train import train

        config = self.config
        if self.model_path is not None:
            _check_free(self.model_path)
        if total_timesteps is not None:
            config = TrainConfig.of(config.to_json(), {"timesteps": total_timesteps})
        done = train(config, models=self.models, progress=progress)
        self._take(open_model(done.path))
        if self.model_path is not None:
            self.save()
        return done

    def save(self, path: str | Path | None = None) -> Path:
        """Copy the run to `path`, by default `model_path`: its record, its last policy and the one in use."""
        place = self._place(path)
        model = self.model
        if place.resolve() == model.path.resolve():
            return place
        _check_free(place)
        partial = place.with_name(f"{place.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        shutil.copyfile(model.path / "run.json", partial / "run.json")
        for each in {model.checkpoint().path, model.checkpoints()[-1].path}:
            shutil.copytree(each, partial / each.relative_to(model.path))
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
        return place

    def load(self, path: str | Path | None = None) -> PPOYieldOptimizer:
        """Take the policy of a run (its folder, its id in `models`) or of a checkpoint (`RUN:STEP`), by default that in
        `model_path`; of a run its best, where it was evaluated. What cannot be loaded is an error, and changes nothing.
        """
        named = self.model_path if path is None else path
        if named is None:
            raise UsageError("no model is named", "load(path), or give model_path when the optimiser is made")
        folder = Path(named)
        found = str(folder.absolute()) if folder.exists() else str(named)
        self._take(open_model(found, self.models))
        return self

    @property
    def model(self) -> Model:
        """The run and checkpoint in use; `UsageError` before there is one."""
        if self._model is None:
            raise UsageError("there is no policy yet", NOT_TRAINED)
        return self._model

    @property
    def policy(self) -> Policy:
        """The policy in use, over rows; `UsageError` before there is one."""
        if self._policy is None:
            raise UsageError("there is no policy yet", NOT_TRAINED)
        return self._policy

    def _take(self, model: Model) -> None:
        from mayavi.gym_env import make_rows

        if model.env_name != RWA:
            raise ModelMismatch(
                f"run {model.run_id} was trained on '{model.env_name}', not on '{RWA}'",
                f"train one: mayavi train --env {RWA}",
            )
        config = model.config
        told = {**config.env_config, "data": None, "begin": None, "end": None}  # a file is not needed to decide
        env: Any = make_rows(RWA, 1, config=told)
        model.check_fits(env)
        if env.config.actions != "continuous":
            raise ModelMismatch(
                f"run {model.run_id} chooses from a menu, and what it holds depends on what is held before",
                "train with actions=continuous, or play it by `mayavi eval`",
            )
        if model.chosen is None and model.folder.best_path.is_dir():
            model = Model(model.folder, model.checkpoint(BEST))
        policy = model.policy()
        self._model, self._policy, self._env, self.config = model, policy, env, config

    def _place(self, path: str | Path | None) -> Path:
        place = self.model_path if path is None else Path(path)
        if place is None:
            raise UsageError(
                "no place to save to is named", "save(path), or give model_path when the optimiser is made"
            )
        return place

    # -- what it decides ----------------------------------------------------------------------------------------------

    def memory(self) -> Memory:
        """The memory of a new episode, for `predict`."""
        return Memory()

    def predict(self, observation: NDArray[Any], state: Memory | None = None) -> NDArray[np.float64]:
        """The weights of USDY, mETH and MI4 for an observation, or a row of them for each row of observations.

        They are to the last bit the `target_weights` of an environment that plays `action` of the same observation, as
        long as it trades: what would trade less than `least_turnover` is left as it is held. A recurrent policy needs
        the `state` of its episode, made by `memory()`, and goes on in it with every call; others leave it alone.
        """
        action = self.action(observation, state)
        assert self._env is not None
        weights = self._env.weights_of(np.atleast_2d(action))
        return weights if action.ndim == 2 else weights[0]

    def action(self, observation: NDArray[Any], state: Memory | None = None) -> NDArray[np.float32]:
        """What the policy does in the environment's own action space; the arguments are those of `predict`."""
        policy = self.policy
        if policy.recurrent and state is None:
            raise UsageError(
                "the policy has a memory, and none is given",
                "state = optimizer.memory() for each episode, then predict(observation, state)",
            )
        seen = np.asarray(observation, dtype=np.float32)
        if seen.ndim not in (1, 2):
            raise BadArgument(f"an observation has the shape {seen.shape}", "give one, or a row for each")
        if not np.isfinite(seen).all():
            raise BadArgument("an observation is no number", "an environment never says NaN; look where it comes from")
        if state is not None and state.state is not None and len(state.state) != len(np.atleast_2d(seen)):
            raise BadArgument(
                f"the memory is of {len(state.state)} episodes, and {len(np.atleast_2d(seen))} are observed",
                "an episode keeps its own memory from its first observation on",
            )
        chosen, kept = policy.actions(np.atleast_2d(seen), state.state if state is not None else None)
        if state is not None:
            state.state = kept
        return np.asarray(chosen if seen.ndim == 2 else chosen[0], dtype=np.float32)


def _check_dimensions(state_dim: int | None, action_dim: int | None) -> None:
    """`UsageError` where an observation or an action has another size than was said."""
    from mayavi.portfolio.env.observations import SIZE
    from mayavi.portfolio.market.data import ASSETS

    for name, told, has in (("state_dim", state_dim, SIZE), ("action_dim", action_dim, len(ASSETS))):
        if told is not None and told != has:
            raise UsageError(f"{name} is {told}, and the environment '{RWA}' has {has}", "leave it out")


def _check_free(place: Path) -> None:
    """`UsageError` where something else than a training run would be replaced."""
    if place.is_file() or (place.is_dir() and any(place.iterdir()) and not (place / "run.json").is_file()):
        raise UsageError(f"'{place}' is there, and is no training run", "name a new folder")
