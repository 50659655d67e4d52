"""Who plays a backtest, and that nobody has seen it before.

A policy is refused where it was trained on the episodes that are played: on the same split of drawn markets, or, in a
real one, on hours that are not all over when a window begins. Of several trainings that differ in nothing but where
their data ends, each window is played by the newest that was over by then: that is a walk forward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import MayaviError, UsageError
from mayavi.gym_env.configuration import configured
from mayavi.gym_env.rows import Observations, RowsEnv
from mayavi.markets.moments import say_time
from mayavi.portfolio.env.config import RWAConfig
from mayavi.portfolio.env.env import RWAYieldEnv
from mayavi.portfolio.env.markets import SharedMarket, known_until
from mayavi.rl.evaluation.contamination import split_known
from mayavi.rl.evaluation.strategies import Strategy, Trained
from mayavi.rl.models import Model
from mayavi.rl.policy import Policy

NEVER = -math.inf
"""When the data of a training ended that saw none of a real market."""


@dataclass(slots=True)
class Relay:
    """Several policies, of which each plays the windows that are its own."""

    name: str
    policies: Sequence[Policy]
    turns: Sequence[int]
    """For each window which policy plays it."""
    seed: int = 0
    _players: list[tuple[NDArray[np.intp], Trained]] = field(default_factory=list, repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Give each policy its rows."""
        self._players = []
        for which, policy in enumerate(self.policies):
            rows = np.flatnonzero(np.asarray(self.turns) == which)
            if len(rows):
                player = Trained(self.name, policy, True, self.seed)
                player.begin(env, [episodes[row] for row in rows.tolist()])
                self._players.append((rows, player))

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """What each does in its windows."""
        parts = [(rows, player.actions(env, observations[rows])) for rows, player in self._players]
        actions = np.zeros((env.rows, *parts[0][1].shape[1:]), dtype=parts[0][1].dtype)
        for rows, chosen in parts:
            actions[rows] = chosen
        return actions


@dataclass(slots=True)
class Renamed:
    """A strategy under another name."""

    name: str
    strategy: Strategy

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """As it does."""
        self.strategy.begin(env, episodes)

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """As it does."""
        return self.strategy.actions(env, observations)


@dataclass(slots=True)
class Predicting:
    """Anybody with `predict(observation)`, which gives three weights."""

    name: str
    agent: Any

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """It remembers nothing."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The actions that ask for its weights."""
        assert isinstance(env, RWAYieldEnv)
        return env.actions_for(np.stack([np.asarray(self.agent.predict(each)) for each in observations]))


def config_of(env: Any) -> RWAConfig:
    """The settings of the portfolio's environment, whichever of its forms `env` is."""
    found = env if isinstance(env, RWAConfig) else getattr(getattr(env, "unwrapped", env), "config", None)
    if found is None:
        found = getattr(getattr(getattr(env, "unwrapped", env), "env", None), "config", None)
    if not isinstance(found, RWAConfig):
        raise UsageError(
            f"a backtest plays the environment 'rwa', not {type(env).__name__}",
            "give gymnasium.make('mayavi/RWAYield-v0'), make_rows('rwa', 1) or an RWAConfig",
        )
    return found


def subject_of(name: str, agent: Any, config: RWAConfig, *, seed: int = 0) -> Strategy:
    """`agent` as a strategy; one that was trained is refused where it has seen what it is to play."""
    model = agent if isinstance(agent, Model) else getattr(agent, "model", None)
    if isinstance(model, Model):
        policy = agent.policy() if agent is model else agent.policy
        env = RWAYieldEnv(config, 1)
        model.check_fits(env)
        check_unseen([model], env)
        return Trained(name, policy, True, seed)
    if isinstance(agent, Strategy):
        return Renamed(name, agent)
    if hasattr(agent, "actions"):
        return Trained(name, agent, True, seed)
    if hasattr(agent, "predict"):
        return Predicting(name, agent)
    raise UsageError(
        f"a {type(agent).__name__} plays nothing", "give an optimiser, a model, a policy, or None for the rules alone"
    )


