"""An evaluation: every strategy on the same episodes, and what that proves.

evaluation = evaluate(make, [Trained("ppo", policy)], ["noop", "random"], EvaluationSettings(episodes=200))
evaluation.comparisons[0].verdict.word
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mayavi.errors import SimulationError, UsageError
from mayavi.gym_env.rows import Floats, RowsEnv
from mayavi.rl.evaluation.play import Played, Progress, Strategy, play
from mayavi.rl.evaluation.strategies import OPTIMUM, Planned, Trained, baseline, check_strategies
from mayavi.rl.evaluation.verdict import MINIMUM_DISTINCT, Verdict, check_minimum, judged
from mayavi.rl.search.optimum import Optimum, SearchSettings, find_optimum
from mayavi.statistics.bootstrap import Bootstrap, improvement, interquartile_mean
from mayavi.statistics.estimate import Estimate

Make = Callable[[int], RowsEnv[Any]]
Say = Callable[[str], Progress | None]
"""`say(what)` gives the progress of a part of the work."""

EPISODES = 200
ROWS = 128
"""Episodes side by side. It is part of the result, and so the same on every machine."""
MOST_EPISODES = 1_000_000
REFERENCE = "noop"
"""Who does nothing: what is attainable beyond that is the whole of which a strategy gets a share."""


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """All that decides an evaluation beside the environment and who plays."""

    episodes: int = EPISODES
    deterministic: bool = True
    seed: int = 0
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    minimum_distinct: int = MINIMUM_DISTINCT
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        if type(self.episodes) is not int or self.episodes < 1:
            raise UsageError(
                f"{self.episodes} episodes show nothing", "play one at least; a claim needs 20 distinct ones"
            )
        if self.episodes > MOST_EPISODES:
            raise UsageError(f"{self.episodes:,} episodes are too many", f"{MOST_EPISODES:,} at most")
        check_minimum(self.minimum_distinct)

    def limited(self, apart: int | None) -> Self:
        """The same, of episodes of which so many share nothing with one another."""
        return replace(self, bootstrap=replace(self.bootstrap, apart=apart))


@dataclass(frozen=True, slots=True)
class Summary:
    """One strategy on the episodes."""

    played: Played
    mean: Estimate
    interquartile_mean: Estimate


@dataclass(frozen=True, slots=True)
class Comparison:
    """One strategy against another on the same episodes."""

    strategy: str
    against: str
    difference: Estimate
    interquartile_difference: Estimate
    probability_of_improvement: Estimate
    distinct_pairs: int
    equal_episodes: int
    verdict: Verdict
    trainings: int = 1


@dataclass(frozen=True, slots=True)
class Regret:
    """How far a strategy stays behind the best that is known of each episode."""

    strategy: str
    regret: Estimate
    share_of_attainable: Estimate | None
    """Of what can be had beyond the reference. None where nothing can."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came out, ready to be written."""

    env: RowsEnv[Any]
    settings: EvaluationSettings
    subjects: tuple[str, ...]
    summaries: Mapping[str, Summary]
    comparisons: tuple[Comparison, ...]
    pooled: tuple[Comparison, ...]
    """The trainings taken together, where there are several."""
    optimum: Optimum | None
    regrets: tuple[Regret, ...]
    beyond_search: int
    """Episodes in which somebody earned more than the search found."""


def evaluate(
    make: Make,
    subjects: Sequence[Trained],
    against: Sequence[str],
    settings: EvaluationSettings | None = None,
    *,
    say: Say | None = None,
) -> Evaluation:
    """Play the first `settings.episodes` episodes with everybody, and compare.

    Every subject is compared with every baseline; with no subject, the baselines with each other.
    """
    settings = settings or EvaluationSettings()
    speak: Say = say or (lambda _: None)
    env = make(min(settings.episodes, ROWS))
    settings = settings.limited(env.apart)
    names = list(dict.fromkeys(against))
    check_strategies(env, names)
    if not subjects and not names:
        raise UsageError("nobody is to play", "name a run, or strategies with --against")
    if OPTIMUM in names and REFERENCE in env.strategies and REFERENCE not in names:
        names.insert(0, REFERENCE)
    episodes = range(settings.episodes)
    optimum = None
    if OPTIMUM in names:
        optimum = find_optimum(make, episodes, settings.search, progress=speak("searching the optimum"))
    strategies: list[Strategy] = [*subjects]
    for name in names:
        planned = name == OPTIMUM and optimum is not None
        strategies.append(
            Planned(OPTIMUM, optimum.plans) if planned and optimum else baseline(env, name, seed=settings.seed)
        )
    played = {each.name: play(env, each, episodes, progress=speak(f"playing {each.name}")) for each in strategies}
    if optimum is not None:
        _check_attained(optimum, played[OPTIMUM])
    own = [each.name for each in subjects]
    pairs = [(one, name) for one in own for name in names] if own else each_pair(names)
    pools = [[(one, name) for one in own] for name in names] if are_pooled(own) else []
    return conclude(env, settings, own, played, pairs, pools, optimum)


