"""`PPOYieldOptimizer`: train PPO on the portfolio of USDY, mETH and MI4, and predict weights.

    optimizer = PPOYieldOptimizer(seed=1)
    optimizer.train()
    weights = optimizer.predict(observation)

It wraps `mayavi train --env rwa`: its trainings are runs like any other, which `mayavi eval` and `mayavi backtest` can
play; `config` has every setting.
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
from mayavi.rl.training_runs.folder import BEST

if TYPE_CHECKING:
    from mayavi.portfolio.env.env import RWAYieldRows
    from mayavi.rl.policy import Policy, State
    from mayavi.rl.training.progress import Progress
    from mayavi.rl.training.train import TrainedModel

DEFAULT_MODEL_PATH = Path("models/ppo_yield_router")
NOT_TRAINED = "train() or load(path) first"


@dataclass(slots=True)
class Memory:
    """State of a recurrent policy in one episode, created by `PPOYieldOptimizer.memory`."""

    state: State | None = None

    def forget(self) -> None:
        """Reset for a new episode."""
        self.state = None


class PPOYieldOptimizer:
    """Train, save, load and query a policy of the environment `rwa`.

    `n_steps` is the number of steps between two updates, over all `num_envs` episodes together. `env_config` are
    settings of the environment, `settings` any others of `TrainConfig`; defaults are those of `mayavi train --env rwa`.
    With `model_path`, a finished training is saved there; runs are stored in `models`. `state_dim` and `action_dim` are
    optional, and raise `UsageError` if they differ from the environment's.
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
        rows = max(1, num_envs)  # fewer are refused by TrainConfig
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
        self._env: RWAYieldRows | None = None

    def __repr__(self) -> str:
        config = self.config
        memory = " with memory" if config.recurrent else ""
        used = "no policy yet" if self._model is None else f"run {self._model.run_id}, {self._model.checkpoint().name}"
        return f"<PPOYieldOptimizer {config.framework} ppo{memory}, seed {config.seed}: {used}>"

    # -- models -------------------------------------------------------------------------------------------------------

    def train(self, total_timesteps: int | None = None, *, progress: Progress | None = None) -> TrainedModel:
        """Train a new run, and use its best policy on the validation split, or else its last.

        Continue an interrupted run with `mayavi train --resume`, then `load` it.
        """
        from mayavi.rl.training.train import train

        config = self.config
        if self.model_path is not None:
            _check_free(self.model_path)
        if total_timesteps is not None:
            config = TrainConfig.of(config.to_json(), {"timesteps": total_timesteps})
        done = train(config, models=self.models, progress=progress)
        self._use(open_model(done.path))
        if self.model_path is not None:
            self.save()
        return done

    def save(self, path: str | Path | None = None) -> Path:
        """Copy the run to `path`, by default `model_path` or `models/ppo_yield_router`.

        The copy has the record, the last checkpoint and the one in use.
        """
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
        """Use the policy of a run (a folder, or an id in `models`) or of a checkpoint (`RUN:STEP`).

        The default is `model_path`, or `models/ppo_yield_router`. Of a run the best checkpoint is taken, if there was
        an evaluation, else the last. An error leaves the current policy in use.
        """
        named = self._place(path) if path is None else path
        folder = Path(named)
        found = str(folder.absolute()) if folder.exists() else str(named)
        self._use(open_model(found, self.models))
        return self

    @property
    def model(self) -> Model:
        """Run and checkpoint in use; `UsageError` before there is one."""
        if self._model is None:
            raise UsageError("there is no policy yet", NOT_TRAINED)
        return self._model

    @property
    def policy(self) -> Policy:
        """Policy in use, for batches of observations; `UsageError` before there is one."""
        if self._policy is None:
            raise UsageError("there is no policy yet", NOT_TRAINED)
        return self._policy

    def _use(self, model: Model) -> None:
        from mayavi.gym_env import make_rows

        if model.env_name != RWA:
            raise ModelMismatch(
                f"run {model.run_id} was trained on '{model.env_name}', not on '{RWA}'",
                f"train one: mayavi train --env {RWA}",
            )
        config = model.config
        settings = {**config.env_config, "data": None, "begin": None, "end": None}  # predictions need no file
        env: Any = make_rows(RWA, 1, config=settings)
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
        return Path(path) if path is not None else self.model_path or DEFAULT_MODEL_PATH

    # -- predictions --------------------------------------------------------------------------------------------------

    def memory(self) -> Memory:
        """Create the memory of a new episode, for `predict`."""
        return Memory()

    def predict(self, observation: NDArray[Any], state: Memory | None = None) -> NDArray[np.float64]:
        """Weights of USDY, mETH and MI4 for one observation, or for each row of observations.

        They equal the `target_weights` of an environment that plays `action` of the same observation, unless it would
        trade less than `least_turnover`. A recurrent policy needs the `state` of its episode, made by `memory()`, and
        updates it with every call; other policies ignore it.
        """
        action = self.action(observation, state)
        assert self._env is not None
        weights = self._env.weights_of(np.atleast_2d(action))
        return weights if action.ndim == 2 else weights[0]

    def action(self, observation: NDArray[Any], state: Memory | None = None) -> NDArray[np.float32]:
        """Action of the policy in the environment's action space; arguments as for `predict`."""
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
            raise BadArgument(
                "an observation is not a number", "environments never return NaN; look where it comes from"
            )
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
    """Raise `UsageError` where a given dimension differs from the environment's."""
    from mayavi.portfolio.env.observations import SIZE
    from mayavi.portfolio.market.data import ASSETS

    for name, given, has in (("state_dim", state_dim, SIZE), ("action_dim", action_dim, len(ASSETS))):
        if given is not None and given != has:
            raise UsageError(f"{name} is {given}, and the environment '{RWA}' has {has}", "leave it out")


def _check_free(place: Path) -> None:
    """Raise `UsageError` where saving would replace something other than a training run."""
    if place.is_file() or (place.is_dir() and any(place.iterdir()) and not (place / "run.json").is_file()):
        raise UsageError(f"'{place}' is there, and is not a training run", "name a new folder")
