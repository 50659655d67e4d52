"""Rewards and ends of a learner's episodes, computed from exact figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mayavi.errors import UsageError
from mayavi.scenario_env.observations import plain
from mayavi.scenario_env.own_figures import Value
from mayavi.scenarios.models.learner import End, RewardTerm
from mayavi.sim.figure_table import number

Figures = Mapping[str, Value]


def reward(terms: Sequence[RewardTerm], now: Figures, before: Figures, start: Figures, *, over: bool) -> float:
    """Return the weighted sum of `terms`. Differences are taken of exact integers."""
    total = 0.0
    for term in terms:
        name = term.figure
        if term.form == "final" and not over:
            continue
        if term.form == "value":
            part = plain(now[name])
        else:
            part = _difference(now[name], (before if term.form == "change" else start)[name])
        if term.relative:
            part /= abs(plain(start[name]))
        total += float(term.weight) * part
    return total


def check_start(terms: Sequence[RewardTerm], start: Figures) -> None:
    """Raise `UsageError` if a relative term has nothing to be relative to."""
    for term in terms:
        if term.relative and not plain(start[term.figure]):
            raise UsageError(
                f"'{term.figure}' is 0 at the start, so the reward cannot be relative to it",
                "give weights of changes instead: reward: {own.wealth: 0.001}",
            )


def has_ended(ends: Sequence[End], now: Figures) -> bool:
    """Whether a condition ends the episode."""
    for end in ends:
        value = plain(now[end.figure])
        if (end.above is not None and value > end.above) or (end.below is not None and value < end.below):
            return True
    return False


def _difference(now: Value, before: Value) -> float:
    return number((now.exact or 0) - (before.exact or 0), now.unit)
