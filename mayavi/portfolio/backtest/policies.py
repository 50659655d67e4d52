"""Strategies of a backtest from policies, and the check that no policy was trained on the backtest's data.

A policy is refused if it was trained on the played episodes: on the same split of simulated markets or, in a historical
one, on hours after the beginning of a window. Of several trainings that differ only in where their data ends, each
window is played by the newest whose data ends before it: a walk-forward backtest.
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
from mayavi.markets.timestamps import say_time
from mayavi.portfolio.env.config import RWAConfig
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.portfolio.env.markets import SharedMarket, known_until
from mayavi.rl.evaluation.contamination import split_known
from mayavi.rl.evaluation.strategies import Strategy, Trained
from mayavi.rl.models import Model
from mayavi.rl.policy import Policy

NEVER = -math.inf
"""End of data of a training that saw no historical market."""


@dataclass(slots=True)
class Relay:
    """Several policies, each of which plays its own windows."""

    name: str
    policies: Sequence[Policy]
    turns: Sequence[int]
    """Index of the policy that plays each window."""
    seed: int = 0
    _players: list[tuple[NDArray[np.intp], Trained]] = field(default_factory=list, repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Assign each policy its rows."""
        self._players = []
        for which, policy in enumerate(self.policies):
            rows = np.flatnonzero(np.asarray(self.turns) == which)
            if len(rows):
                player = Trained(self.name, policy, True, self.seed)
                player.begin(env, [episodes[row] for row in rows.tolist()])
                self._players.append((rows, player))

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """Collect the actions of each policy in its windows."""
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
        """Delegate."""
        self.strategy.begin(env, episodes)

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """Delegate."""
        return self.strategy.actions(env, observations)


@dataclass(slots=True)
class Predicting:
    """Strategy of an object with `predict(observation) -> weights`."""

    name: str
    agent: Any

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Stateless."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """Actions for the predicted weights."""
        assert isinstance(env, RWAYieldRows)
        return env.actions_for(np.stack([np.asarray(self.agent.predict(each)) for each in observations]))


def config_of(env: Any) -> RWAConfig:
    """Settings of the portfolio environment, in any of its forms."""
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
    """Convert `agent` to a strategy; raise `UsageError` if it was trained on the data of the backtest."""
    model = agent if isinstance(agent, Model) else getattr(agent, "model", None)
    if isinstance(model, Model):
        policy = agent.policy() if agent is model else agent.policy
        env = RWAYieldRows(config, 1)
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
    """Group models by strategy name; in a historical market, those of one algorithm and seed walk forward together."""
    groups: dict[tuple[Any, ...], list[Model]] = {}
    for at, model in enumerate(models):
        config = model.config
        key = (config.framework, config.algorithm, config.recurrent, config.seed)
        groups.setdefault(key if historical else (*key, at), []).append(model)
    names = _names([group[0] for group in groups.values()])
    return dict(zip(names, groups.values(), strict=True))


def subjects_of(
    groups: Mapping[str, Sequence[Model]], env: RWAYieldRows, *, seed: int = 0, in_sample: bool = False
) -> list[Strategy]:
    """Make strategies of grouped models; `in_sample` skips the check for unseen markets."""
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


def check_unseen(models: Sequence[Model], env: RWAYieldRows) -> list[int]:
    """Choose the model that plays each window of a historical market; `UsageError` where all have seen it.

    Simulated markets have no windows: the split must be unseen, and the result is empty.
    """
    if not isinstance(env.markets, SharedMarket) or env.markets.market.times is None:
        for model in models:
            if seen := _drawn_seen(model, env.config):
                raise UsageError(
                    f"run {model.run_id} {seen}, which is to be played",
                    "choose another --split; --in-sample plays it with a warning",
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
                "begin later (--begin), add a policy whose data ends before, or use --in-sample, which adds a warning",
            )
        turns.append(-max(known)[1])
    return turns


def _drawn_seen(model: Model, config: RWAConfig) -> str:
    """Describe how a training knows the simulated markets of `config`; empty if it does not."""
    trained = _trained_on(model)
    if trained.data is not None:
        return ""
    if config.start == "fixed":
        return "was trained on drawn markets, and a fixed start is one of them in every split"
    return split_known(model, trained.split, config.split)


def seen_until(model: Model) -> float:
    """End of the historical data that trained or chose a policy, in seconds since 1970."""
    trained = _trained_on(model)
    try:
        return known_until(trained)
    except (MayaviError, OSError) as error:
        reason = error.message if isinstance(error, MayaviError) else str(error)
        raise UsageError(
            f"which hours run {model.run_id} was trained on is not known: {reason}",
            f"restore '{trained.data}'; --in-sample plays without this check, with a warning",
        ) from None


def _trained_on(model: Model) -> RWAConfig:
    return configured(RWAConfig, model.config.env_config)


def _names(models: Sequence[Model]) -> list[str]:
    """Names such as `ppo` and `recurrent_ppo`; with the seed, `ppo@3`, if there are several."""
    names: list[str] = []
    for model in models:
        config = model.config
        name = f"{'recurrent_' if config.recurrent else ''}{config.algorithm}"
        if len(models) > 1:
            name = f"{name}@{config.seed}"
        taken = sum(1 for each in names if each.partition("#")[0] == name)
        names.append(f"{name}#{taken + 1}" if taken else name)
    return names
