"""Settings of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from mayavi.errors import UsageError
from mayavi.rl.evaluation.noise import Noise
from mayavi.rl.evaluation.verdict import MINIMUM_DISTINCT, check_minimum
from mayavi.rl.search.optimum import SearchSettings
from mayavi.statistics.bootstrap import Bootstrap

EPISODES = 200
MOST_EPISODES = 1_000_000


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """Settings of an evaluation, except for its environment and strategies."""

    episodes: int = EPISODES
    deterministic: bool = True
    seed: int = 0
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    minimum_distinct: int = MINIMUM_DISTINCT
    search: SearchSettings = field(default_factory=SearchSettings)
    noise: Noise = field(default_factory=Noise)

    def __post_init__(self) -> None:
        if type(self.episodes) is not int or self.episodes < 1:
            raise UsageError(
                f"{self.episodes} episodes show nothing", "play at least one; a claim needs 20 distinct ones"
            )
        if self.episodes > MOST_EPISODES:
            raise UsageError(f"{self.episodes:,} episodes are too many", f"{MOST_EPISODES:,} at most")
        check_minimum(self.minimum_distinct)

    def capped_at(self, independent_episodes: int | None) -> Self:
        """Settings whose resamples are no larger than `independent_episodes`."""
        return replace(self, bootstrap=replace(self.bootstrap, independent_episodes=independent_episodes))
