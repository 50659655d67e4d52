"""Settings of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from mayavi.errors import UsageError
from mayavi.rl.evaluation.verdict import MINIMUM_DISTINCT, check_minimum
from mayavi.rl.search.optimum import SearchSettings
from mayavi.statistics.bootstrap import Bootstrap

EPISODES = 200
MOST_EPISODES = 1_000_000


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """Settings of an evaluation, beside the environment and the strategies."""

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

    def limited(self, independent: int | None) -> Self:
        """Settings capped at `independent` episodes that do not overlap."""
        return replace(self, bootstrap=replace(self.bootstrap, apart=independent))
