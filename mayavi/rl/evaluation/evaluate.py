"""Evaluate strategies on the same episodes, with confidence intervals and verdicts.

    evaluation = evaluate(make, [Trained("ppo", policy)], ["noop", "random"], EvaluationSettings(episodes=200))
    evaluation.comparisons[0].verdict.word

Roles are evaluated one by one. With several roles, the reward of a policy depends on all other agents. So the policy of
a role is compared with scripts of that role, while the trained policies play the other roles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mayavi.errors import SimulationError, UsageError
from mayavi.gym_env.roles import Role
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.comparison import (
    Comparison,
    are_pooled,
    check_paired,
    compare,
    compare_pooled,
    each_pair,
    pooled_name,
)
from mayavi.rl.evaluation.noise import disturbed
from mayavi.rl.evaluation.play import Played, Progress, play_roles
from mayavi.rl.evaluation.settings import EvaluationSettings
from mayavi.rl.evaluation.strategies import (
    OPTIMUM,
    Planned,
    Strategy,
    Trained,
    baseline,
    strategies_by_role,
)
from mayavi.rl.search.optimum import Optimum, find_optimum
from mayavi.statistics.bootstrap import interquartile_mean
from mayavi.statistics.estimate import Estimate

__all__ = [
    "Evaluation",
    "EvaluationSettings",
    "Make",
    "Regret",
    "Say",
    "Subject",
    "Summary",
    "evaluate",
    "evaluate_roles",
    "evaluation_env",
]

Make = Callable[[int], RowsEnv[Any]]
Say = Callable[[str], Progress | None]
"""`say(what)` returns the progress callback of a part of the work."""

ROWS = 128
"""Batch size in rows. It is part of the result, so it is the same on every machine."""
REFERENCE = "noop"
"""Strategy without actions. Its reward is the zero point of `share_of_attainable`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject of an evaluation: strategies trained together, one for each role."""

    name: str
    players: Mapping[str, Strategy]

    def name_beside(self, name: str) -> str:
        """Name of a script that plays with this training: `noop`, with several trainings `noop@3`."""
        _, at, seed = self.name.partition("@")
        return f"{name}{at}{seed}"


@dataclass(frozen=True, slots=True)
class Summary:
    """Outcome of one strategy, with its estimates."""

    played: Played
    mean: Estimate
    interquartile_mean: Estimate


@dataclass(frozen=True, slots=True)
class Regret:
    """Distance of a strategy from the best known outcome of each episode."""

    strategy: str
    regret: Estimate
    share_of_attainable: Estimate | None
    """Share of the attainable gain over the reference; None if nothing is attainable."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Evaluation of one role."""

    env: RowsEnv[Any]
    role: Role
    others: str
    """Strategies of the other roles; "" if there are none."""
    settings: EvaluationSettings
    subjects: tuple[str, ...]
    summaries: Mapping[str, Summary]
    comparisons: tuple[Comparison, ...]
    pooled: tuple[Comparison, ...]
    """Comparisons of the pooled trainings, if there are several."""
    optimum: Optimum | None
    regrets: tuple[Regret, ...]
    beyond_search: int
    """Episodes in which a strategy earned more than the search found."""


def evaluate(
    make: Make,
    subjects: Sequence[Trained],
    against: Sequence[str],
    settings: EvaluationSettings | None = None,
    *,
    say: Say | None = None,
) -> Evaluation:
    """Play the first `settings.episodes` episodes of a single-agent environment with every strategy, and compare.

    Every subject is compared with every baseline; with no subject, the baselines with each other.
    """
    settings = settings or EvaluationSettings()
    env = evaluation_env(make, settings)
    role = env.role().name
    players = [Subject(each.name, {role: each}) for each in subjects]
    return evaluate_roles(env, make, players, against, settings, say=say)[role]


def evaluation_env(make: Make, settings: EvaluationSettings) -> RowsEnv[Any]:
    """Make the environment of an evaluation."""
    return make(min(settings.episodes, ROWS))


def evaluate_roles(
    env: RowsEnv[Any],
    make: Make,
    subjects: Sequence[Subject],
    against: Sequence[str] | None,
    settings: EvaluationSettings,
    *,
    rivals: Sequence[Subject] = (),
    say: Say | None = None,
) -> dict[str, Evaluation]:
    """Evaluate each role on `env`, which `make` made; a search for the optimum makes another one.

    Subjects are compared with the scripts of `against` and with the policies of `rivals`. With no subject the scripts
    of a role are compared with each other, while the other roles play their reference. Roles without a named strategy
    are left out.
    """
    settings = settings.capped_at(env.independent_episodes)
    names = strategies_by_role(env, against)
    if not subjects and not any(names.values()):
        raise UsageError("no strategy to evaluate", "name a run, or strategies with --against")
    plans: dict[str, Optimum] = {}
    for name, each in names.items():
        if OPTIMUM not in each:
            continue
        if settings.noise:
            raise UsageError(
                "the optimum is a plan for undisturbed episodes, and has none under noise",
                "leave it out of --against, or leave the noise out",
            )
        if REFERENCE in env.role(name).strategies and REFERENCE not in each:
            each.insert(0, REFERENCE)
        heard = say("searching the optimum") if say is not None else None
        plans[name] = find_optimum(make, range(settings.episodes), settings.search, progress=heard)
    for each in names.values():
        each += [rival.name for rival in rivals]
    played = _play_all(env, subjects, names, plans, {each.name: each for each in rivals}, settings, say)
    own, found = [each.name for each in subjects], {}
    for role in env.roles:
        if not (games := played[role.name]):
            continue
        optimum = plans.get(role.name)
        if optimum is not None:
            _check_attained(optimum, games[OPTIMUM])
        named = names[role.name]
        pools = [[(each.name, _beside(env, each, name)) for each in subjects] for name in named]
        pairs = [(each.name, _beside(env, each, name)) for each in subjects for name in named]
        found[role.name] = conclude(
            env,
            role,
            _others(env, role, subjects),
            settings,
            own,
            games,
            pairs if subjects else each_pair(named),
            pools if are_pooled(own) else (),
            optimum,
        )
    return found