def conclude(
    env: RowsEnv[Any],
    settings: EvaluationSettings,
    own: Sequence[str],
    played: Mapping[str, Played],
    pairs: Sequence[tuple[str, str]],
    pools: Sequence[Sequence[tuple[str, str]]] = (),
    optimum: Optimum | None = None,
) -> Evaluation:
    """What `played` proves: `pairs` of strategies compared, and each of `pools`, the pairs of several trainings."""
    check_paired(played.values())
    bootstrap = settings.bootstrap
    summaries = {
        name: Summary(each, bootstrap.estimate(each.rewards), bootstrap.estimate(each.rewards, interquartile_mean))
        for name, each in played.items()
    }
    comparisons = tuple(compare(played[one], played[other], settings) for one, other in pairs)
    pooled = tuple(compare_pooled([(played[one], played[other]) for one, other in pool], settings) for pool in pools)
    regrets, beyond = _regrets(played, settings) if optimum is not None else ((), 0)
    return Evaluation(env, settings, tuple(own), summaries, comparisons, pooled, optimum, regrets, beyond)


def each_pair(names: Sequence[str]) -> list[tuple[str, str]]:
    """Everybody against everybody named before."""
    return [(one, other) for at, other in enumerate(names) for one in names[at + 1 :]]


def are_pooled(own: Sequence[str]) -> bool:
    """Whether these are several trainings of one algorithm."""
    return len(own) > 1 and len({pooled_name(name) for name in own}) == 1


def compare(one: Played, other: Played, settings: EvaluationSettings) -> Comparison:
    """`one` against `other`, paired by episode."""
    differences = one.rewards - other.rewards
    return _compared(one.name, other.name, differences[None], _distinct(one, other), settings.limited(one.apart))


def compare_pooled(pairs: Sequence[tuple[Played, Played]], settings: EvaluationSettings) -> Comparison:
    """Several trainings of one algorithm, each against another, taken together: the interval covers both kinds of
    chance."""
    differences = np.stack([one.rewards - other.rewards for one, other in pairs])
    distinct = min(_distinct(one, other) for one, other in pairs)
    name, against = (pooled_name(each.name) for each in pairs[0])
    return _compared(name, against, differences, distinct, settings.limited(pairs[0][0].apart))


def _distinct(one: Played, other: Played) -> int:
    """How many pairs of trajectories are not another pair again, or lie apart."""
    found = len(set(zip(one.fingerprints, other.fingerprints, strict=True)))
    return found if one.apart is None else min(found, one.apart)


def pooled_name(name: str) -> str:
    """`ppo@3`, the training with seed 3, is one of `ppo`."""
    return name.partition("@")[0]


def _compared(name: str, against: str, differences: Floats, distinct: int, settings: EvaluationSettings) -> Comparison:
    trainings, episodes = differences.shape
    bootstrap = settings.bootstrap

    def estimate(*statistic: Any) -> Estimate:
        if trainings == 1:
            return bootstrap.estimate(differences[0], *statistic)
        return bootstrap.estimate_pooled(differences, *statistic)

    difference = estimate()
    equal = int((differences == 0).all(axis=0).sum())
    verdict = judged(
        name,
        against,
        difference,
        episodes=episodes,
        distinct=distinct,
        equal=equal,
        confidence=bootstrap.confidence,
        minimum=settings.minimum_distinct,
        apart=bootstrap.apart,
    )
    return Comparison(
        name,
        against,
        difference,
        estimate(interquartile_mean),
        estimate(improvement),
        distinct,
        equal,
        verdict,
        trainings,
    )


def check_paired(played: Any) -> None:
    """Everybody must have started where everybody else did: a difference between other episodes means nothing."""
    first, *rest = played
    for other in rest:
        if other.starts != first.starts or other.episodes != first.episodes:
            raise SimulationError(
                f"'{other.name}' did not start where '{first.name}' did",
                "an environment that draws more than its episode",
            )


def _check_attained(optimum: Optimum, played: Played) -> None:
    """A plan must give again what the search saw in it."""
    for episode, reward in zip(played.episodes, played.rewards.tolist(), strict=True):
        if not np.isclose(reward, optimum.values[episode], rtol=1e-12, atol=1e-15):
            raise SimulationError(
                f"the plan of episode {episode} earned {reward!r}, and {optimum.values[episode]!r} in the search",
                "an environment that remembers something outside its columns",
            )


def _regrets(played: Mapping[str, Played], settings: EvaluationSettings) -> tuple[tuple[Regret, ...], int]:
    """The attainable is the best that is known of each episode: the search's plan, or what anybody earned in it."""
    rewards = {name: each.rewards for name, each in played.items()}
    attainable = np.max(list(rewards.values()), axis=0)
    beyond = int((attainable > rewards[OPTIMUM]).sum())
    reference = rewards.get(REFERENCE, np.zeros(len(attainable)))
    found = []
    for name, own in rewards.items():
        share = settings.bootstrap.estimate_ratio(own - reference, np.maximum(0, attainable - reference))
        found.append(Regret(name, settings.bootstrap.estimate(attainable - own), share))
    return tuple(found), beyond