def grouped(models: Sequence[Model], *, historical: bool) -> dict[str, list[Model]]:
    """`models` by the name of who plays; in a real market those of one algorithm and seed are one, walking forward."""
    groups: dict[tuple[Any, ...], list[Model]] = {}
    for at, model in enumerate(models):
        config = model.config
        key = (config.framework, config.algorithm, config.recurrent, config.seed)
        groups.setdefault(key if historical else (*key, at), []).append(model)
    names = _names([group[0] for group in groups.values()])
    return dict(zip(names, groups.values(), strict=True))


def subjects_of(
    groups: Mapping[str, Sequence[Model]], env: RWAYieldEnv, *, seed: int = 0, in_sample: bool = False
) -> list[Strategy]:
    """The strategies that policies are, by name; with `in_sample` nobody is refused for having seen what is played."""
    found: list[Strategy] = []
    for name, group in groups.items():
        for model in group:
            model.check_fits(env)
        turns = [] if in_sample else check_unseen(group, env)
        policies = [model.policy() for model in group]
        if len(group) == 1:
            found.append(Trained(name, policies[0], True, seed))
        elif in_sample:
            raise UsageError(
                f"{len(group)} policies are called '{name}', and in sample there is no telling whose turn it is",
                "name one of them",
            )
        else:
            found.append(Relay(name, policies, turns, seed))
    return found


def check_unseen(models: Sequence[Model], env: RWAYieldEnv) -> list[int]:
    """For each window of a real market which of `models` plays it; `UsageError` where all have seen it.

    In drawn markets there are no windows, and a split is seen or not.
    """
    if not isinstance(env.markets, SharedMarket) or env.markets.market.times is None:
        for model in models:
            if seen := _drawn_seen(model, env.config):
                raise UsageError(
                    f"run {model.run_id} {seen}, which is to be played",
                    "take another --split; --in-sample plays it all the same, and says so",
                )
        return []
    ends = [seen_until(model) for model in models]
    times, turns = env.markets.market.times, []
    for start in env.markets.consecutive(env.config.horizon):
        known = [(end, -at) for at, end in enumerate(ends) if end <= times[start]]
        if not known:
            first = int(np.argmin(ends))
            raise UsageError(
                f"run {models[first].run_id} was trained, or chosen, with hours up to {say_time(ends[first])}, and a "
                f"window begins at {say_time(float(times[start]))}",
                "begin later (--begin), add a policy whose data ends before, or --in-sample, which says so",
            )
        turns.append(-max(known)[1])
    return turns


def _drawn_seen(model: Model, config: RWAConfig) -> str:
    """How a training knows the drawn markets of `config`, or nothing where it does not."""
    trained = _trained_on(model)
    if trained.data is not None:
        return ""
    if config.start == "fixed":
        return "was trained on drawn markets, and a fixed start is one of them in every split"
    return split_known(model, trained.split, config.split)


def seen_until(model: Model) -> float:
    """Up to when a real market was known to a training, in seconds since 1970: to train on, or to choose by."""
    trained = _trained_on(model)
    try:
        return known_until(trained)
    except (MayaviError, OSError) as error:
        told = error.message if isinstance(error, MayaviError) else str(error)
        raise UsageError(
            f"which hours run {model.run_id} was trained on is not known: {told}",
            f"put '{trained.data}' where it was; --in-sample plays without knowing, and says so",
        ) from None


def _trained_on(model: Model) -> RWAConfig:
    return configured(RWAConfig, model.config.env_config)


def _names(models: Sequence[Model]) -> list[str]:
    """`ppo`, `recurrent_ppo`; with the seed of the training, `ppo@3`, where there are several."""
    names: list[str] = []
    for model in models:
        config = model.config
        name = f"{'recurrent_' if config.recurrent else ''}{config.algorithm}"
        if len(models) > 1:
            name = f"{name}@{config.seed}"
        taken = sum(1 for each in names if each.partition("#")[0] == name)
        names.append(f"{name}#{taken + 1}" if taken else name)
    return names