def _beside(env: RowsEnv[Any], subject: Subject, name: str) -> str:
    """Name of a script compared with `subject`; without other roles one game serves all subjects."""
    return subject.name_beside(name) if env.multi_agent else name


def _others(env: RowsEnv[Any], role: Role, subjects: Sequence[Subject]) -> str:
    if not env.multi_agent:
        return ""
    if subjects:
        return pooled_name(subjects[0].name)
    return ", ".join(each.reference for each in env.roles if each.name != role.name)


def _play_all(
    env: RowsEnv[Any],
    subjects: Sequence[Subject],
    names: Mapping[str, Sequence[str]],
    plans: Mapping[str, Optimum],
    rivals: Mapping[str, Subject],
    settings: EvaluationSettings,
    say: Say | None,
) -> dict[str, dict[str, Played]]:
    """Play the subjects, then each script or rival in place of one of their policies; outcomes by role and name."""

    def game(players: Mapping[str, Strategy], name: str, what: str) -> dict[str, Played]:
        progress = say(f"playing {what}") if say is not None else None
        playing = disturbed(players, settings.noise, settings.seed, several_roles=env.multi_agent)
        return play_roles(env, playing, range(settings.episodes), name=name, progress=progress)

    found: dict[str, dict[str, Played]] = {role: {} for role in env.role_names}
    for subject in subjects:
        for role, each in game(subject.players, subject.name, subject.name).items():
            found[role][subject.name] = each
    several = env.multi_agent
    besides: Sequence[Subject] = subjects if several and subjects else [_references(env)]
    for subject in besides:
        for role in env.role_names:
            for name in names[role]:
                named = role if several else None
                script: Strategy
                if name in rivals:
                    script = rivals[name].players[role]
                elif name == OPTIMUM and role in plans:
                    script = Planned(OPTIMUM, plans[role].plans)
                else:
                    script = baseline(env, name, seed=settings.seed, role=named)
                what = f"{role}: {name}" if several else name
                beside = f", beside {subject.name}" if subjects and several else ""
                known = _beside(env, subject, name)
                found[role][known] = game({**subject.players, role: script}, known, f"{what}{beside}")[role]
    return found


def _references(env: RowsEnv[Any]) -> Subject:
    """Reference strategies of all roles, if nothing was trained; a single agent needs none."""
    if not env.multi_agent:
        return Subject("", {})
    return Subject("", {role.name: baseline(env, role.reference, role=role.name) for role in env.roles})


def conclude(
    env: RowsEnv[Any],
    role: Role,
    others: str,
    settings: EvaluationSettings,
    own: Sequence[str],
    played: Mapping[str, Played],
    pairs: Sequence[tuple[str, str]],
    pools: Sequence[Sequence[tuple[str, str]]] = (),
    optimum: Optimum | None = None,
) -> Evaluation:
    """Summarise `played`, and compare `pairs` of strategies and `pools` of pairs from several trainings."""
    check_paired(played.values())
    bootstrap = settings.bootstrap
    summaries = {
        name: Summary(each, bootstrap.estimate(each.rewards), bootstrap.estimate(each.rewards, interquartile_mean))
        for name, each in played.items()
    }
    comparisons = tuple(compare(played[one], played[other], settings) for one, other in pairs)
    pooled = tuple(compare_pooled([(played[one], played[other]) for one, other in pool], settings) for pool in pools)
    regrets, beyond = _regrets(played, settings) if optimum is not None else ((), 0)
    return Evaluation(env, role, others, settings, tuple(own), summaries, comparisons, pooled, optimum, regrets, beyond)


def _check_attained(optimum: Optimum, played: Played) -> None:
    """Raise `SimulationError` if a plan earned another reward than in the search."""
    for episode, reward in zip(played.episodes, played.rewards.tolist(), strict=True):
        if not np.isclose(reward, optimum.values[episode], rtol=1e-12, atol=1e-15):
            raise SimulationError(
                f"the plan of episode {episode} earned {reward!r}, and {optimum.values[episode]!r} in the search",
                "the environment keeps state outside its columns",
            )


def _regrets(played: Mapping[str, Played], settings: EvaluationSettings) -> tuple[tuple[Regret, ...], int]:
    """Regrets against the best known reward of each episode, and the episodes that beat the search."""
    rewards = {name: each.rewards for name, each in played.items()}
    attainable = np.max(list(rewards.values()), axis=0)
    beyond = int((attainable > rewards[OPTIMUM]).sum())
    reference = rewards.get(REFERENCE, np.zeros(len(attainable)))
    found = []
    for name, own in rewards.items():
        share = settings.bootstrap.estimate_ratio(own - reference, np.maximum(0, attainable - reference))
        found.append(Regret(name, settings.bootstrap.estimate(attainable - own), share))
    return tuple(found), beyond
