"""Verdict of a comparison: one word, and its reason in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mayavi.errors import UsageError
from mayavi.statistics.estimate import Estimate

Word = Literal["better", "worse", "indistinguishable", "saturated"]

MINIMUM_DISTINCT = 20
"""Fewest distinct trajectories for a claim. With fewer, no interval of a mean is given."""


def check_minimum(distinct: int) -> None:
    """Raise `UsageError` for fewer than two trajectories."""
    if distinct < 2:
        raise UsageError(
            f"a minimum of {distinct} distinct trajectories is too low", "give at least 2; the default is 20"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a comparison."""

    word: Word
    reason: str


def judged(
    strategy: str,
    against: str,
    difference: Estimate,
    *,
    episodes: int,
    distinct: int,
    equal: int = 0,
    confidence: float = 0.95,
    minimum: int = MINIMUM_DISTINCT,
    of: tuple[str, str] = ("episode", "episodes"),
    wording: tuple[str, str, str] = ("earns", "more", "less"),
    independent: int | None = None,
) -> Verdict:
    """Judge `strategy` against another strategy on the same episodes.

    `difference` is the mean of the paired differences with its interval, `distinct` the number of distinct pairs of
    trajectories, `equal` the number of episodes in which both earned exactly the same. `of` names one episode and
    several, `wording` the verb, more and less. `independent` is the number of non-overlapping episodes, where they are
    windows of one history.
    """
    one, many = of
    if distinct < minimum:  # published bundles hold these reasons: other words would make them fail to verify
        every = f"{episodes:,} {f'{many} are' if episodes != 1 else f'{one} is'}"
        if distinct == independent and independent < episodes:
            fit = f"{independent:,} fit side by side" if independent != 1 else "one fits"
            return Verdict(
                "saturated",
                f"{every} windows of one history, into which {fit}, and a claim needs {minimum:,}:"
                " windows that overlap are no new evidence",
            )
        if distinct == episodes:
            return Verdict("saturated", f"{every} too few: a claim needs {minimum:,} distinct trajectories")
        played = "1 distinct trajectory" if distinct == 1 else f"{distinct:,} distinct trajectories"
        return Verdict(
            "saturated",
            f"{every} {played}, and a claim needs {minimum:,}: the same course of events again is no new evidence",
        )
    if equal == episodes:
        return Verdict(
            "indistinguishable", f"{strategy} earned exactly what {against} did in each of {episodes:,} {many}"
        )
    if difference.low is None or difference.high is None:
        needed = "" if difference.runs_needed is None else f", about {difference.runs_needed:,} are needed"
        return Verdict(
            "indistinguishable",
            f"the difference is equal in too many of {episodes:,} {many}, or that of a few, for an interval that can"
            f" be trusted{needed}: they do not tell {strategy} from {against}",
        )
    interval = f"[{number(difference.low)}, {number(difference.high)}]"
    share = f"{confidence * 100:g} %"
    if difference.low > 0 or difference.high < 0:
        by = number(abs(difference.value))
        more, side = (wording[1], "above") if difference.low > 0 else (wording[2], "below")
        return Verdict(
            "better" if difference.low > 0 else "worse",
            f"{strategy} {wording[0]} {by} {more} than {against} on the same {episodes:,} {many},"
            f" and the whole {share} interval {interval} lies {side} zero",
        )
    return Verdict(
        "indistinguishable",
        f"the {share} interval of the difference, {interval}, holds zero:"
        f" {episodes:,} {many} do not tell {strategy} from {against}",
    )


def number(value: float) -> str:
    """Format a reward with four significant digits."""
    return f"{value:.4g}"
