"""Compare strategies on the same episodes, with intervals and a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mayavi.errors import SimulationError
from mayavi.gym_env.rows import Floats
from mayavi.rl.evaluation.play import Played
from mayavi.rl.evaluation.settings import EvaluationSettings
from mayavi.rl.evaluation.verdict import Verdict, judged
from mayavi.statistics.bootstrap import improvement, interquartile_mean
from mayavi.statistics.estimate import Estimate


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


def each_pair(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pair every name with every name before it."""
    return [(one, other) for at, other in enumerate(names) for one in names[at + 1 :]]


def are_pooled(names: Sequence[str]) -> bool:
    """Whether `names` are several trainings of one algorithm."""
    return len(names) > 1 and len({pooled_name(name) for name in names}) == 1


def compare(one: Played, other: Played, settings: EvaluationSettings) -> Comparison:
    """Compare `one` with `other`, paired by episode."""
    differences = one.rewards - other.rewards
    return _comparison(
        one.name, other.name, differences[None], _distinct(one, other), settings.capped_at(one.independent_episodes)
    )


def compare_pooled(pairs: Sequence[tuple[Played, Played]], settings: EvaluationSettings) -> Comparison:
    """Compare pooled trainings of one algorithm: the interval covers both training seeds and episodes."""
    differences = np.stack([one.rewards - other.rewards for one, other in pairs])
    distinct = min(_distinct(one, other) for one, other in pairs)
    name, against = (pooled_name(each.name) for each in pairs[0])
    return _comparison(name, against, differences, distinct, settings.capped_at(pairs[0][0].independent_episodes))


def _distinct(one: Played, other: Played) -> int:
    """Count distinct pairs of trajectories, capped at the number of independent episodes."""
    found = len(set(zip(one.fingerprints, other.fingerprints, strict=True)))
    return found if one.independent_episodes is None else min(found, one.independent_episodes)


def pooled_name(name: str) -> str:
    """Name without the training seed: `ppo` for `ppo@3`."""
    return name.partition("@")[0]


def _comparison(
    name: str, against: str, differences: Floats, distinct: int, settings: EvaluationSettings
) -> Comparison:
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
        independent=bootstrap.independent_episodes,
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


def check_paired(played: Iterable[Played]) -> None:
    """Raise `SimulationError` unless all strategies played the same episodes from the same starts."""
    first, *rest = played
    for other in rest:
        if other.starts != first.starts or other.episodes != first.episodes:
            raise SimulationError(
                f"'{other.name}' did not start where '{first.name}' did",
                "the environment draws from an RNG other than that of its episode",
            )
